"""Own occupancy: the expert's where the machine does as the expert does, and honest where it does not."""

from math import fsum

import numpy as np
import pytest
from certify_twin import Document, Twin, documents, loose_models
from hypothesis import given
from hypothesis import strategies as st
from rollout_twin import Reader, random_machine, recorded_loop

from certify import Model, UserError, certify
from certify.zoo import build
from diacritic.measure.own_occupancy import own_classes, own_occupancy, own_scores
from diacritic.measure.recorded import Classes, score_cohort
from diacritic.measure.scores import Requirement, scores
from diacritic.rollout.machine import CodeMachine, from_certified
from diacritic.rollout.occupancy import teacher_forced


@given(documents(), st.integers(1, 3), st.integers(0, 50))
def test_weights_are_those_of_the_played_histories(document: Document, codes: int, seed: int) -> None:
    model = Model.from_episodes(document)
    machine = random_machine(model, codes, seed, determined=0.0)  # every action may be taken
    reader = Reader(machine, model)
    _, _, levels = recorded_loop(reader, Twin(document))
    for cells, level in zip(own_occupancy(machine, model).steps, levels, strict=True):
        total = fsum(level.values())
        expected: dict[tuple[str, int], float] = {}
        for h, p in level.items():
            key = (h[-1], reader.code(h))
            expected[key] = expected.get(key, 0.0) + p / total
        weights: dict[tuple[str, int], float] = {}
        for seen, code, weight in zip(cells.observation, cells.code, cells.weight, strict=True):
            key = (model.graph.observations[int(seen)], int(code))
            weights[key] = weights.get(key, 0.0) + float(weight)
        assert weights == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["gap", "re-reveal", "three-histories", "stochastic-expert"])
def test_a_machine_that_acts_as_the_expert_meets_what_the_expert_meets(name: str) -> None:
    model = build(name)
    answer = certify(model)
    machine = from_certified(answer.machine, model)
    requirement = Requirement.stated(answer.model, [step.rate for step in answer.steps])
    for own, expert in zip(
        own_scores(machine, model, requirement), scores(teacher_forced(machine, model), requirement), strict=True
    ):
        assert own.rate == pytest.approx(expert.rate, abs=1e-12)
        assert own.requirement == pytest.approx(expert.requirement, abs=1e-9)
        assert own.sufficiency == pytest.approx(expert.sufficiency, abs=1e-9)


def test_without_classes_the_requirement_is_that_of_the_histories_met() -> None:
    for document, _ in loose_models(3, 4, histories=5):
        model = Model.from_episodes(document)
        machine = random_machine(model, 2, 1, determined=0.0)
        for score in own_scores(machine, model):
            assert score.requirement is not None
            assert score.sufficiency is None or 0 <= score.sufficiency <= 1
            if score.sufficiency is None:
                assert score.requirement < 1e-9


def test_a_machine_that_leaves_the_expert_at_once_has_no_occupancy() -> None:
    model = build("gap")
    seen, done = len(model.graph.observations), len(model.graph.actions)
    first = {int(a) for level in model.graph.levels[:1] for a in level.action}
    other = next(a for a in range(done) if a not in first)
    act = np.zeros((1, seen, done))
    act[..., other] = 1
    machine = CodeMachine(np.zeros((2, seen, done + 1), np.int64), act)
    with pytest.raises(UserError, match="step 2: no episode of the machine follows the expert"):
        own_occupancy(machine, model)


def test_rolled_out_episodes_take_the_classes_of_their_hidden_values() -> None:
    cue = np.array([0, 1, 0, 1])
    expert = Classes.of(np.stack([cue, 0 * cue + 5]), np.stack([0 * cue, 1 + cue]))
    own = np.array([1, 1, 0, 0, 1, 0])
    blank = np.zeros((2, 6), int)
    classes = own_classes(expert, {"cue": cue}, blank, {"cue": own}, ["cue"])
    assert classes.required == pytest.approx((1, 1))  # here the cue is not shown
    assert score_cohort(np.stack([own, own])[None], classes).sufficiency[0, 1] == 1
    assert score_cohort(blank[None], classes).sufficiency[0, 1] == 0
    with pytest.raises(UserError, match=r"latents: no recorded episode has {'cue': 2}"):
        own_classes(expert, {"cue": cue}, blank, {"cue": own + 1}, ["cue"])
    with pytest.raises(UserError, match=r"latents\[mass\]: is unknown"):
        own_classes(expert, {"cue": cue}, blank, {"cue": own}, ["mass"])
    with pytest.raises(UserError, match=r"symbols: shape .* expected 2 steps of 6 episodes"):
        own_classes(expert, {"cue": cue}, blank[:, :5], {"cue": own}, ["cue"])
