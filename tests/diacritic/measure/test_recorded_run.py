"""Runs on recordings are judged on what they did not learn from; a readout's gate gives way to behaviour."""

from dataclasses import replace
from pathlib import Path

import pytest
from expert_carrier import short_task
from measure_twin import store_run

from certify.errors import UserError
from diacritic.demos.record import record
from diacritic.files.demos import Demos
from diacritic.measure import interventions_recorded
from diacritic.measure.recorded_run import Effort, examine_recorded, learned_from
from diacritic.memory.layers import dense
from diacritic.rollout.run_loading import groups

NOTHING_PLAYED = Effort(episodes=0, interventions=0)


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The carrier by hand is wide and slow."""
    monkeypatch.setattr(interventions_recorded, "PAIRS", 48)


@pytest.fixture(scope="module")
def demos() -> Demos:
    return record(short_task(), 48, seed=4)[0]


def test_learned_episodes_are_left_out_and_fresh_ones_are_not(demos: Demos, tmp_path: Path) -> None:
    (group,) = groups([store_run(tmp_path / "run", demos, 16)])
    assert learned_from(group.runs[0], demos) == 16
    fresh = demos.take(slice(0, 24))  # another digest
    assert learned_from(group.runs[0], fresh) == 0
    leaky = {"checks": {"leaks": {"passed": False, "text": "71 of 72 cells as expected\nmore"}}}
    again = record(short_task(), 24, seed=5)[0]
    (verdict,) = examine_recorded(group, replace(fresh, acceptance=leaky), NOTHING_PLAYED, fresh=again)
    assert verdict.subject.occupancy == "codes on 24 fresh episodes, expert occupancy"
    assert verdict.sufficient.answer == "yes"
    (twice,) = (control for control in verdict.controls if control.name == "fresh recording")
    assert (twice.passed, twice.data) == (True, {"first": True, "second": True})
    assert twice.text.startswith("on 24 fresh episodes the gate passes; least score moves by 0.000, rates by at most")
    with pytest.raises(UserError, match="--fresh: is the recording of --task itself"):
        examine_recorded(group, fresh, NOTHING_PLAYED, fresh=fresh)
    assert verdict.sole.answer == "no"
    assert verdict.sole.because == "raw observations: leak probes of the recording: 71 of 72 cells as expected"


def test_a_readout_is_judged_by_its_behaviour(demos: Demos, tmp_path: Path) -> None:
    """A continuous path that adds nothing: the same actions, another verdict on what carries them."""
    (group,) = groups([store_run(tmp_path / "run", demos, 16)])
    run = group.runs[0]
    bypass = replace(run, architecture=replace(run.architecture, path="bypass"), weights=_bypassed(run.weights))
    (verdict,) = examine_recorded(replace(group, runs=(bypass,)), demos, NOTHING_PLAYED)
    assert verdict.sufficient.because == "passes the behavioural gate; least score 1.000"
    assert verdict.surplus.because == "the code is not all that persists; a rate of it is refused"
    assert verdict.sole.because == "construction: a continuous state persists beside the code"


def _bypassed(weights: dict) -> dict:
    """A continuous path whose weights are all zero."""
    d, width = weights["codebook"].shape[1], weights["residual.out.weight"].shape[0]
    path = (
        dense("path.input", 2 * width, 3 * width) | dense("path.state", width, 3 * width) | dense("path.out", width, d)
    )
    empty = {name: weights["codebook"].new_zeros(weight.shape) for name, weight in path.items()}
    return {**weights, **empty}
