"""`python -m kcde`: every step of the workflow as a command that also works on its own.

Each family of commands has a module. A command imports numpy, pandas or scipy inside, so that
`--help` and short commands do not wait for them.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from kcde import __version__
from kcde.cli import data, outputs, own, run

_EPILOG = "Example: python -m kcde fetch geyser. Each command explains itself: COMMAND --help."
_PLAIN = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}
app = typer.Typer(name="kcde", epilog=_EPILOG, no_args_is_help=True, **_PLAIN)


def _called_as() -> str:
    return "kcde" if Path(sys.argv[0]).stem == "kcde" else "python -m kcde"


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kcde {__version__}")
        raise typer.Exit


_VERSION = typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version.")


@app.callback()
def _kcde(version: Annotated[bool, _VERSION] = False) -> None:
    """Kernel conditional density estimation: fetch data, fit methods, draw tables and figures."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error is one line on stderr and exit code 2.

    Parameters
    ----------
    arguments
        The words after `python -m kcde`; by default those of this process.
    """
    # SIGTERM ends a job as Ctrl-C does, so that it cleans up.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        app(args=arguments, prog_name=_called_as())
    except (ValueError, OSError, RuntimeError, MemoryError, ModuleNotFoundError) as error:
        if os.environ.get("KCDE_TRACEBACK"):
            raise
        message = " ".join(str(error).split())
        if isinstance(error, ModuleNotFoundError) and "pip install" not in message:
            message += ": `envs/run` has all that kcde needs, as has pip install -r envs/cpu.txt"
        print(f"kcde: {message} (KCDE_TRACEBACK=1 shows where)", file=sys.stderr)
        raise SystemExit(2) from None


for family in (own, data, run, outputs):
    app.add_typer(family.app)
