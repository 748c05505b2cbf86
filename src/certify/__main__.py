"""``python -m certify``: from a model file or a zoo name to the exact memory it needs."""

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

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
    """Run the command line; 0 done, 2 bad input."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    from certify.errors import UserError

    try:
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
        _write(answer, outputs)
    except UserError as error:
        place = options.model if options.model and (Path(options.model).suffix or Path(options.model).exists()) else ""
        line = str(error).replace("\n", " ")
        print(f"certify: {place}: {line}" if place else f"certify: {line}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of a pipe left early
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0


def _load(name: str, rest: list[str]) -> "Model":
    from certify.core.model import Model
    from certify.errors import UserError

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
    from certify.errors import UserError

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


def _write(answer: "Answer", outputs: dict[str, str]) -> None:
    """Make every file beside its place, then move all of them there."""
    from certify.errors import UserError
    from certify.show import show

    ready: list[tuple[Path, Path]] = []
    try:
        for key, path in outputs.items():
            if path == "-":
                continue
            part = Path(path).with_name(f".{os.getpid()}.{Path(path).name}")
            ready.append((part, Path(path)))
            _make(answer, key, part)
        for part, path in ready:
            part.replace(path)
    except OSError as error:
        raise UserError("", f"cannot write {error.filename}: {error.strerror}") from None
    finally:
        for part, _ in ready:
            part.unlink(missing_ok=True)
    if "-" in outputs.values():
        sys.stdout.write(next(_text(answer, key) for key, path in outputs.items() if path == "-"))
    else:
        show(answer)
        with contextlib.suppress(ValueError):
            for _, path in ready:
                print(f"wrote {path}")


def _make(answer: "Answer", key: str, path: Path) -> None:
    if key == "plot":
        from certify.plot import staircase

        staircase(answer, path)
    elif key == "machine":
        from certify.machines.exports import EXPORTS

        path.write_text(EXPORTS[path.suffix](answer.machine), encoding="utf-8")
    else:
        path.write_text(_text(answer, key), encoding="utf-8")


def _text(answer: "Answer", key: str) -> str:
    if key == "certificate":
        from certify.certificate import certificate_json

        return certificate_json(answer)
    return answer.model.to_json() if key == "model_json" else answer.to_json()


if __name__ == "__main__":
    sys.exit(main())
