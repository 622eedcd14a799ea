"""`python -m kcde`."""

import signal


def main() -> None:
    """Run the command line; Ctrl-C while its modules are imported ends the process in silence."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from kcde import cli

    signal.signal(signal.SIGINT, signal.default_int_handler)
    cli.main()


if __name__ == "__main__":
    main()
