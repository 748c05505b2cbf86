"""The closed loop on the page: success and the accuracy of every class, by policy, and a film of one."""

import base64
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from certify.errors import UserError
from certify.progress import working
from diacritic.measure.statistics import wilson
from diacritic.report.charts import AMBER, GOOD, GREY, ROSE, Chart, chart, plain
from diacritic.report.inputs import FILM_BYTES, FILMS, Inputs
from diacritic.report.runs import Run
from diacritic.tasks.remedies import remedies

MOST_BARS = 64
MARKS = ((GOOD, "circle"), (AMBER, "diamond"), (ROSE, "square"), (GREY, "cross"))  # success, then each class
Shown = dict[str, Any]


def view(inputs: Inputs, filmed: bool = True) -> Shown | None:
    """Shares with intervals, a table, and a film that was given or can be made."""
    played = [run for run in inputs.runs if run.rollout is not None]
    exact = [run for run in inputs.runs if run.rollout is None and run.success is not None]
    film = _given(inputs) or (_made(inputs) if filmed else None)
    if not (played or exact or film):
        return None
    table = [_row(run) for run in [*played, *exact]]
    classes = list(dict.fromkeys(name for row in table for name in row["classes"]))
    drawn = shares(played[:MOST_BARS]) if played else None
    return {"chart": drawn, "table": table, "classes": classes, "film": film}


def shares(runs: Sequence[Run]) -> Chart:
    """Success and class accuracy of every policy, with 95 % Wilson intervals over its episodes."""
    x, common = names(runs)
    traces = []
    measured = outcomes(runs)
    for k, name in enumerate(measured):
        colour, symbol = MARKS[k % len(MARKS)]
        rows = [_share(run, name) for run in runs]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": x,
                "y": [share for share, _, _ in rows],
                "marker": {"color": colour, "symbol": symbol, "size": 9},
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [high - share for share, _, high in rows],
                    "arrayminus": [share - low for share, low, _ in rows],
                    "color": colour,
                },
            }
        )
    label = f"Closed-loop {', '.join(measured)} of {len(runs)} policies with 95 % intervals"
    return chart(traces, label, common, "share of episodes", yaxis={"range": [-0.03, 1.03]})


def outcomes(runs: Sequence[Run]) -> list[str]:
    """Success, and the classes that every one of the runs reports."""
    by_run = [run.rollout["by_episode"] for run in runs if run.rollout is not None]
    return [name for name in by_run[0] if all(name in episodes for episodes in by_run)]


def names(runs: Sequence[Run]) -> tuple[list[str], str]:
    """A different name for every policy, and what all of them have in common."""
    told = [(run.task, run.learner, f"seed {run.seed}") for run in runs]
    common = [words[0] for words in list(zip(*told, strict=True))[:2] if len(set(words)) == 1]
    short = [", ".join(word for word in words if word not in common) for words in told]
    twice = {name for name, count in Counter(short).items() if count > 1}
    full = [f"{name} ({run.path.name[:4]})" if name in twice else name for name, run in zip(short, runs, strict=True)]
    return list(map(plain, full)), plain(", ".join(common))


def _share(run: Run, name: str) -> tuple[float, float, float]:
    assert run.rollout is not None
    episodes = run.rollout["by_episode"][name]
    low, high = wilson(sum(map(bool, episodes)), len(episodes))
    return sum(map(bool, episodes)) / len(episodes), low, high


def _row(run: Run) -> Shown:
    known = {"task": run.task, "learner": run.learner, "seed": run.seed, "success": run.success}
    if run.rollout is None:
        return known | {"classes": {}, "how": "exact, every history"}
    _, low, high = _share(run, "success")
    classes = {name: run.rollout[name] for name in outcomes([run]) if name != "success"}
    more = {"classes": classes, "action_error_cm": run.rollout["action_error_cm"]}
    return known | more | {"how": f"{run.rollout['episodes']} episodes", "low": low, "high": high}


def _given(inputs: Inputs) -> Shown | None:
    for path in inputs.films:
        return _embedded(path, path.stem)
    return None


def _made(inputs: Inputs) -> Shown | None:
    """Film the first sufficient policy of a recorded task, else the first; without OpenGL there is none."""
    candidates = sorted((run for run in inputs.runs if run.recorded), key=lambda run: not run.sufficient)
    if not candidates:
        return None
    run = candidates[0]
    try:
        with remedies(), working("filming a policy"), tempfile.TemporaryDirectory() as folder:
            from diacritic.report.video import film, write_film
            from diacritic.rollout.run_loading import groups

            (group,) = groups([run.path])
            path = Path(folder) / "film.mp4"
            write_film(film(group.task, group.policies(), group.binner), path)
            if path.stat().st_size > FILM_BYTES:
                raise UserError(str(run.path), "its film is larger than 1 MB")
            return _embedded(path, f"{run.task}: {run.label}")
    except UserError as problem:
        inputs.leave_out(UserError("film", f"could not be made ({problem})"))
        return None


def _embedded(path: Path, title: str) -> Shown:
    kind = FILMS[path.suffix]
    return {"kind": kind, "title": title, "url": f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"}
