"""Windows of labels: their error holds on every history, and what they call a conflict is one."""

import pytest
from hypothesis import given
from hypothesis.strategies import booleans, integers
from stationary_twin import follow, histories, law_of, pair_conflicts, random_process

from certify.stationary import answer as answers
from certify.stationary.answer import Effort, certify_forever
from certify.stationary.observer import TooMany
from certify.stationary.posteriors import posterior_observer
from certify.stationary.process import Process
from certify.stationary.windows import Windows, sure_conflicts, window_observer
from certify.stationary.zoo import build

FEW = Effort(posteriors=300, window=2, horizon=0, steps=1, seconds=0.0)


@given(seed=integers(0, 10**9), k=integers(0, 2), supports=booleans())
def test_no_history_is_further_from_the_law_than_the_error(seed: int, k: int, supports: bool):
    process = random_process(seed, privileged=True)
    windows = window_observer(process, k, supports=supports)
    observer = windows.observer
    for history, alpha in histories(process, 4):
        node = follow(observer, history)
        played = {observer.actions[a]: p for a, p in observer.laws[observer.law[node]]}
        true = law_of(process, alpha)
        apart = sum(abs(played.get(a, 0) - true.get(a, 0)) for a in {*played, *true}) / 2
        assert apart <= windows.error, history
        for action in range(len(observer.actions)):
            name = observer.actions[action]
            assert windows.low[node].get(action, 0) <= true.get(name, 0) <= windows.high[node].get(action, 0)


@given(seed=integers(0, 10**9), k=integers(0, 2), supports=booleans())
def test_sure_conflicts_are_conflicts(seed: int, k: int, supports: bool):
    process = random_process(seed, privileged=True)
    try:
        exact = posterior_observer(process, 60)
    except TooMany:
        return
    windows = window_observer(process, k, supports=supports)
    sure, true = sure_conflicts(windows), pair_conflicts(exact)
    nodes = {(follow(windows.observer, h), follow(exact, h)) for h, _ in histories(process, 4)}
    assert all((a, b) in true for i, a in nodes for j, b in nodes if sure[i, j])


def test_forgetting_what_was_possible_makes_fewer_nodes():
    fewer = 0
    for seed in range(80):
        process = random_process(seed, privileged=True)
        fine, coarse = (window_observer(process, 1, supports=supports) for supports in (True, False))
        assert coarse.observer.size <= fine.observer.size
        fewer += coarse.observer.size < fine.observer.size
    assert fewer > 20


def test_too_many_supports_still_give_a_bracket(monkeypatch: pytest.MonkeyPatch):
    process = build("noisy-cue")
    usual = certify_forever(process, FEW)

    def without(process: Process, k: int, supports: bool = True) -> Windows:
        if supports:
            raise TooMany("more than 0 window nodes")
        return window_observer(process, k, supports=False)

    monkeypatch.setattr(answers, "window_observer", without)
    answer = certify_forever(process, FEW)
    assert answer.regime == usual.regime == 3
    assert answer.windows is not None
    assert not answer.windows.supports
    assert answer.to_dict()["lower"] <= answer.to_dict()["upper"]


def test_a_search_that_costs_too_much_ends():
    process = build("noisy-cue")
    with pytest.raises(TooMany, match="products of weights"):
        posterior_observer(process, work=20)
    with pytest.raises(TooMany, match="products of weights"):
        window_observer(process, 3, work=20)


def test_floors_stay_below_the_exact_bits():
    """Posteriors that repeat, asked as if they did not."""
    compared = 0
    for seed in range(400):
        process = random_process(seed, privileged=True)
        exact = certify_forever(process, FEW)
        rough = certify_forever(process, Effort(posteriors=1, window=1, horizon=0, steps=1, seconds=0.0))
        if exact.regime == 2 and not rough.exact and exact.rates is not None and rough.floor is not None:
            compared += 1
            assert rough.floor.bits <= exact.rates.mean.upper.bits + 1e-12
    assert compared > 10
