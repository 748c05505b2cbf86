"""Recorded episodes: exact counts, padding, laws from the log or an oracle, and a place for every fault."""

import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certify import Model, UserError, certify
from certify.sources.adapter import END, History, Law
from certify.sources.recordings import Recording, from_recordings
from certify.zoo import build, instances

Pairs = list[tuple[str, str]]
LISTED = [item.name for item in instances() if item.make().episodes is not None]
STEPS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy")), min_size=1, max_size=4)


def written(model: Model) -> Iterator[tuple[int, Pairs, list[Law]]]:
    """Every episode of a model as a recorder would log it, with its integer weight."""
    e = model.episodes
    assert e is not None
    for k, weight in enumerate(e.weight):
        steps = [(e.observations[o], e.actions[a]) for o, a in zip(e.observation[k], e.action[k], strict=True)]
        yield int(weight), steps, [{e.actions[a]: p for a, p in e.laws.table[law]} for law in e.law[k]]


def recorded(recording: Recording) -> Counter[tuple[tuple[str, str], ...]]:
    """The trajectories of a recording, counted."""
    counts: Counter[tuple[tuple[str, str], ...]] = Counter()
    for weight, steps, _ in written(recording.model):
        counts[tuple(steps)] += weight
    return counts


def rates(model: Model) -> list[float]:
    return [step.upper for step in certify(model).steps]


def fork(*cues: int) -> list[Pairs]:
    return [[(f"cue {c}", "wait"), ("hall", "wait"), ("fork", ["left", "right"][c])] for c in cues]


# ---- what was recorded is what is certified


@settings(max_examples=30)
@given(st.sampled_from(LISTED), st.integers(1, 3), st.randoms(use_true_random=False))
def test_recording_a_model_in_proportion_gives_the_model(name: str, times: int, order: random.Random):
    model = build(name)
    log = [(steps, laws) for weight, steps, laws in written(model) for _ in range(weight * times)]
    order.shuffle(log)
    recording = from_recordings([steps for steps, _ in log], laws=[laws for _, laws in log])
    assert rates(recording.model) == rates(model)
    assert [floor.upper for floor in recording.floors] == rates(model)
    assert sum(recording.counts) == len(log)
    stochastic = any(len(law) > 1 for laws in (laws for _, _, laws in written(model)) for law in laws)
    assert recording.episodes.empirical == stochastic
    assert (recording.model.digest == model.digest) == (not stochastic)


@given(st.lists(STEPS, min_size=1, max_size=8))
def test_a_deterministic_expert_is_believed_until_two_episodes_contradict_each_other(log: list[Pairs]):
    longest = max(map(len, log))
    padded = [steps + [(END, END)] * (longest - len(steps)) for steps in log]
    contradicting = {
        (j, k, t)
        for (j, one), (k, two) in combinations(enumerate(padded), 2)
        for t in range(longest)
        if one[:t] == two[:t] and one[t][0] == two[t][0] and one[t][1] != two[t][1]
    }
    if contradicting:
        with pytest.raises(UserError, match=r"stochastic expert or \(A2\) failure") as caught:
            from_recordings(log)
        assert any(
            caught.value.where == f"episodes[{k}].steps[{t}]"
            and f" {padded[k][t][0]} episode {j} takes {padded[j][t][1]} and episode {k} takes" in caught.value.reason
            for j, k, t in contradicting
        )
        return
    recording = from_recordings(log)
    assert recorded(recording) == Counter(map(tuple, padded))
    document = {
        "horizon": longest,
        "episodes": [
            {
                "weight": Fraction(1, len(log)),
                "steps": [{"obs": o, "action_law": {a: 1}, "action": a} for o, a in steps],
            }
            for steps in padded
        ],
    }
    assert recording.model.digest == Model.from_episodes(document).digest


