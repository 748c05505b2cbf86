"""An update that computes the drawn episodes alone learns what one of all episodes learns, in every engine."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import lively, symbols, vectors

from diacritic.memory.shape import Architecture
from diacritic.studies.arena_run import ScoredCohort
from diacritic.training import parallel
from diacritic.training.cohort import Cohort, Plan, Run, initial_weights
from diacritic.training.data import Data
from diacritic.training.learner import learner
from diacritic.training.preset import preset

SMALL = Architecture(codes=6, code_size=4, width=8, features=4)
EPISODES = 40


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Episodes are chosen as on CUDA; the kernels of carriers take no double precision."""
    monkeypatch.setattr(parallel, "on_gpu", lambda shown: True)


def of_each_run(data: Data) -> Data:
    """Forecasts and teachers of two runs that differ."""
    targets = {name: getattr(data, name) for name in ("forecast", "pending", "teacher")}
    return replace(data, **{name: torch.cat([value, 2 - value]) for name, value in targets.items()})


def ending_early(data: Data) -> Data:
    return replace(data, mask=torch.arange(data.horizon).unsqueeze(1) <= torch.arange(data.episodes) % data.horizon)


def cohort(name: str, how: str, data: Data, engine: str = "fast") -> Cohort:
    plan = Plan(
        learner(name),
        preset(how),
        (Run(1, beta=0.1), Run(2, beta=0.2)),
        10,
        replace(SMALL, path_size=5),
        batch=12,
        engine=engine,
        precision=torch.float64,
    )
    return Cohort(plan, data, parameters=lively(initial_weights(plan, data), [1, 2]))


def assert_same_update(some: Cohort, every: Cohort) -> None:
    """`every` is told to compute all episodes."""
    assert some._slots is not None
    assert some._slots < EPISODES
    every._slots = None
    for one in (some, every):
        one.resume_at(3)
        one.update()
    torch.testing.assert_close(some.losses, every.losses, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(some.optimiser.gradient, every.optimiser.gradient, rtol=1e-10, atol=1e-12)
    assert bool((every.losses != 0).all())
    assert float(every.optimiser.gradient.abs().sum()) > 0
    if some.last_batch is not None and every.last_batch is not None:
        for name, usage in every.last_batch.usage.items():
            torch.testing.assert_close(some.last_batch.usage[name], usage, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "how", "engine"),
    [
        ("plain", "carousel", "parallel"),
        ("plain", "release", "unrolled"),
        ("plain", "carousel", "reference"),
        ("plain+bfs", "carousel", "parallel"),
        ("plain+bfs", "release", "unrolled"),
        ("scaffold", "release", "unrolled"),
        *[
            (name, how, engine)
            for name in ("matched", "hierarchical", "intent", "intent+task-informed", "matched+task-informed")
            for how, engine in (("carousel", "parallel"), ("release", "unrolled"))
        ],
        ("hierarchical+task-informed", "carousel", "parallel"),
        *[
            (name, how, engine)
            for name in ("dual", "dual-detached")
            for how, engine in (("carousel", "parallel"), ("carousel", "reference"), ("release", "reference"))
        ],
        ("gaussian", "carousel", "reference"),
        ("gaussian", "release", "reference"),
        ("full-history", "release", "reference"),
        ("full-history", "carousel", "reference"),
        ("teacher-state", "carousel", "parallel"),
        ("teacher-state", "release", "unrolled"),
        ("event-agnostic-all", "carousel", "parallel"),
        ("event-agnostic-all", "release", "unrolled"),
        ("event-agnostic", "release", "unrolled"),
        ("sysid", "carousel", "parallel"),
        ("sysid", "release", "unrolled"),
        ("inverse+imitation", "release", "unrolled"),
        ("open-loop-world", "carousel", "parallel"),
        ("join", "release", "unrolled"),
        ("gru-8", "carousel", "reference"),
        ("gru-code", "carousel", "reference"),
        ("frames-4", "carousel", "reference"),
        ("lru", "carousel", "reference"),
        ("transformer", "carousel", "reference"),
    ],
)
def test_a_learner_learns_the_same(name: str, how: str, engine: str) -> None:
    data = of_each_run(vectors(4, EPISODES))
    given = "reference" if engine == "reference" else "fast"
    some, every = (cohort(name, how, data, given) for _ in range(2))
    assert some.engine == engine
    assert_same_update(some, every)


@pytest.mark.parametrize(("name", "how"), [("plain", "carousel"), ("sysid", "release"), ("dual", "carousel")])
def test_episodes_may_end_early(name: str, how: str) -> None:
    data = ending_early(vectors(4, EPISODES))
    some, every = (cohort(name, how, data) for _ in range(2))
    assert_same_update(some, every)


def test_symbols_are_drawn_too() -> None:
    some, every = (cohort("matched", "carousel", symbols(4, EPISODES)) for _ in range(2))
    assert_same_update(some, every)


@pytest.mark.parametrize(("name", "how"), [("gaussian", "carousel"), ("full-history", "release"), ("dual", "carousel")])
def test_restarts_and_measures_see_all_episodes(name: str, how: str) -> None:
    one = cohort(name, how, vectors(4, EPISODES))
    assert one.trace(one.episode_weight()).rows.drawn is not None
    trace = one.trace()
    assert trace.rows.drawn is None
    assert trace.rows.episodes == EPISODES


def test_a_score_looks_at_every_history() -> None:
    plan = cohort("gru-8", "carousel", symbols(4, EPISODES)).plan
    scored = ScoredCohort(plan, symbols(4, EPISODES))
    assert scored.trace(scored.episode_weight()).rows.episodes == EPISODES


def test_context_tables_have_all_episodes_at_once() -> None:
    assert cohort("plain", "carousel", symbols(4, EPISODES))._slots is None
