"""``python -m certify``: from a model file or a zoo name to the exact memory it needs."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from certify.errors import UserError, inert

if TYPE_CHECKING:
    from certify.answer import Answer
    from certify.core.model import Model

_EPILOG = "examples: certify MODEL.json --json -   certify gap --gap2 6 --plot gap.svg"
_MACHINES = (".dot", ".svg", ".json", ".kiss2")
_PLOTS = (".png", ".svg", ".pdf")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"certify: {message}; python -m certify --help shows what there is\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m certify", description=__doc__, epilog=_EPILOG, allow_abbrev=False)
    parser.add_argument("model", nargs="?", help="a model (.json, .npz, .kiss2) or the name of a zoo instance")
    parser.add_argument("--list", action="store_true", help="list the zoo's instances and their parameters")
    parser.add_argument("--json", metavar="OUT", help="write the answer as JSON; - is standard output")
    parser.add_argument("--plot", metavar="OUT", help="write the staircase as a picture (.png, .svg, .pdf)")
    parser.add_argument("--machine", metavar="OUT", help="write the best machine (.dot, .svg, .json, .kiss2)")
    parser.add_argument("--certificate", metavar="OUT", help="write a certificate for python -m certify.check")
    parser.add_argument("--model-json", metavar="OUT", help="write the model itself, as the checker reads it")
    parser.add_argument(
        "--objective", choices=("sum", "peak", "lexicographic"), default="sum", help="what the best machine minimises"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of each search (default 60)")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; 0 done, 2 bad input or an output that could not be written."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    try:
        status = _run(parser, options, rest)
        print(end="", flush=True)
    except UserError as error:
        is_file = options.model and (Path(options.model).suffix or Path(options.model).exists())
        return _refuse(f"{options.model}: {error}" if is_file else str(error))
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader of a pipe left early
            return 0
        return _refuse(f"standard output cannot be written: {error.strerror or error}")
    return status


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace, rest: list[str]) -> int:
    if options.list:
        return _list()
    if options.model is None:
        parser.error("give a model or a zoo name")
    outputs = _outputs(options)
    from certify.progress import working

    with working(f"certifying {options.model}"):
        model = _load(options.model, rest)
        from certify.answer import certify

        answer = certify(model, options.objective, seconds=options.seconds)
    return _write(answer, outputs)


def _refuse(reason: str) -> int:
    """One line on standard error, whatever the names in it."""
    print(f"certify: {inert(' '.join(reason.splitlines()))}", file=sys.stderr)
    return 2


def _load(name: str, rest: list[str]) -> "Model":
    from certify.core.model import Model

    if Path(name).suffix in (".json", ".npz", ".kiss2") or Path(name).exists():
        if rest:
            raise UserError("", f"unknown option {rest[0]!r}; a model file takes no parameters")
        if Path(name).suffix == ".kiss2":
            from certify.machines.kiss import load_kiss2

            return load_kiss2(Path(name))
        return Model.load(name)
    from certify.zoo import build

    parameters: dict[str, str | int] = {}
    words = iter(rest)
    for word in words:
        key, equals, value = word.removeprefix("--").partition("=")
        value = value if equals else next(words, None)
        if not word.startswith("--") or value is None:
            raise UserError("", f"expected --parameter value, not {word!r}")
        parameters[key.replace("-", "_")] = value
    return build(name, **parameters)


def _list() -> int:
    from certify.zoo import instances

    for item in instances():
        parameters = " ".join(f"--{key} {value}" for key, value in item.defaults.items())
        print(f"{item.name:20}{item.summary}\n{'':20}{parameters}".rstrip())
    return 0


def _outputs(options: argparse.Namespace) -> dict[str, str]:
    """What to write where; refused before any work is done."""
    outputs = {key: getattr(options, key) for key in ("json", "plot", "machine", "certificate", "model_json")}
    wanted = {key: path for key, path in outputs.items() if path}
    for key, endings in (("plot", _PLOTS), ("machine", _MACHINES)):
        if key in wanted and Path(wanted[key]).suffix not in endings:
            raise UserError(f"--{key}", f"expected a name that ends in {', '.join(endings)}, not {wanted[key]!r}")
    for key, path in wanted.items():
        if path != "-" and (Path(path).is_dir() or not Path(path).absolute().parent.is_dir()):
            raise UserError(f"--{key.replace('_', '-')}", f"cannot write to {path!r}: no such folder, or it is one")
        if [Path(other).absolute() for other in wanted.values()].count(Path(path).absolute()) > 1:
            raise UserError(f"--{key.replace('_', '-')}", f"another output also goes to {path!r}")
    return wanted


def _write(answer: "Answer", outputs: dict[str, str]) -> int:
    """Write every output that can be written; what is refused is named last."""
    from certify.show import show

    written: list[str] = []
    refused: list[str] = []
    for key, path in sorted(outputs.items(), key=lambda output: output[1] == "-"):  # standard output last
        try:
            if path == "-":
                print(_text(answer, key), end="")
            else:
                _save(answer, key, Path(path))
                written.append(path)
        except UserError as error:
            option = f"--{key.replace('_', '-')}"
            refused.append(str(error) if error.place == option else f"{option}: {error}")
    if "-" not in outputs.values():
        show(answer)
        for path in written:
            print(f"wrote {inert(path)}")
        print(end="", flush=True)
    return _refuse("; ".join(refused)) if refused else 0


def _save(answer: "Answer", key: str, path: Path) -> None:
    from certify.atomic import path_atomic, write_text

    if key == "plot":
        from certify.plot import staircase

        with path_atomic(path) as partial:
            staircase(answer, partial)
    elif key == "machine":
        from certify.machines.exports import EXPORTS

        write_text(path, EXPORTS[path.suffix](answer.machine))
    else:
        write_text(path, _text(answer, key))


def _text(answer: "Answer", key: str) -> str:
    if key == "certificate":
        from certify.certificate import certificate_json

        return certificate_json(answer)
    return answer.model.to_json() if key == "model_json" else answer.to_json()


if __name__ == "__main__":
    sys.exit(main())
