"""`python -m kcde`: every step of the workflow as a command that also works on its own.

One module a family of commands. What a command needs is imported inside it, so that `--help` and
the short commands do not wait for numpy, pandas or scipy.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from kcde import __version__
from kcde.cli import data, doctor, outputs, run

app = typer.Typer(
    name="kcde",
    epilog="Example: python -m kcde fetch geyser. Each command explains itself: COMMAND --help.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _called_as() -> str:
    return "kcde" if Path(sys.argv[0]).stem == "kcde" else "python -m kcde"


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kcde {__version__}")
        raise typer.Exit


@app.callback()
def _kcde(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Kernel conditional density estimation: fetch data, fit methods, draw tables and figures."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error is one line on stderr and exit code 2.

    Parameters
    ----------
    arguments
        What stands after `python -m kcde`; those of this process when None.
    """
    # A job that is told to end cleans up after itself, as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        app(args=arguments, prog_name=_called_as())
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        if os.environ.get("KCDE_TRACEBACK"):
            raise
        message = " ".join(str(error).split())
        print(f"kcde: {message} (KCDE_TRACEBACK=1 shows where)", file=sys.stderr)
        raise SystemExit(2) from None


for family in (data, run, outputs, doctor):
    app.add_typer(family.app)