def test_a_contradiction_is_told_with_its_history_and_both_episodes():
    log = [*fork(0, 1), [("cue 0", "wait"), ("hall", "wait"), ("fork", "right")]]
    with pytest.raises(UserError) as caught:
        from_recordings(log)
    assert str(caught.value) == (
        "episodes[2].steps[2]: stochastic expert or (A2) failure: after cue 0 -wait-> hall -wait-> fork "
        "episode 0 takes left and episode 2 takes right; log the laws or give an oracle"
    )


def test_a_long_contradiction_stays_one_short_line():
    log = [[("o\n", "a")] * 50 + [("o\n", last)] for last in "ab"]
    with pytest.raises(UserError) as caught:
        from_recordings(log)
    assert "after … 'o\\n' -a-> 'o\\n'" in caught.value.reason
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "log",
    [
        [[(0, 1), (2, 3)], [(1, 1), (2, 4)]],
        np.array([[[0, 1], [2, 3]], [[1, 1], [2, 4]]]),
        np.array([[[0, 1], [2, 3]], [[1, 1], [2, 4]]], np.float32),
        [{"observations": np.array([0, 2]), "actions": [1, 3]}, {"observations": (1, 2), "actions": np.array([1, 4])}],
        (zip(o, a, strict=True) for o, a in (((0, 2), (1, 3)), ((1, 2), (1, 4)))),
    ],
    ids=["pairs", "array", "floats", "mappings", "iterators"],
)
def test_every_way_to_write_an_episode_says_the_same(log: Any):
    recording = from_recordings(log)
    assert recorded(recording) == {(("0", "1"), ("2", "3")): 1, (("1", "1"), ("2", "4")): 1}


def test_raw_observations_go_through_the_symboliser():
    log = [[(np.array([x, 0.5]), 0), (np.array([0.1, 0.5]), int(x > 0))] for x in (-0.3, -0.2, 0.7)]
    recording = from_recordings(
        log, symbol=lambda raw: "negative" if raw[0] < 0 else "positive", action="AB".__getitem__
    )
    negative, positive = (("negative", "A"), ("positive", "A")), (("positive", "A"), ("positive", "B"))
    assert recorded(recording) == {negative: 2, positive: 1}


# ---- padding


def test_short_episodes_are_padded_with_end():
    recording = from_recordings([[("a", "go"), ("b", "stop")], [("c", "stop")]])
    assert recorded(recording) == {(("a", "go"), ("b", "stop")): 1, (("c", "stop"), (END, END)): 1}


def test_padding_is_refused_where_it_would_be_taken_for_a_recorded_symbol():
    with pytest.raises(UserError, match=r"episodes\[0\].steps\[1\]: .* kept for padding; rename it"):
        from_recordings([[("a", "go"), (END, "stop")], [("c", "stop")]])
    with pytest.raises(UserError, match=r"episodes\[0\].steps\[2\]: .* kept for padding; rename it"):
        from_recordings([[("a", "go"), (END, END), ("b", "go")], [("c", "stop")]])
    assert from_recordings([[("a", "go"), (END, "stop")]]).counts == (1,)
    assert from_recordings([[("a", "go"), (END, END)], [("a", "go")]]).counts == (2,)


# ---- laws


def test_an_oracle_is_asked_once_for_each_history_and_says_what_the_log_says():
    model = build("stochastic-expert")
    log = [(steps, laws) for weight, steps, laws in written(model) for _ in range(weight)]
    laws: dict[History, Law] = {}
    for steps, given_laws in log:
        for t, law in enumerate(given_laws):
            laws[*(word for step in steps[:t] for word in step), steps[t][0]] = law
    asked: list[History] = []

    def oracle(history: History) -> Law:
        asked.append(history)
        return laws[history]

    recording = from_recordings([steps for steps, _ in log], oracle=oracle)
    assert sorted(asked) == sorted(laws)
    assert recording.model.digest == from_recordings([s for s, _ in log], laws=[w for _, w in log]).model.digest
    assert rates(recording.model) == rates(model)


