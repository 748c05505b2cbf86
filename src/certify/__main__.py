"""``python -m certify``: from a model file or a zoo name to the exact memory it needs, also at every horizon."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from certify.errors import UserError, inert

if TYPE_CHECKING:
    from certify.core.model import Model
    from certify.stationary.answer import Effort
    from certify.stationary.process import Process

_EPILOG = """examples: certify MODEL.json --json -   certify gap --gap2 6 --plot gap.svg
          certify counter --modulus 5 --forever   certify world.pomdp --controller fsc.json --forever"""
_MACHINES = (".dot", ".svg", ".json", ".kiss2")
_FOREVER_MACHINES = (*_MACHINES, ".fsc.json", ".drn")
_WORLDS = (".pomdp", ".drn", ".prism", ".nm", ".templ", ".jani")
_PLOTS = (".png", ".svg", ".pdf")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"certify: {message}; python -m certify --help shows what there is\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m certify",
        description=__doc__,
        epilog=_EPILOG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model",
        nargs="?",
        help="a model (.json, .npz, .kiss2), a world (.pomdp, .drn, .prism, .jani), or the name of a zoo instance",
    )
    parser.add_argument("--list", action="store_true", help="list the zoo's instances and their parameters")
    parser.add_argument("--json", metavar="OUT", help="write the answer as JSON; - is standard output")
    parser.add_argument("--plot", metavar="OUT", help="write the staircase as a picture (.png, .svg, .pdf)")
    parser.add_argument("--machine", metavar="OUT", help="write the best machine (.dot, .svg, .json, .kiss2)")
    parser.add_argument(
        "--certificate", metavar="OUT", help="write a certificate for python -m certify.check (or .check_stationary)"
    )
    parser.add_argument(
        "--model-json", "--process-json", metavar="OUT", help="write the model itself, as the checker reads it"
    )
    parser.add_argument(
        "--objective", choices=("sum", "peak", "lexicographic"), default="sum", help="what the best machine minimises"
    )
    parser.add_argument(
        "--by-hidden", type=int, metavar="K", help="bits given part K (from 0) of the hidden value, too"
    )
    parser.add_argument(
        "--by-label", metavar="FILE", help="bits given a label of each episode, or of each step of it (JSON lists), too"
    )
    parser.add_argument("--tolerance", metavar="E", help="the policy may be off by E after every history: a bracket")
    parser.add_argument("--divergence", choices=("tv", "kl"), default="tv", help="what --tolerance measures")
    parser.add_argument(
        "--seconds", type=float, help="limit of each search (default 60, 5 for the fewest codes; with --forever 10)"
    )
    parser.add_argument("--optimal", type=int, metavar="H", help="of a world (.pomdp): its best policy for H actions")
    parser.add_argument("--horizon", type=int, metavar="H", help="of a world and a --controller: the first H steps")
    ever = parser.add_argument_group("every horizon", "questions about models without a last step")
    ever.add_argument(
        "--forever",
        action="store_true",
        help="take a process (.json), a world (.pomdp, .drn, .prism, .jani), or a task",
    )
    ever.add_argument("--controller", metavar="FILE", help="the expert of a world (.json, .pg, .alpha, .policyx)")
    ever.add_argument("--constants", metavar="N=4,…", default="", help="for what a PRISM or JANI file leaves open")
    ever.add_argument("--check", metavar="FILE", help="prove that a machine (certify-machine/2) is right for ever")
    ever.add_argument("--discount", metavar="G", help="report discounted bits as well, for example 0.95")
    ever.add_argument("--window", type=int, default=3, help="labels to look back at in regime 3 (default 3)")
    ever.add_argument("--steps", type=int, default=12, help="steps of the profile (default 12)")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; 0 done, 2 bad input or an output that could not be written, 130 stopped by Ctrl-C."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    try:
        status = _run(parser, options, rest)
        print(end="", flush=True)
    except UserError as error:
        is_file = options.model and (Path(options.model).suffix or Path(options.model).exists())
        named = is_file and error.where in (options.model, Path(options.model).name)
        return _refuse(f"{options.model}: {error.reason if named else error}" if is_file else str(error))
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader of a pipe left early
            return 0
        return _refuse(f"standard output cannot be written: {error.strerror or error}")
    except KeyboardInterrupt:
        print("certify: stopped", file=sys.stderr)
        return 130
    return status


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace, rest: list[str]) -> int:
    if options.list:
        return _list(options.forever)
    if options.model is None:
        parser.error("give a model or a zoo name")
    if not options.forever:
        _refuse_stationary_options(parser, options)
    outputs = _outputs(options)
    from certify.progress import working

    with working(f"certifying {options.model}"):
        if options.check:
            return _check(options.check, _process(options, rest))
        run = _forever if options.forever else _finite if options.tolerance is None else _soft
        result = run(options, rest)
    status = _write(result, outputs)
    if result.stopped:
        print("certify: stopped; what was not reached is a bracket", file=sys.stderr)
    return 130 if result.stopped else status


@dataclass(frozen=True)
class _Result:
    """An answer as the outputs need it."""

    show: Callable[[], None]
    texts: Mapping[str, Callable[[str], str | Iterable[str]]]  # by output; each takes the name of the file
    plot: Callable[[Path], None] | None = None
    stopped: bool = False  # by Ctrl-C


def _finite(options: argparse.Namespace, rest: list[str]) -> _Result:
    from certify.answer import certify

    model = _load(options, rest)
    answer = certify(model, options.objective, seconds=options.seconds, stoppable=True)
    from certify.by_label import LabelRates, hidden_part, rates_by_label, read_labels, table, to_dict
    from certify.certificate import certificate_lines
    from certify.machines.exports import EXPORTS
    from certify.show import show
    from certify.stationary.frames import stacks_of_model

    rates: list[LabelRates] = []
    if options.by_hidden is not None:
        rates += rates_by_label(answer, hidden_part(model, options.by_hidden))
    if options.by_label is not None:
        rates += rates_by_label(answer, read_labels(Path(options.by_label)))

    def plot(path: Path) -> None:
        from certify.plot import staircase

        staircase(answer, path, rates)

    def tell() -> None:
        show(answer)
        for stack in stacks_of_model(model.graph):
            print(f"Frames: {stack.text}.")
        if rates:
            print(table(rates))

    def document() -> str:
        stacks = [{"actions": f.actions, "k": f.k, "text": f.text} for f in stacks_of_model(model.graph)]
        more = {"frames": stacks, **({"by_label": to_dict(rates)} if rates else {})}
        return json.dumps({**answer.to_dict(), **more}, indent=1, ensure_ascii=False) + "\n"

    texts = {
        "json": lambda name: document(),
        "machine": lambda name: EXPORTS[Path(name).suffix](answer.machine),
        "certificate": lambda name: certificate_lines(answer),
        "model_json": lambda name: model.to_json(),
    }
    return _Result(tell, texts, plot, answer.stopped)


def _soft(options: argparse.Namespace, rest: list[str]) -> _Result:
    from certify.machines.exports import EXPORTS
    from certify.tolerance import within

    seconds = 10.0 if options.seconds is None else options.seconds
    answer = within(_load(options, rest), options.tolerance, options.divergence, seconds)
    texts = {"json": lambda name: answer.to_json(), "machine": lambda name: EXPORTS[Path(name).suffix](answer.machine)}
    return _Result(lambda: print(answer.text()), texts)


def _forever(options: argparse.Namespace, rest: list[str]) -> _Result:
    from certify.stationary.answer import certify_forever
    from certify.stationary.certificate import certificate_json
    from certify.stationary.exports import export
    from certify.stationary.show import show

    process = _process(options, rest)
    answer = certify_forever(process, _effort(options))
    texts = {
        "json": lambda name: answer.to_json(),
        "machine": lambda name: export(answer.machine, process, name),
        "certificate": lambda name: certificate_json(answer),
        "model_json": lambda name: process.to_json(),
    }
    return _Result(lambda: show(answer), texts)


def _refuse_stationary_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    world = Path(options.model).suffix in _WORLDS
    for name in ("optimal", "horizon"):
        if getattr(options, name) is not None and not world:
            raise UserError(f"--{name}", f"is for a world ({', '.join(_WORLDS)})")
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise UserError(f"--{name}", f"expected at least 1 step, not {getattr(options, name)}")
    if world and (options.optimal or (options.controller and options.horizon)):
        return
    if world and options.controller:
        raise UserError("--controller", "says who acts; add --horizon H for the first H steps, or --forever for all")
    for name in ("controller", "constants", "check", "discount", "window", "steps"):
        if getattr(options, name) != parser.get_default(name):
            raise UserError(f"--{name}", "answers a question about every horizon; add --forever")
    if world:
        remedy = "--optimal H, --controller FILE --horizon H, or --forever with --controller FILE"
        raise UserError("", f"a world has no last step; add {remedy}")


def _process(options: argparse.Namespace, rest: list[str]) -> "Process":
    """The expert in its world: two files, one file of both, or a named task."""
    if Path(options.model).suffix not in (*_WORLDS, ".json"):
        from certify.stationary.zoo import build

        if options.controller:
            raise UserError("--controller", f"{options.model} has its own expert; give a world ({', '.join(_WORLDS)})")
        return build(options.model, **_parameters(rest))
    _no_parameters(rest)
    if options.controller:
        from certify.sources.process import load_process

        return load_process(options.model, options.controller, options.constants)
    if Path(options.model).suffix in _WORLDS:
        raise UserError("--controller", "is missing: who acts in this world?")
    from certify.core.reading import read_bytes
    from certify.stationary.process import Process

    return Process.from_json(read_bytes(Path(options.model)))


def _check(path: str, process: "Process") -> int:
    """Whether a machine is right for ever; 0 if it is, 1 with a shortest history where it errs."""
    from certify.core.reading import read_bytes
    from certify.stationary.machine import StationaryMachine, right_for_ever

    try:
        machine = StationaryMachine.from_json(read_bytes(Path(path)))
    except UserError as error:
        raise UserError(f"--check {path}", str(error)) from None
    verdict = right_for_ever(machine, process)
    print(inert(f"{path}: {verdict.text}"))
    return 0 if verdict.right else 1


def _effort(options: argparse.Namespace) -> "Effort":
    from certify.core.reading import rational
    from certify.stationary.answer import Effort

    gamma = None if options.discount is None else rational(options.discount, "--discount")
    if gamma is not None and not 0 < gamma < 1:
        raise UserError("--discount", f"expected a number between 0 and 1, not {options.discount}")
    seconds = 10.0 if options.seconds is None else options.seconds
    return Effort(window=options.window, steps=options.steps, seconds=seconds, gamma=gamma)


def _refuse(reason: str) -> int:
    """One line on standard error, whatever the names in it."""
    print(f"certify: {inert(' '.join(reason.splitlines()))}", file=sys.stderr)
    return 2


def _load(options: argparse.Namespace, rest: list[str]) -> "Model":
    from certify.core.model import Model

    name = options.model
    if Path(name).suffix in _WORLDS:
        _no_parameters(rest)
        return _of_world(options)
    if Path(name).suffix in (".json", ".npz", ".kiss2") or Path(name).exists():
        _no_parameters(rest)
        if Path(name).suffix == ".kiss2":
            from certify.machines.kiss import load_kiss2

            return load_kiss2(Path(name))
        return Model.load(name)
    from certify.zoo import build

    return build(name, **_parameters(rest))


def _of_world(options: argparse.Namespace) -> "Model":
    """A world with its best policy, or with a controller, for so many steps."""
    if options.optimal is None:
        return _process(options, []).model(options.horizon)
    from certify.sources.pomdp import load_pomdp

    if Path(options.model).suffix != ".pomdp":
        raise UserError("--optimal", "plans in .pomdp files; give another world a --controller")
    problem = load_pomdp(options.model)
    for line in problem.renormalised:
        print(f"certify: {inert(line)}; normalised", file=sys.stderr)
    return problem.model(problem.optimal(options.optimal), options.optimal)


def _no_parameters(rest: list[str]) -> None:
    if rest:
        raise UserError("", f"unknown option {rest[0]!r}; a model file takes no parameters")


def _parameters(rest: list[str]) -> dict[str, str | int]:
    """--key value and --key=value, of a named task."""
    parameters: dict[str, str | int] = {}
    words = iter(rest)
    for word in words:
        key, equals, value = word.removeprefix("--").partition("=")
        value = value if equals else next(words, None)
        if not word.startswith("--") or value is None:
            raise UserError("", f"expected --parameter value, not {word!r}")
        parameters[key.replace("-", "_")] = value
    return parameters


def _list(forever: bool) -> int:
    if forever:
        from certify.stationary.zoo import TASKS

        items = list(TASKS.values())
    else:
        from certify.zoo import instances

        items = instances()
    for item in items:
        parameters = " ".join(f"--{key} {value}" for key, value in item.defaults.items())
        print(f"{item.name:20}{item.summary}\n{'':20}{parameters}".rstrip())
    return 0


def _outputs(options: argparse.Namespace) -> dict[str, str]:
    """What to write where; refused before any work is done."""
    outputs = {key: getattr(options, key) for key in ("json", "plot", "machine", "certificate", "model_json")}
    wanted = {key: path for key, path in outputs.items() if path}
    if options.tolerance is not None and (options.forever or not wanted.keys() <= {"json", "machine"}):
        raise UserError("--tolerance", "goes with --json and --machine alone, and not with --forever")
    if options.forever and "plot" in wanted:
        raise UserError("--plot", "draws the steps of a finite model; --machine draws a machine for ever")
    for key, endings in (("plot", _PLOTS), ("machine", _FOREVER_MACHINES if options.forever else _MACHINES)):
        if key in wanted and not wanted[key].endswith(endings):
            raise UserError(f"--{key}", f"expected a name that ends in {', '.join(endings)}, not {wanted[key]!r}")
    for key, path in wanted.items():
        if path != "-" and (Path(path).is_dir() or not Path(path).absolute().parent.is_dir()):
            raise UserError(f"--{key.replace('_', '-')}", f"cannot write to {path!r}: no such folder, or it is one")
        if [Path(other).absolute() for other in wanted.values()].count(Path(path).absolute()) > 1:
            raise UserError(f"--{key.replace('_', '-')}", f"another output also goes to {path!r}")
    return wanted


def _write(result: _Result, outputs: dict[str, str]) -> int:
    """Write every output that can be written; what is refused is named last."""
    written: list[str] = []
    refused: list[str] = []
    for key, path in sorted(outputs.items(), key=lambda output: output[1] == "-"):  # standard output last
        try:
            if path == "-":
                text = result.texts[key](path)
                sys.stdout.writelines([text] if isinstance(text, str) else text)
            else:
                _save(result, key, Path(path))
                written.append(path)
        except UserError as error:
            option = f"--{key.replace('_', '-')}"
            refused.append(str(error) if error.where == option else f"{option}: {error}")
    if "-" not in outputs.values():
        result.show()
        for path in written:
            print(f"wrote {inert(path)}")
        print(end="", flush=True)
    return _refuse("; ".join(refused)) if refused else 0


def _save(result: _Result, key: str, path: Path) -> None:
    from certify.atomic import path_atomic, write_text

    if key == "plot" and result.plot is not None:
        with path_atomic(path) as partial:
            result.plot(partial)
    else:
        write_text(path, result.texts[key](path.name))


if __name__ == "__main__":
    sys.exit(main())
