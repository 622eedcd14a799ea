"""`python -m kcde`."""

from kcde.cli import main

if __name__ == "__main__":
    main()
