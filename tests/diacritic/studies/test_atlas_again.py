"""Two committed cards of each family, computed again by another path: literal enumeration, the first steps of an
endless task, or a stand-in of the same task. Families that read files of others need their folders:
``DIACRITIC_MODELS`` and ``DIACRITIC_MIKASA``."""

import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import building_twin
import numpy as np
import pytest

from certify import Model, certify
from certify.stationary.process import Process
from certify.stationary.relation import compatibility
from certify.zoo import build
from diacritic.studies import atlas
from diacritic.studies.atlas import Card, Checkouts, Entry, listing
from diacritic.tasks.registry import find

RESULTS = Path(__file__).parents[3] / "results" / "atlas.jsonl"
FOLDERS = {name: os.environ.get(f"DIACRITIC_{name.upper()}") for name in ("models", "mikasa")}


def committed(family: str, task: str) -> Card:
    return {(row["family"], row["task"]): row for row in atlas.load(RESULTS)}[family, task]


def entry_of(family: str, task: str) -> Entry:
    folders = {name: Path(folder) for name, folder in FOLDERS.items() if folder}
    (entry,) = (entry for entry in atlas.families(Checkouts(**folders))[family]() if entry.task == task)
    return entry


def literally(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> Model | Process:
    """The task of an entry built in the literal way, whichever way it is built in the atlas."""
    for name in ("from_latents", "from_generative"):
        build_it = getattr(building_twin, name)
        monkeypatch.setattr(
            Model, name, staticmethod(lambda *parts, made=build_it, name="", **rest: made(*_exact(parts), **rest))
        )
    monkeypatch.setattr(listing, "to_model", building_twin.to_model)
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
def test_literal_enumeration(family: str, task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = literally(entry_of(family, task), monkeypatch)
    assert isinstance(model, Model)
    bits = [step.upper for step in certify(model, seconds=2).steps]
    assert bits == pytest.approx(committed(family, task)["bits"], abs=1e-6)


@pytest.mark.parametrize(
    ("family", "task", "steps"),
    [
        ("forever", "counter modulus=5", 5),
        ("forever", "tiger", 5),
        ("forever", "n-back", 6),
        ("prism", "pomdp/grid/simple/2x2/sketch.templ", 3),
        ("prism", "archive/cav23-saynt/posterior-awareness/sketch.templ", 3),
        ("pomdp", "cassandra/pomdp/tiger.95.pomdp", 4),
    ],
)
def test_first_steps_of_an_endless_task(family: str, task: str, steps: int) -> None:
    """A finite horizon that lies beyond the look-ahead asks as much of a step as none does."""
    if family != "forever" and not FOLDERS["models"]:
        pytest.skip("files of others are not shipped: set DIACRITIC_MODELS")
    row = committed(family, task)
    process = entry_of(family, task).make()
    assert isinstance(process, Process)
    bits = [step.upper for step in certify(process.model(steps + row["decision_distance"])).steps]
    assert bits[:steps] == pytest.approx(row["bits"][:steps], abs=1e-6)


@pytest.mark.parametrize(
    ("family", "task", "name", "given"),
    [
        ("mikasa", "MemoryLengthEasy-v0", "memory-chain", {"bits": 1, "delay": 10}),
        ("mikasa", "MemoryLengthMedium-v0", "memory-chain", {"bits": 1, "delay": 30}),
        ("mikasa", "T-Maze-v0", "passive-t-maze", {"L": 10}),
        ("mikasa", "T-Maze-v0 corridor_length=40", "passive-t-maze", {"L": 40}),
    ],
)
def test_stand_ins(family: str, task: str, name: str, given: dict[str, int]) -> None:
    bits = [step.upper for step in certify(build(name, **given)).steps]
    assert bits == pytest.approx(committed(family, task)["bits"], abs=1e-6)


@pytest.mark.parametrize("task", ["MortarMayhem-Grid-v0", "MortarMayhemB-Grid-v0"])
def test_live_replay(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not FOLDERS["mikasa"]:
        pytest.skip("a checkout of others is not shipped: set DIACRITIC_MIKASA")
    from certify.sources import mikasa

    monkeypatch.setattr(mikasa, "to_model", building_twin.to_model)
    bits = [step.upper for step in certify(mikasa.from_mikasa(FOLDERS["mikasa"], task), seconds=2).steps]
    assert bits == pytest.approx(committed("memory-gym", task)["bits"], abs=1e-6)


@pytest.mark.parametrize("name", ["full-reveal", "point-mass"])
def test_simulated_tasks_episode_by_episode(name: str) -> None:
    """Of episodes that differ in the expert's coins alone, those with one past show its law."""
    task = find(name)
    assert not isinstance(task, Model)
    grid = np.indices(list(task.latents.values())).reshape(len(task.latents), -1)
    latents = dict(zip(task.latents, grid, strict=True))
    shown, shown_names = task.symbolic_observations(latents)
    done, done_names = task.symbolic_actions(latents)
    given = np.array([values for key, values in latents.items() if key not in task.convention.coins])

    def law(t: int, n: int) -> dict[str, str]:
        same = (given == given[:, [n]]).all(0) & (shown[: t + 1] == shown[: t + 1, [n]]).all(0)
        acted = done[t, same & (done[:t] == done[:t, [n]]).all(0)].tolist()
        return {done_names[a]: f"{acted.count(a)}/{len(acted)}" for a in acted}

    episodes = [
        {
            "weight": f"1/{grid.shape[1]}",
            "steps": [
                {"obs": shown_names[shown[t, n]], "action_law": law(t, n), "action": done_names[done[t, n]]}
                for t in range(len(shown))
            ],
        }
        for n in range(grid.shape[1])
    ]
    bits = [step.upper for step in certify(Model.from_episodes(episodes)).steps]
    assert bits == pytest.approx(committed("simulated", name)["bits"], abs=1e-6)


def test_the_look_ahead_is_that_of_the_process() -> None:
    process = entry_of("forever", "tiger").make()
    assert isinstance(process, Process)
    from certify.stationary.observer import support_observer

    assert compatibility(support_observer(process)).lookahead == committed("forever", "tiger")["decision_distance"]
