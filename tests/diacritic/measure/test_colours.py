"""The colouring score of recorded episodes against that of a machine's exact occupancy."""

import numpy as np
import pytest
from certify_twin import loose_models
from rollout_twin import random_machine

from certify import Model
from diacritic.measure.colours import uncoloured, whole_numbers
from diacritic.measure.plugin import joint
from diacritic.measure.scores import Requirement, scores
from diacritic.rollout.occupancy import teacher_forced


@pytest.mark.parametrize("seed", range(4))
def test_counted_histories_need_what_weighted_ones_need(seed: int) -> None:
    for document, _ in loose_models(seed, 3, histories=6):
        model = Model.from_episodes(document)
        requirement, occupancy = Requirement.of(model), teacher_forced(random_machine(model, 2, seed), model)
        found = zip(
            model.graph.levels, requirement.relations, occupancy.steps, scores(occupancy, requirement), strict=True
        )
        for level, relation, cells, score in found:
            kind, cell = relation.kind[cells.node], joint(cells.observation, cells.code)
            times = level.mass[cells.node].astype(np.int64)
            expected = uncoloured(relation, kind, cell, masses=times)
            rounded = uncoloured(relation, kind, cell, masses=whole_numbers(cells.weight))
            assert rounded == pytest.approx(expected, abs=1e-9)
            if score.sufficiency is not None and score.requirement is not None:
                assert score.sufficiency == pytest.approx(1 - expected / score.requirement, abs=1e-9)
            if times.sum() < 5000:
                repeated = uncoloured(relation, np.repeat(kind, times), np.repeat(cell, times))
                assert repeated == pytest.approx(expected, abs=1e-12)
