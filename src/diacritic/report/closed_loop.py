"""The closed loop in the report: every policy a dot, and a film of one."""

import base64
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from certify.errors import UserError
from diacritic.measure.statistics import wilson
from diacritic.report.charts import Chart, dots, mark
from diacritic.report.film_files import read_times
from diacritic.report.inputs import FILM_BYTES, FILMS, Inputs
from diacritic.report.runs import Run
from diacritic.tasks.remedies import remedies

MOST_ROWS = 40
Shown = dict[str, Any]


def chart(runs: Sequence[Run]) -> Chart | None:
    """A row for each task, learner and outcome; a dot for each policy that was played, others by exact success."""
    rows: dict[str, list[Chart]] = {}
    for run in runs:
        for name, (share, low, high, how) in shares(run).items():
            title = f"{run.task} · {run.learner} · {name}"
            said = f"{run.label}: {share:.0%} ({how})"
            marks = rows.setdefault(title, [])
            marks.append(mark(share, {"good": 0, "bad": 1, "open": 2}[run.mood], said, (low, high), run.id))
    if not rows:
        return None
    count = sum(bool(shares(run)) for run in runs)
    series = (("sufficient", "good"), ("failed", "bad"), ("not judged", "open"))
    label = f"Closed loop of {count} policies, a dot each: share of episodes"
    return dots(label, "share of episodes", series, list(rows.items())[:MOST_ROWS])


def shares(run: Run) -> dict[str, tuple[float, float, float, str]]:
    """Of success and each class: the share, its 95 % Wilson interval, and over what it was counted."""
    if run.rollout is None:
        exact = run.success
        return {} if exact is None else {"success": (exact, exact, exact, "exact, every history")}
    by_outcome = {}
    for name, episodes in run.rollout["by_episode"].items():
        passed, of = sum(map(bool, episodes)), len(episodes)
        by_outcome[name] = (passed / of, *wilson(passed, of), f"{of} episodes")
    return by_outcome


def film(inputs: Inputs, filmed: bool = True) -> Shown | None:
    """The film that was given, or one that is made of a policy; `task` is that of the policy."""
    for path in inputs.films:
        return _embedded(path, path.stem, "")
    return _made(inputs) if filmed else None


def _made(inputs: Inputs) -> Shown | None:
    """Film the first sufficient policy of a recorded task, else the first; without OpenGL there is none."""
    candidates = sorted((run for run in inputs.runs if run.recorded), key=lambda run: not run.sufficient)
    if not candidates:
        return None
    run = candidates[0]
    try:
        with remedies(), tempfile.TemporaryDirectory() as folder:
            from diacritic.report.film_files import write_film
            from diacritic.report.video import SMALL, film
            from diacritic.rollout.run_loading import groups

            (group,) = groups([run.path])
            path = Path(folder) / "film.mp4"
            made = film(group.task, group.policies(), group.binner, form=SMALL)
            write_film(made.frames, path, made.rate, made.times)
            if path.stat().st_size > FILM_BYTES:
                raise UserError(str(run.path), f"its film is larger than {FILM_BYTES / 1e6:g} MB")
            return _embedded(path, f"{run.task}: {run.label}", run.task)
    except UserError as problem:
        inputs.leave_out(UserError("film", f"could not be made ({problem})"))
        return None


def _embedded(path: Path, title: str, task: str) -> Shown:
    kind = FILMS[path.suffix]
    url = f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
    return {"kind": kind, "title": title, "task": task, "url": url, "times": read_times(path)}
