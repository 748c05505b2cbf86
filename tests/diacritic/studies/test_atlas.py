"""The atlas: cards are right, a run goes on where it stopped on every engine, failures are rows, the page shows all."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from certify import Model, UserError
from certify.stationary import zoo
from certify.zoo import build
from diacritic.cli import main
from diacritic.studies import atlas
from diacritic.studies.atlas import Card, Checkouts, Entry, card, html, listing, page
from diacritic.studies.atlas.cards import longest

RESULTS = Path(__file__).parents[3] / "results" / "atlas.jsonl"


def model(horizon: int, step: Any) -> Entry:
    return Entry("x", "y", lambda: Model.from_latents(horizon, {0: Fraction(1)}, step))


def test_a_card() -> None:
    made = card(Entry("zoo", "gap", lambda: build("gap")))
    assert (made["peak"], made["horizon"], made["needs_memory"], made["certified"]) == (2, 11, True, True)
    assert (made["states"], made["states_with_clock"], made["longest_carry"]) == ([4, 4], [4, 4], 9)
    assert "reason" not in made
    assert "cue2=0" in made["witness"]
    assert made["witness"].endswith("the expert does put 0 or put 1, respectively")
    assert made["command"] == "diacritic atlas zoo --only 'gap' -o card.jsonl"


def test_a_card_for_every_horizon() -> None:
    made = card(Entry("forever", "counter", lambda: zoo.build("counter", modulus=4)))
    assert (made["horizon"], made["clock_free"], made["states"]) == (None, [2, 2], [4, 4])
    assert (made["frames"], made["frames_without_actions"]) == (2, None)  # the last answer tells the count
    assert made["bits"][:3] == [0, 1, 1.5]
    assert made["needs_memory"]
    assert "must be kept apart" in made["witness"]


def test_a_failure_is_a_row_with_its_reason() -> None:
    def fail() -> Model:
        raise OSError("no such\npicture: '/home/somebody/lib/maze.png'")

    assert card(Entry("x", "y", fail))["reason"] == "OSError: no such picture: 'maze.png'"


def test_a_task_that_does_not_end_is_given_up() -> None:
    def spin() -> Model:
        while True:
            pass

    assert card(Entry("x", "y", spin), limit=0.01)["reason"] == "took more than 0.01 s"


@pytest.mark.parametrize("delay", [2, 3, 7])
def test_frames_and_distance_reach_back_to_the_cue(delay: int) -> None:
    """The chain shows its context at steps 1 and 2 and asks at step delay + 1; from step 3 on all looks alike."""
    made = card(Entry("zoo", "chain", lambda: build("memory-chain", bits=1, delay=delay)))
    assert (made["frames"], made["decision_distance"]) == (delay, delay - 2)


def test_stacks_without_a_clock_cannot_count() -> None:
    assert card(model(4, lambda _, a: ("dark", "go" if len(a) == 3 else "wait")))["frames"] == 4
    assert card(model(4, lambda _, a: (f"{len(a)}", "go" if len(a) == 3 else "wait")))["frames"] == 1


def test_longest_run() -> None:
    assert longest([]) == 0
    assert longest([True, False, True, True]) == 2


def few(made: list[str]) -> Any:
    def entry(name: str) -> Entry:
        def make() -> Model:
            made.append(name)
            return build(name)

        return Entry("few", name, make, full=name == "reveal")

    return lambda _: {"few": lambda: map(entry, ("gap", "reveal", "none such"))}


def test_a_run_goes_on_and_writes_its_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(listing, "families", few(made))
    out = tmp_path / "atlas.jsonl"
    assert main(["atlas", "few", "-o", str(out), "--limit", "1"]) == 0
    assert made == ["gap"]
    written = ("--page", str(tmp_path / "atlas.md"), "--html", str(tmp_path / "atlas.html"))
    assert main(["atlas", "few", "-o", str(out), *written]) == 0
    assert made == ["gap", "reveal", "none such"]
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["task"] for row in rows] == ["gap", "none such", "reveal"]
    assert "no instance is called" in rows[1]["reason"]
    text = (tmp_path / "atlas.md").read_text()
    assert "<summary>gap</summary>" in text
    assert "0 of 1 twins" in text
    assert (tmp_path / "atlas.html").read_text().startswith("<!doctype html>")
    with pytest.raises(UserError, match="no family is called so"):
        atlas.run(["many"], out)
    assert main(["atlas", "few", "-o", str(tmp_path / "one.jsonl"), "--only", "re*"]) == 0
    assert made[3:] == ["reveal"]


def facts(rows: Iterable[Card]) -> list[list[Any]]:
    """What does not depend on how long a search may take."""
    keys = ("task", "command", "bits", "certified", "needs_memory", "frames", "decision_distance", "witness", "digest")
    return [[row[key] for key in keys] for row in rows]


def test_processes_and_a_cluster_make_the_same_cards(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    here = atlas.run(["zoo"], tmp_path / "here.jsonl", only="passive*")
    beside = atlas.run(["zoo"], tmp_path / "beside.jsonl", only="passive*", jobs=2)
    there = atlas.run(["zoo"], tmp_path / "there.jsonl", only="passive*", engine="ray")
    assert len(here) == 3
    assert facts(here) == facts(beside) == facts(there) == facts(atlas.load(tmp_path / "there.jsonl"))


def test_a_process_that_dies_leaves_its_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (
        "import os\nfrom certify.zoo import build\nfrom diacritic.studies.atlas import Entry, listing, run\n"
        "from pathlib import Path\n"
        "entries = [Entry('few', 'dies', lambda: os._exit(3)), Entry('few', 'lives', lambda: build('gap'))]\n"
        "listing.families = lambda _: {'few': lambda: iter(entries)}\n"
        "if __name__ == '__main__':\n    run(['few'], Path('atlas.jsonl'), jobs=2)\n"
    )
    (tmp_path / "dying.py").write_text(text)
    subprocess.run([sys.executable, "dying.py"], cwd=tmp_path, check=True, env=_environment())
    rows = atlas.load(tmp_path / "atlas.jsonl")
    assert [row.get("reason") for row in rows] == ["its process died (exit code 3)", None]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def test_a_killed_run_is_resumed(tmp_path: Path) -> None:
    out = tmp_path / "atlas.jsonl"
    words = [sys.executable, "-m", "diacritic.cli", "atlas", "zoo", "--only", "memory-chain*", "-o", str(out)]
    with subprocess.Popen([*words, "--jobs", "2"], env=_environment(), stderr=subprocess.DEVNULL) as runner:
        while runner.poll() is None and not out.exists():
            time.sleep(0.02)
        runner.send_signal(signal.SIGKILL)
    before = {row["task"]: row for row in atlas.load(out)}
    assert before
    after = atlas.run(["zoo"], out, only="memory-chain*")
    assert len(after) == len({row["task"] for row in after}) == 9
    assert all(before.get(row["task"], row) == row for row in after)  # what was there is not made again


def test_every_family_lists_its_tasks() -> None:
    pytest.importorskip("minigrid")
    counts = {name: len({entry.task for entry in make()}) for name, make in atlas.families().items()}
    assert counts["minigrid"] >= 178
    assert counts["prism"] == counts["mikasa"] == 0  # nothing of others is shipped
    assert sum(counts.values()) > 300
    assert "# Atlas" in page([])


def test_files_of_others_are_listed_once_by_content(tmp_path: Path) -> None:
    text = (
        "discount: 0.9\nvalues: reward\nstates: a b\nactions: go\nobservations: see\nT: go\nuniform\nO: go\nuniform\n"
    )
    for name in ("one.pomdp", "two.pomdp"):
        (tmp_path / name).write_text(text)
    (tmp_path / "no.prism").write_text("mdp\n")
    listed = atlas.families(Checkouts(models=tmp_path))
    made = [card(entry) for entry in listed["pomdp"]() if entry.option]
    assert [(row["task"], row["needs_memory"]) for row in made] == [("one.pomdp", False)]
    assert list(listed["prism"]()) == []


HOSTILE = "</script><img src=x onerror=alert(1)>|`"


def test_the_page_escapes_everything() -> None:
    good = card(Entry("zoo", HOSTILE, lambda: build("reveal"), HOSTILE, HOSTILE))
    bad = card(Entry(HOSTILE, HOSTILE, lambda: build(HOSTILE)))
    for text in (page([good, bad]), html([good, bad])):
        assert "<img" not in text
        assert "&lt;img" in text
    assert "\n\n" not in page([good]).split('<div id="atlas-cards">')[1].split("</script></div>")[0]


def test_the_page_is_that_of_the_committed_cards() -> None:
    rows = atlas.load(RESULTS)
    assert page(rows) == (RESULTS.parents[1] / "docs" / "atlas.md").read_text()
    certified = [row for row in rows if "reason" not in row]
    assert len(certified) >= 200
    assert not any(row["needs_memory"] for row in certified if row["full_view"])
    assert all(row["reason"].strip() for row in rows if "reason" in row)
