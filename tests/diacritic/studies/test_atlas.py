"""The atlas: cards are right, a run goes on where it stopped, failures are rows."""

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import building_twin
import pytest

from certify import Model, UserError, certify
from certify.zoo import build
from diacritic.cli import main
from diacritic.studies import atlas
from diacritic.studies.atlas import Entry, card, frame_stack, longest, page

RESULTS = Path(__file__).parents[3] / "results" / "atlas" / "atlas.jsonl"


def test_a_card() -> None:
    found = card(Entry("zoo", "gap", lambda: build("gap")))
    assert (found["peak"], found["horizon"], found["needs_memory"], found["certified"]) == (2, 11, True, True)
    assert found["codes"] == {"time_indexed": (4, 4), "stationary": (4, 4)}
    assert found["longest_carry"] == 9
    assert "reason" not in found


def test_a_failure_is_a_row_with_its_reason() -> None:
    def fail() -> Model:
        raise OSError("no such\npicture: '/home/somebody/lib/maze.png'")

    assert card(Entry("x", "y", fail))["reason"] == "OSError: no such picture: 'maze.png'"


def test_a_task_that_does_not_end_is_given_up() -> None:
    def spin() -> Model:
        while True:
            pass

    assert card(Entry("x", "y", spin), limit=0.01)["reason"] == "TooLong: took more than 0.01 s"


@pytest.mark.parametrize("delay", [2, 3, 7])
def test_a_stack_reaches_back_to_the_cue(delay: int) -> None:
    """The chain shows its context at steps 1 and 2 and asks at step delay + 1."""
    assert frame_stack(build("memory-chain", bits=1, delay=delay).graph) == delay


def test_stacks_without_a_clock_cannot_count() -> None:
    wait = Model.from_latents(4, {0: Fraction(1)}, lambda _, a: ("dark", "go" if len(a) == 3 else "wait"))
    assert frame_stack(wait.graph) == 4
    see = Model.from_latents(4, {0: Fraction(1)}, lambda _, a: (f"{len(a)}", "go" if len(a) == 3 else "wait"))
    assert frame_stack(see.graph) == 1
    assert frame_stack(build("running-parity", horizon=3).graph) is None  # merged: several pasts a node


def test_longest_run() -> None:
    assert longest([]) == 0
    assert longest([True, False, True, True]) == 2


def test_a_run_goes_on_and_writes_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def entry(name: str) -> Entry:
        def make() -> Model:
            made.append(name)
            return build(name)

        return Entry("few", name, make, full=name == "reveal")

    monkeypatch.setattr(atlas, "families", lambda: {"few": lambda: map(entry, ("gap", "reveal", "none such"))})
    out = tmp_path / "atlas.jsonl"
    assert main(["atlas", "few", "-o", str(out), "--limit", "1"]) == 0
    assert made == ["gap"]
    assert main(["atlas", "few", "-o", str(out), "--page", str(tmp_path / "atlas.md")]) == 0
    assert made == ["gap", "reveal", "none such"]
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["task"] for row in rows] == ["gap", "none such", "reveal"]
    assert "no instance is called" in rows[1]["reason"]
    text = (tmp_path / "atlas.md").read_text()
    assert "| few | gap | 11 | 2.000 |" in text
    assert "0 of 1 twins" in text
    with pytest.raises(UserError, match="no family is called so"):
        atlas.run(["many"], out)


def test_every_family_lists_its_tasks() -> None:
    pytest.importorskip("minigrid")
    counts = {name: len({entry.task for entry in make()}) for name, make in atlas.families().items()}
    assert counts["minigrid"] >= 178
    assert sum(counts.values()) > 200
    assert page([]).startswith("# Atlas")


def literally(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> Model:
    """The task of an entry built in the literal way, whichever way it is built in the atlas."""
    twin = building_twin
    patches = ("from_latents", "from_generative")
    for name in patches:
        build_it = getattr(twin, name)
        monkeypatch.setattr(
            Model, name, staticmethod(lambda *parts, made=build_it, name="", **rest: made(*_exact(parts), **rest))
        )
    monkeypatch.setattr(atlas, "to_model", twin.to_model)
    return entry.make()


def _exact(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Weights as a mapping of fractions, and no name: what the literal builders take."""
    horizon, weights, *rest = parts
    pairs = weights.items() if isinstance(weights, Mapping) else weights
    return horizon, {value: Fraction(weight) for value, weight in pairs}, *[part for part in rest if callable(part)]


@pytest.mark.parametrize(
    ("family", "task"),
    [
        ("zoo", "memory-chain bits=2 delay=10"),
        ("zoo", "running-parity horizon=5"),
        ("bsuite", "memory_chain bits=2 delay=5"),
        ("bsuite", "umbrella_chain length=5"),
        ("popgym", "POPGym RepeatFirst (1 deck) horizon=4"),
        ("popgym", "POPGym HigherLower ranks=2 horizon=6"),
        ("pomdp", "tiger, best policy for 4 actions"),
        ("pomdp", "cheese, best policy for 4 actions"),
        ("minigrid", "MiniGrid-LavaGapS5-v0"),
        ("minigrid", "BabyAI-GoToObjS4-v0"),
    ],
)
def test_committed_cards_are_found_again_by_another_path(
    family: str, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {(one["family"], one["task"]): one for one in atlas.load(RESULTS)}[family, task]
    (entry,) = (entry for entry in atlas.families()[family]() if entry.task == task)
    answer = certify(literally(entry, monkeypatch), seconds=2)
    assert [step.upper for step in answer.steps] == pytest.approx(kept["bits"], abs=1e-6)


def test_the_page_is_that_of_the_committed_cards() -> None:
    kept = atlas.load(RESULTS)
    assert page(kept) == (RESULTS.parents[2] / "docs" / "atlas.md").read_text()
    assert sum("reason" not in one for one in kept) >= 200
    assert not any(one["needs_memory"] for one in kept if one["full_view"] and "reason" not in one)
