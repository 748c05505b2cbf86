"""What a page is made from: any mix of models, recordings, runs, ledgers, probes and films, sorted by kind.

What cannot be read is left out, and the page says so; only a name that leads nowhere is an error.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from certify import Model
from certify.errors import UserError
from certify.progress import track
from diacritic.demos.readers import is_recording, load
from diacritic.files.demos import Demos
from diacritic.files.judged import check_acceptance, check_probe
from diacritic.files.ledger import Row, problem_of, read_ledger
from diacritic.files.need import FORMAT as NEED
from diacritic.files.need import read_need
from diacritic.files.run import is_run
from diacritic.measure.probe import FORMAT as PROBE
from diacritic.measure.probe import saved_probe
from diacritic.report.runs import Run, read_run
from diacritic.tasks.named import named_model

FILMS = {".mp4": "video/mp4", ".gif": "image/gif"}
FILM_BYTES = 3_000_000
SKIPPED = (
    "diacritic-binner/",
    "diacritic-witnesses/",
    "certify-certificate/",
    "certify-answer/",
    "certify-machine/",
)  # parts of other things


@dataclass(frozen=True)
class LeftOut:
    """Something that is not on the page, and why."""

    where: str
    reason: str


@dataclass
class Inputs:
    """Everything that was found, in the order in which it was given."""

    models: list[Model] = field(default_factory=list)
    recordings: list[Demos] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    ledgers: dict[str, list[Row]] = field(default_factory=dict)
    figures: dict[str, list[Row]] = field(default_factory=dict)
    probes: dict[str, dict[str, Any]] = field(default_factory=dict)
    needs: list[dict[str, Any]] = field(default_factory=list)
    films: list[Path] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def extend(self, other: "Inputs") -> None:
        """Add what was found elsewhere."""
        for name, values in vars(other).items():
            mine = getattr(self, name)
            mine.update(values) if isinstance(mine, dict) else mine.extend(values)

    def leave_out(self, problem: UserError) -> None:
        self.left_out.append(LeftOut(problem.where, problem.reason))

    @contextmanager
    def readable(self) -> Iterator[None]:
        """What cannot be read within is left out."""
        try:
            yield
        except UserError as problem:
            self.leave_out(problem)


def collect(words: Sequence[str]) -> Inputs:
    """Read every input: a path, or a zoo task with its parameters in one word (`"gap gap2=6"`)."""
    inputs = Inputs()
    for word in words:
        path = Path(word)
        if path.is_dir():
            _folder(inputs, path)
        elif path.is_file():
            _file(inputs, path)
        elif is_recording(word):
            manifest = path.with_name(path.name + ".json")
            _file(inputs, manifest) if manifest.is_file() else _recording(inputs, word)
        elif "/" in word or path.suffix in (".json", ".jsonl", ".npz", *FILMS):
            raise UserError(word, "there is no such file or folder; give what exists")
        else:
            name, *parameters = word.split() or [""]
            inputs.models.append(named_model(name, parameters))
    inputs.runs.sort(key=lambda run: (run.task, run.learner, run.preset, run.seed))
    return inputs


def _folder(inputs: Inputs, folder: Path) -> None:
    """A run, or everything below; checkpoints of cohorts are not results."""
    if is_run(folder):
        _run(inputs, folder)
        return
    if is_recording(str(folder)):
        _recording(inputs, str(folder))
        return
    inside = sorted(folder.iterdir())
    if not inside:
        inputs.left_out.append(LeftOut(str(folder), "is an empty folder"))
    for path in track(inside, f"reading {folder.name}"):
        if path.is_dir() and not path.name.startswith((".", "cohort-")):
            _folder(inputs, path)
        elif path.suffix in (".json", ".jsonl", *FILMS):
            _file(inputs, path)


def _run(inputs: Inputs, folder: Path) -> None:
    with inputs.readable():
        run, problems = read_run(folder)
        inputs.runs.append(run)
        for problem in problems:
            inputs.leave_out(problem)


def _recording(inputs: Inputs, source: str) -> None:
    """A recording that somebody else wrote."""
    with inputs.readable():
        inputs.recordings.append(load(source))


def _file(inputs: Inputs, path: Path) -> None:
    with inputs.readable():
        if path.suffix == ".jsonl":
            _ledger(inputs, path)
        elif path.suffix in FILMS:
            _film(inputs, path)
        elif path.suffix == ".npz" and not path.with_suffix(".json").exists():
            if is_recording(str(path)):
                inputs.recordings.append(load(path))
            else:
                inputs.models.append(named_model(str(path)))
        else:
            _document(inputs, path.with_suffix(".json"))


def _ledger(inputs: Inputs, path: Path) -> None:
    rows = read_ledger(path)
    whole = [row for row in rows if problem_of(row) is None]
    measured = [row for row in rows if isinstance(row, dict) and {"figure", "value"} <= row.keys()]
    odd = len(rows) - len(whole) - len(measured)
    if odd:
        inputs.left_out.append(
            LeftOut(str(path), f"{odd} of {len(rows)} rows lack the keys of a run; they are not shown")
        )
    for row in whole:
        inputs.ledgers.setdefault(str(row["study"]), []).append(row)
    if measured:
        inputs.figures.setdefault(path.stem, []).extend(measured)


def _film(inputs: Inputs, path: Path) -> None:
    size = path.stat().st_size
    if size > FILM_BYTES:
        raise UserError(str(path), f"is a film of {size / 1e6:.1f} MB; at most {FILM_BYTES / 1e6:g} MB are shown")
    inputs.films.append(path)


def _document(inputs: Inputs, path: Path) -> None:
    """A JSON file, by the format that it names."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise UserError(str(path), "is truncated or not JSON; make it again") from None
    kind = str(document.get("format", "")) if isinstance(document, dict) else ""
    if kind.startswith("diacritic-demos/"):
        demos = load(path)
        check_acceptance(demos.acceptance or {}, str(path), "record again")
        inputs.recordings.append(demos)
        probed = saved_probe(path, demos.digest)
        if probed is not None:
            check_probe(probed, str(path), "run `diacritic probe` again")
            inputs.probes[path.stem] = probed
    elif kind == NEED:
        inputs.needs.append(read_need(path))
    elif kind == PROBE:
        check_probe(document, str(path), "run `diacritic probe` again")
        inputs.probes[path.name.removesuffix(".probe.json")] = document
    elif kind.startswith(("certify-model/", "certify-graph/")) or (not kind and "episodes" in document):
        inputs.models.append(named_model(str(path)))
    elif not kind.startswith(SKIPPED):
        raise UserError(str(path), f"is of format {kind or 'unknown'!r}, which this page does not show")
