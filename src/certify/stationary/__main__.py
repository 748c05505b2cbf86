"""``python -m certify.stationary``: the memory that an expert requires of an imitator at every horizon."""

import argparse
import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from certify.errors import UserError, inert

if TYPE_CHECKING:
    from certify.stationary.answer import StationaryAnswer
    from certify.stationary.process import Process

_EPILOG = "examples: counter --modulus 5   process.json --json -   n-back --check machine.json"
_MACHINES = (".dot", ".svg", ".json")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"certify: {inert(message)}; python -m certify.stationary --help shows what there is\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m certify.stationary", description=__doc__, epilog=_EPILOG, allow_abbrev=False)
    parser.add_argument("task", nargs="?", help="a process (.json) or the name of a task")
    parser.add_argument("--list", action="store_true", help="list the tasks and their parameters")
    parser.add_argument("--check", metavar="FILE", help="prove that a machine (certify-machine/2) is right for ever")
    parser.add_argument("--json", metavar="OUT", help="write the answer as JSON; - is standard output")
    parser.add_argument("--machine", metavar="OUT", help="write the machine (.dot, .svg, .json)")
    parser.add_argument(
        "--certificate", metavar="OUT", help="write a certificate for python -m certify.check_stationary"
    )
    parser.add_argument("--process-json", metavar="OUT", help="write the process itself, as the checker reads it")
    parser.add_argument("--discount", metavar="G", help="report discounted bits as well, for example 0.95")
    parser.add_argument("--window", type=int, default=3, help="labels to look back at in regime 3 (default 3)")
    parser.add_argument("--steps", type=int, default=12, help="steps of the profile (default 12)")
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of the search for fewer codes (default 10)")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; 0 done, 1 the machine is wrong, 2 bad input."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    try:
        return _run(parser, options, rest)
    except UserError as error:
        return _refuse(str(error))
    except BrokenPipeError:  # the reader of a pipe left early
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace, rest: list[str]) -> int:
    if options.list:
        return _list()
    if options.task is None:
        parser.error("give a process or the name of a task")
    if options.machine and Path(options.machine).suffix not in _MACHINES:
        raise UserError("--machine", f"expected a name that ends in {', '.join(_MACHINES)}, not {options.machine!r}")
    process = _load(options.task, rest)
    if options.check:
        from certify.stationary.machine import StationaryMachine, right_for_ever

        verdict = right_for_ever(StationaryMachine.from_json(_read(options.check)), process)
        print(inert(f"{options.check}: {verdict.text}"))
        return 0 if verdict.right else 1
    from certify.stationary.answer import Effort, certify_forever

    effort = Effort(window=options.window, steps=options.steps, seconds=options.seconds, gamma=_discount(options))
    return _write(certify_forever(process, effort), options)


def _discount(options: argparse.Namespace) -> Fraction | None:
    from certify.core.reading import rational

    gamma = None if options.discount is None else rational(options.discount, "--discount")
    if gamma is not None and not 0 < gamma < 1:
        raise UserError("--discount", f"expected a number between 0 and 1, not {options.discount}")
    return gamma


def _list() -> int:
    from certify.stationary.zoo import TASKS

    for task in TASKS.values():
        parameters = " ".join(f"--{key} {value}" for key, value in task.defaults.items())
        print(f"{task.name:20}{task.summary}\n{'':20}{parameters}".rstrip())
    return 0


def _load(name: str, rest: list[str]) -> "Process":
    if Path(name).suffix == ".json":
        if rest:
            raise UserError("", f"unknown option {rest[0]!r}; a file takes no parameters")
        from certify.stationary.process import Process

        return Process.from_json(_read(name))
    from certify.stationary.zoo import build

    parameters: dict[str, int | str] = {}
    words = iter(rest)
    for word in words:
        key, equals, value = word.removeprefix("--").partition("=")
        value = value if equals else next(words, None)
        if not word.startswith("--") or value is None:
            raise UserError("", f"expected --parameter value, not {word!r}")
        parameters[key.replace("-", "_")] = value
    return build(name, **parameters)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UserError(path, f"cannot be read: {error.strerror}") from None


def _write(answer: "StationaryAnswer", options: argparse.Namespace) -> int:
    """Write every output that can be written; what is refused is named last."""
    from certify.atomic import write_text
    from certify.stationary.show import show

    outputs = {key: getattr(options, key) for key in ("machine", "certificate", "process_json", "json")}
    refused: list[str] = []
    written: list[str] = []
    for key, path in outputs.items():
        if path is None or path == "-":
            continue
        try:
            write_text(Path(path), _text(answer, key, Path(path).suffix))
            written.append(path)
        except UserError as error:
            refused.append(str(error))
    if "-" in outputs.values():
        key = next(key for key, path in outputs.items() if path == "-")
        print(_text(answer, key, ".json"), end="")
    else:
        show(answer)
        for path in written:
            print(f"wrote {inert(path)}")
    return _refuse("; ".join(refused)) if refused else 0


def _text(answer: "StationaryAnswer", key: str, suffix: str) -> str:
    if key == "machine":
        from certify.stationary.drawing import EXPORTS

        return EXPORTS[suffix](answer.machine)
    if key == "certificate":
        from certify.stationary.certificate import certificate_json

        return certificate_json(answer)
    return answer.process.to_json() if key == "process_json" else answer.to_json()


def _refuse(reason: str) -> int:
    """One line on standard error, whatever the names in it."""
    print(f"certify: {inert(' '.join(reason.splitlines()))}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
