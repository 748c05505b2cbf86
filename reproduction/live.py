"""Play the machines of a ledger in the unmodified environments: `python -m reproduction live results/live`.

A row of the memory chain or of the passive T-maze holds the machine that it judges. This plays it in bsuite's own
environment, and with `--mikasa CHECKOUT` in that of MIKASA-Base, and keeps under `live` which one, how many episodes,
and the share that the environment rewarded. `--page docs/live.md` fills in the table of that page.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from certify.progress import track
from diacritic.files.atomic import write_text
from diacritic.files.ledger import Row, merge_ledger, read_ledger
from diacritic.report.dot_chart import SHARE, SUCCESS, Lines, dot_chart
from diacritic.report.markdown import figure, write_pictures
from diacritic.rollout.machine import unpacked
from diacritic.studies.tasks import model_of, task
from reproduction.beyond_paper.delays_page import between, by, counted, table
from reproduction.live_environments import live, play

EPISODES, MARK, PICTURE = 256, "live", "images/live.svg"
HEAD = ("task", "learner", "preset", "sufficient", "success, exact", "in the environment", "environment")


def played(row: Row, checkout: Path | None = None, episodes: int = EPISODES) -> Row | None:
    """A row with what its machine did in the environment; none where there is no such environment."""
    name, *pairs = row["task"].split()
    given = {key: int(value) for key, value in (pair.split("=") for pair in pairs)}
    opened = live(name, given, row["seed"], checkout)
    if opened is None:
        return None
    where, env = opened
    model = model_of(task(name, **given))
    success = play(unpacked(row["machine"], model), model, env, episodes)
    return row | {"live": {"environment": where, "episodes": episodes, "success": success}}


def cells(rows: Sequence[Row]) -> dict[tuple[str, str, str], list[Row]]:
    """Runs by task, learner and preset."""
    return by([row | {"who": (row["task"], row["learner"], row["preset"])} for row in rows if "live" in row], "who")


def picture(rows: Sequence[Row]) -> str:
    """Success in the model beside success in the environment, as SVG."""
    shown: Lines = {
        f"{task}, {learner}": {
            SHARE.title: {"sufficient": mean(row["sufficient"] for row in runs)},
            SUCCESS.title: {
                "in the model, exactly": mean(row["success"] for row in runs),
                "in the environment": mean(row["live"]["success"] for row in runs),
            },
        }
        for (task, learner, _), runs in cells(rows).items()
    }
    return dot_chart(MARK, shown, (SHARE, SUCCESS))


def part(rows: Sequence[Row]) -> str:
    """The picture with its table behind it."""
    presets = ", ".join(sorted({preset for _, _, preset in cells(rows)}))
    caption = f"Means over the seeds of each cell; preset {presets}, {EPISODES} episodes in the environment."
    return figure(
        "Success in the model and in the environment", PICTURE, caption, lines(rows), f"{len(cells(rows))} cells"
    )


def lines(rows: Sequence[Row]) -> str:
    """A line a cell: sufficient seeds, and the mean success of all seeds in the model and in the environment."""
    told = []
    for who, here in cells(rows).items():
        exact, there = mean(row["success"] for row in here), mean(row["live"]["success"] for row in here)
        told.append([*who, counted(here), f"{exact:.3f}", f"{there:.3f}", here[0]["live"]["environment"]])
    return table(HEAD, told)


def play_ledgers(results: Path, checkout: Path | None, episodes: int, page: Path | None) -> None:
    """Play every machine of every ledger of a folder, and renew the table of a page."""
    shown: list[Row] = []
    for path in sorted(results.glob("*.jsonl")):
        rows = [row for row in read_ledger(path) if "machine" in row]
        outcomes = [played(row, checkout, episodes) for row in track(rows, f"playing {path.stem}")]
        new = [row for row in outcomes if row is not None]
        merge_ledger(path, new)
        print(f"{path.stem}: {len(new)} of {len(rows)} machines played", flush=True)
        shown += read_ledger(path)
    if page is not None:
        write_text(page, between(page.read_text(encoding="utf-8"), MARK, part(shown)))
        write_pictures(page.parent, {PICTURE: picture(shown)})