def test_a_history_holds_the_actions_too():
    def oracle(history: History) -> Law:
        return {"x": "1/2", "y": "1/2"} if len(history) == 1 else history[1]  # what was tossed is said again

    recording = from_recordings([[("toss", a), ("say", a)] for a in "xy"], oracle=oracle)
    assert rates(recording.model) == [0, 1]


def test_padded_steps_need_no_logged_law():
    log: list[Pairs] = [[("a", "go"), ("b", "stop")], [("c", "stop")]]
    laws: list[list[Law]] = [["go", "stop"], ["stop"]]
    assert from_recordings(log, laws=laws).model.digest == from_recordings(log).model.digest


def test_an_oracle_is_not_asked_about_padding():
    recording = from_recordings(
        [[("a", "go"), ("b", "stop")], [("c", "stop")]],
        oracle=lambda history: {"a": "go", "b": "stop", "c": "stop"}[history[-1]],
    )
    assert recorded(recording)[(("c", "stop"), (END, END))] == 1


def test_draws_need_not_match_the_laws_and_frequencies_never_replace_them():
    law: Law = {"left": "1/2", "right": "1/2"}
    draws = ["left", "left", "left", "right"]
    recording = from_recordings([[("o", d), ("p", "wait")] for d in draws], laws=[[law, "wait"]] * 4)
    graph = recording.model.graph
    assert graph.law_text(int(graph.levels[0].law[0])) == "left 1/2, right 1/2"
    assert recording.episodes.empirical


def test_logged_laws_that_differ_after_one_history_are_an_a2_failure():
    recording = from_recordings([[("o", "x")], [("o", "y")]], laws=[["x"], ["y"]])
    assert [step.a2 for step in certify(recording.model).steps] == [False]
    assert "(A2) fails at step 1" in recording.report(resamples=5)


@pytest.mark.parametrize(
    ("laws", "complaint"),
    [
        ([["wait"]], r"laws: 1 entries for 2 episodes"),
        ([["wait"], ["wait", "wait"]], r"laws\[1\]: 2 laws, but the episode has 1 steps"),
        ([["wait"], [{"wait": 0.5, "go": 0.5}]], r"laws\[1\]\[0\]\[.wait.\]: .*not exact"),
        ([["wait"], [{"wait": "1/2"}]], r"laws\[1\]\[0\]: the probabilities sum to 1/2, not to 1"),
        ([["wait"], [{"wait": 2, "go": -1}]], r"laws\[1\]\[0\]\[.go.\]: the probability -1 is negative"),
        ([["wait"], [{"go": 1, "wait": 0}]], r"episodes\[1\].steps\[0\].action: wait is outside .* \(go\)"),
        ([["wait"], [{0: 1}]], r"laws\[1\]\[0\]: expected the name of an action"),
        ([["wait"], [[1, 0]]], r"laws\[1\]\[0\]: expected the name of an action"),
    ],
)
def test_a_wrong_law_is_refused_with_its_place(laws: Any, complaint: str):
    with pytest.raises(UserError, match=complaint):
        from_recordings([[("o", "wait")], [("p", "wait")]], laws=laws)


def test_a_wrong_oracle_is_refused_with_its_place():
    with pytest.raises(UserError, match=r"the oracle at episodes\[0\].steps\[0\]: expected the name"):
        from_recordings([[("o", "wait")]], oracle=cast(Any, lambda history: 3))
    with pytest.raises(UserError, match=r"episodes\[0\].steps\[0\].action: wait is outside"):
        from_recordings([[("o", "wait")]], oracle=lambda history: "go")
    with pytest.raises(UserError, match="both logged laws and an oracle"):
        from_recordings([[("o", "wait")]], laws=[["wait"]], oracle=lambda history: "go")


# ---- bad recordings


