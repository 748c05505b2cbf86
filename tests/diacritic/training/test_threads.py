"""Small updates take one thread, large ones all that are allowed; what was allowed is restored."""

import pytest
import torch
from carrier_twin import symbols, vectors

from diacritic.memory.shape import Architecture
from diacritic.training import cohort as cohort_module
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.data import Data
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.threads import WORTHWHILE, threads, threads_for


def test_threads_by_the_size_of_the_work() -> None:
    assert threads(WORTHWHILE - 1, 8) == 1
    assert threads(WORTHWHILE, 8) == 8
    assert threads(WORTHWHILE, 1) == 1


def test_the_number_of_threads_is_restored_also_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = [4]
    monkeypatch.setattr(torch, "get_num_threads", lambda: allowed[0])
    monkeypatch.setattr(torch, "set_num_threads", lambda count: allowed.__setitem__(0, count))
    seen = []

    def fail() -> None:
        with threads_for(10):
            seen.extend(allowed)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert seen == [1]
    assert allowed == [4]
    with threads_for(WORTHWHILE):
        assert allowed == [4]


@pytest.mark.parametrize(("data", "rows"), [(vectors(5, 4), 20), (symbols(5, 4), 20)])
def test_a_cohort_says_how_large_its_updates_are(data: Data, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(learner("plain"), preset("carousel"), (Run(1), Run(2)), 4, Architecture(50, 4, 8))
    cohort = Cohort(plan, data)
    assert cohort.numbers == 2 * rows * 8
    asked = []
    monkeypatch.setattr(cohort_module, "threads_for", lambda numbers: asked.append(numbers) or threads_for(numbers))
    cohort.advance(2)
    assert asked == [cohort.numbers]
