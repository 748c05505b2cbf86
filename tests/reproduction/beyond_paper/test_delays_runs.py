"""The measurements of long delays, small; and following a cohort."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from certify import certify
from diacritic.files.ledger import read_ledger
from diacritic.rollout.machine import CodeMachine, from_certified
from diacritic.rollout.trained_machines import machines
from diacritic.training.cohort import Cohort, Run
from diacritic.training.preset import Preset
from diacritic.training.symbolic import from_model
from reproduction.__main__ import main
from reproduction.beyond_paper import delays, delays_runs
from reproduction.beyond_paper.delays_cells import CAROUSEL, INGREDIENTS, RELEASE, chain, plan_for, without
from reproduction.beyond_paper.delays_follow import follow, gate_look, passes
from reproduction.beyond_paper.delays_usage import spread


def settings(chosen: Preset) -> dict[str, Any]:
    return {field.name: getattr(chosen, field.name) for field in fields(chosen) if field.name not in ("name", "rate")}


def test_what_is_left_out_changes_and_nothing_else() -> None:
    bare = without(" and ".join(INGREDIENTS))
    assert (bare.gradient, bare.clip, bare.restarts, bare.pressure) == ("full", None, 0, (0.0, 0.0))
    assert RELEASE.gradient == bare.gradient
    for name in INGREDIENTS:
        assert settings(without(name)) != settings(CAROUSEL)


def cohort(steps: int = 5) -> Cohort:
    bench = chain(1, 3)
    return Cohort(plan_for(bench, CAROUSEL, steps, [Run(seed) for seed in range(3)]), from_model(bench.model))


def test_the_first_look_that_passes_is_kept() -> None:
    looks = iter([[False, False, False], [True, False, False], [False, True, False]])
    seen = follow(cohort(), lambda: next(looks), every=2)
    assert seen.first == (4, 5, None)
    assert seen.first_seconds[2] is None
    first, second = seen.first_seconds[:2]
    assert first is not None
    assert second is not None
    assert 0 < first < second <= seen.seconds


def test_following_stops_once_every_run_has_passed() -> None:
    one = cohort()
    assert follow(one, lambda: [True] * 3, every=2, stop=True).first == (2, 2, 2)
    assert one.step == 2


def test_the_gate_sees_a_run_that_remembers_and_one_that_diverged() -> None:
    bench, one = chain(1, 3), cohort(300)
    one.advance(300)
    assert gate_look(bench, one)() == [True] * 3
    one.optimiser.diverged[1] = True
    assert gate_look(bench, one)() == [True, False, True]
    right = from_certified(certify(bench.model).machine, bench.model)
    assert passes(bench, right)
    assert not passes(bench, CodeMachine(np.zeros_like(right.move), right.act))


def test_codes_in_use_and_their_perplexity() -> None:
    used = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]], dtype=torch.float64)
    codes, perplexity = spread(used)
    assert codes == [2, 1, 3]
    assert perplexity == pytest.approx([2, 1, 8**0.5])


def test_a_share_of_codes_persists() -> None:
    bench, one = chain(1, 3), cohort()
    before = delays_runs.persisting(one, bench.model)
    for share, machine in zip(before, machines(one.parameters, one.plan.carrier, bench.model), strict=True):
        kept = [
            machine.move[k, o, a] == k
            for k in range(machine.codes)
            for o in range(len(bench.model.graph.observations))
            for a in range(machine.actions)
        ]
        assert share == pytest.approx(sum(kept) / len(kept))
        assert 0 < share <= 1


CASES = {
    "error-norm": ("delay=10 release", 16, "norm"),
    "code-usage": ("delay=10 without restarts and", 8, "perplexity"),
    "basin": ("0.1 0.3", 8, "persisting"),
    "left-out": ("passive-t-maze L=10 without clip", 8, "first_sufficient"),
    "release-left-out": ("passive-t-maze L=10 release-external without full", 8, "first_sufficient"),
    "release-towards-carousel": ("passive-t-maze L=10 release-external 2", 8, "first_sufficient"),
    "misleading": ("horizon=10 modulus=3 p=1 carousel", 8, "coherence"),
    "first-sufficient": ("cue-corridor L=5 R=2 end=0 β=0.01 release", 8, "first_seconds"),
}


@pytest.mark.parametrize("name", delays.MEASUREMENTS)
def test_a_measurement_leaves_a_ledger(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only, count, key = CASES[name]
    delays.run(name, tmp_path, steps=2, only=only)
    rows = read_ledger(tmp_path / f"long-delays-{name}.jsonl")
    assert len(rows) == count
    assert len({(row["cell"], row["preset"], row["seed"]) for row in rows}) == count
    assert all(row["study"] == f"long-delays-{name}" and key in row for row in rows)
    assert {row["learner"] for row in rows} == {"plain, followed"}
    assert "sufficient after" in capsys.readouterr().out


def test_no_updates_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["beyond-paper", "long-delays", "basin", "--steps", "0"]) == 2
    assert "--steps: must be at least 1" in capsys.readouterr().err