@pytest.mark.parametrize(
    ("log", "complaint"),
    [
        ([], r"episodes: the dataset is empty"),
        (None, r"episodes: expected a list of episodes, not None"),
        ({"observations": [1], "actions": [2]}, r"episodes: expected a list of episodes"),
        (np.array(3), r"episodes: expected a list of episodes"),
        ([[("o", "a")], []], r"episodes\[1\]: the episode has no steps"),
        ([[("o", "a")], None], r"episodes\[1\]: expected a sequence of pairs"),
        (["text"], r"episodes\[0\]: expected a sequence of pairs"),
        ([[("o", "a"), None]], r"episodes\[0\].steps\[1\]: the step is missing"),
        ([[("o", "a"), ("o", None)]], r"episodes\[0\].steps\[1\].action: the value is missing"),
        ([[(None, "a")]], r"episodes\[0\].steps\[0\].obs: the value is missing"),
        ([[({"image": [1, None]}, "a")]], r"episodes\[0\].steps\[0\].obs: the value is missing"),
        ([[(np.ma.masked, "a")]], r"episodes\[0\].steps\[0\].obs: the value is missing"),
        ([[("o", "a"), "oa"]], r"episodes\[0\].steps\[1\]: expected a pair .*, not 'oa'"),
        ([[("o", "a", "r")]], r"episodes\[0\].steps\[0\]: expected a pair"),
        (np.array([[1, 2], [3, 4]]), r"episodes\[0\].steps\[0\]: expected a pair"),
        ([[(0.0, "a"), (float("nan"), "a")]], r"episodes\[0\].steps\[1\].obs: the value is NaN"),
        ([[(np.array([[0.0, np.nan]]), "a")]], r"episodes\[0\].steps\[0\].obs: the value holds NaN"),
        ([[((1, {"x": np.float32("nan")}), "a")]], r"episodes\[0\].steps\[0\].obs: the value holds NaN"),
        ([[(np.array([1, np.nan], object), "a")]], r"episodes\[0\].steps\[0\].obs: the value is NaN"),
        ([[(np.datetime64("NaT"), "a")]], r"episodes\[0\].steps\[0\].obs: the value holds NaN"),
        (np.array([[[0, 1], [np.nan, 3]]]), r"episodes\[0\].steps\[1\].obs: the value is NaN"),
        ([[(object(), "a")]], r"episodes\[0\].steps\[0\].obs: .* is not a lasting name; give a symboliser"),
        ([[("\ud800", "a")]], r"episodes\[0\].steps\[0\].obs: .* is not a lasting name"),
        ([{"observations": [1, 2], "actions": [1]}], r"episodes\[0\]: 2 observations, but 1 actions; .* drop"),
        ([{"observations": [1]}], r"episodes\[0\].actions: expected one entry a step, not None"),
        ([{"observations": {"x": [1]}, "actions": [1]}], r"episodes\[0\].observations: expected one entry a step"),
    ],
)
def test_a_bad_recording_is_refused_in_one_line_with_its_place(log: Any, complaint: str):
    with pytest.raises(UserError, match=complaint) as caught:
        from_recordings(log)
    assert len(str(caught.value).splitlines()) == 1


def test_a_symboliser_must_give_text():
    with pytest.raises(UserError, match=r"episodes\[0\].steps\[0\].obs: the symboliser gives 3; a symbol is text"):
        from_recordings([[(3, "a")]], symbol=lambda raw: raw)
    with pytest.raises(UserError, match=r"episodes\[0\].steps\[0\].action: the symboliser gives None"):
        from_recordings([[(3, "a")]], action=cast(Any, lambda raw: None))


def test_latents_must_be_given_for_every_episode():
    with pytest.raises(UserError, match="latents: 1 entries for 2 episodes"):
        from_recordings(fork(0, 1), latents=[0])
    with pytest.raises(UserError, match=r"latents\[1\]: None is not a configuration"):
        from_recordings(fork(0, 1), latents=[0, None])
    with pytest.raises(UserError, match=r"latents\[0\]: .* is not a configuration"):
        from_recordings(fork(0), latents=[{"cue": 0}])
