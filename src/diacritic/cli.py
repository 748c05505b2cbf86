"""The command line: `diacritic train TASK …` and its sisters, each a frozen dataclass whose fields are the options.

`diacritic certify …` is `python -m certify …`, and needs nothing but the base installation.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from certify.__main__ import main as certify
from certify.errors import UserError
from diacritic.tasks.remedies import remedies


def commands() -> dict[str, Any]:
    """Every command by name, as the modules of `diacritic.commands` list them; certify parses for itself."""
    from diacritic import commands as room
    from diacritic.demo import Demo

    registered: dict[str, Any] = {"demo": Demo}
    for module in iter_modules(room.__path__, f"{room.__name__}."):
        registered |= getattr(import_module(module.name), "COMMANDS", {})
    return dict(sorted(registered.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    """`diacritic …`."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["certify"]:
        return certify(given[1:])
    note = "`diacritic certify --help` describes one more command: the exact memory that a model needs."
    return dispatch(commands, "diacritic", note, given)


def dispatch(
    commands: Callable[[], Mapping[str, Any]], program: str, description: str, arguments: Sequence[str]
) -> int:
    """Run one of a program's commands.

    Bad input, a missing package or a full disk end with one line on standard error and status 2.
    """
    try:
        with remedies():
            import tyro

            available = dict(commands())
            command = tyro.extras.subcommand_cli_from_dict(
                available, prog=program, description=description, args=list(arguments)
            )
            status = command.run()
        sys.stdout.flush()  # here, where a reader that has left is noticed
        return status
    except UserError as problem:
        print(f"diacritic: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of a pipe left early
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as problem:
        where = problem.filename or "files"
        print(f"diacritic: {where}: {problem.strerror or problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("diacritic: interrupted; run the same command again to continue", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
