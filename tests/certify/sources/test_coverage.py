"""Coverage and bootstrap: counted by hand, and against a bootstrap that records every resample from scratch."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import isclose, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certify import UserError, certify
from certify.sources import coverage
from certify.sources.adapter import Law
from certify.sources.coverage import Interval
from certify.sources.recordings import from_recordings

Pairs = list[tuple[str, str]]


def two_cues(cues: tuple[int, ...]) -> Pairs:
    """Two cues, then a decision on each."""
    first, second = cues
    shown = [(f"cue {first}", "wait"), (f"cue {second}", "wait")]
    return [*shown, ("decide", f"go {first}"), ("decide", f"go {second}")]


# ---- coverage


def test_a_latent_that_was_dropped_is_seen_to_be_missing():
    full = list(product(range(2), repeat=2))
    seen = [(0, 0)] * 3 + [(0, 1)] * 2 + [(1, 0)]
    coverage = from_recordings([two_cues(c) for c in seen], latents=seen).coverage(full)
    assert coverage.unit == "latent configurations"
    assert coverage.counts == {(0, 0): 3, (0, 1): 2, (1, 0): 1}
    assert coverage.unseen == ((1, 1),)
    assert coverage.missing_mass == Fraction(1, 6)
    assert coverage.lines() == [
        "coverage: 3 of 4 latent configurations in 6 episodes; "
        "missing mass 1/6 (Good–Turing: the chance that the next one is new)",
        "never recorded: (1, 1)",
    ]


def test_without_latents_trajectories_are_counted():
    recording = from_recordings([two_cues(c) for c in [(0, 0), (0, 1), (0, 0), (1, 1)]])
    coverage = recording.coverage()
    assert (coverage.unit, list(coverage.counts.values()), coverage.unseen) == (
        "different trajectories",
        [2, 1, 1],
        None,
    )
    assert (coverage.episodes, coverage.missing_mass) == (4, Fraction(1, 2))
    with pytest.raises(UserError, match="latents: none were recorded"):
        recording.coverage([(0, 0)])


def test_arrays_lists_and_tuples_name_the_same_latent():
    latents = np.array([[0, 1], [1, 0]])
    coverage = from_recordings([two_cues((0, 1)), two_cues((1, 0))], latents=latents).coverage([(0, 1), [1, 0], (1, 1)])
    assert coverage.counts == {(0, 1): 1, (1, 0): 1}
    assert coverage.unseen == ((1, 1),)
    with pytest.raises(UserError, match=r"the recorded configuration \(1, 0\) is not in the full set"):
        from_recordings([two_cues((0, 1)), two_cues((1, 0))], latents=latents).coverage([(0, 1)])


def test_many_unseen_latents_are_not_all_named():
    lines = from_recordings([two_cues((0, 0))], latents=[0]).coverage(range(100)).lines()
    assert lines[1] == "never recorded: 1, 2, 3, 4, 5, 6, 7, 8, …"


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=12))
def test_missing_mass_is_the_share_of_what_was_seen_once(latents: list[str]):
    coverage = from_recordings([[("o", "x")] for _ in latents], latents=latents).coverage()
    assert coverage.missing_mass == Fraction(len([x for x in latents if latents.count(x) == 1]), len(latents))
    assert coverage.episodes == len(latents)


def test_actions_that_a_law_allows_and_nobody_took_are_counted():
    law: Law = {"left": "1/2", "right": "1/4", "wait": "1/4"}
    recording = from_recordings(
        [[("o", "left"), ("p", "left")], [("o", "right"), ("p", "left")]], laws=[[law, law]] * 2
    )
    assert recording.coverage().undrawn == 1  # wait at the first step; nothing follows the last
    assert "nobody took: 1" in recording.coverage().lines()[-1]


# ---- bootstrap


def recorded_again(log: list[Pairs], resamples: int, seed: int) -> list[Interval]:
    """The bootstrap by its definition: every resample is recorded and certified as if it were all there is."""
    order = {tuple(steps): k for k, steps in enumerate(dict.fromkeys(map(tuple, log)))}
    inner = sorted(log, key=lambda steps: order[tuple(steps)])  # equal episodes side by side, in order of appearance
    draw = np.random.default_rng(seed)
    actual = []
    for _ in range(resamples):
        drawn = [inner[k] for k in draw.integers(0, len(log), len(log))]
        actual.append([step.upper for step in certify(from_recordings(drawn).model).steps])
    low, high = np.quantile(actual, [0.025, 0.975], axis=0)
    return [Interval(*ends) for ends in zip(low.tolist(), high.tolist(), strict=True)]


@settings(max_examples=8)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=8), st.integers(0, 100))
def test_small_recordings_are_resampled_and_certified_again(cues: list[tuple[int, int]], seed: int):
    log = [two_cues(c) for c in cues]
    recording = from_recordings(log)
    assert recording.small
    for ours, theirs in zip(recording.bootstrap(12, seed), recorded_again(log, 12, seed), strict=True):
        assert isclose(ours.low, theirs.low, abs_tol=1e-12)
        assert isclose(ours.high, theirs.high, abs_tol=1e-12)


@settings(max_examples=20)
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=9), st.integers(0, 100))
def test_large_recordings_keep_their_cells(cues: list[str], seed: int):
    recording = from_recordings([[(cue, "wait"), ("fork", cue)] for cue in cues])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "MOST_HISTORIES", 0)
        assert not recording.small
        first, second = recording.bootstrap(15, seed)
    inner = sorted(cues, key=cues.index)
    draw = np.random.default_rng(seed)
    entropies = []
    for _ in range(15):
        counts = Counter(inner[k] for k in draw.integers(0, len(cues), len(cues)))
        entropies.append(sum(n / len(cues) * log2(len(cues) / n) for n in counts.values()))
    assert first == (0, 0)
    assert np.allclose(second, np.quantile(entropies, [0.025, 0.975]), atol=1e-12)


def test_kept_cells_follow_the_actions():
    law: Law = {"x": "1/2", "y": "1/2"}
    log, laws = [[("toss", a), ("say", a)] for a in "xxxxyyyy"], [[law, a] for a in "xxxxyyyy"]
    recording = from_recordings(log, laws=laws)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "MOST_HISTORIES", 0)
        kept = recording.bootstrap(15)
    again = from_recordings(log, laws=laws)
    assert again.small
    assert np.allclose(list(map(list, kept)), list(map(list, again.bootstrap(15))), atol=1e-12)
    assert kept[1].low > 0.3


def test_hard_colourings_are_not_repeated():
    draw = np.random.default_rng(0)
    shown = draw.integers(0, 2, (100, 8))  # too few episodes to compare histories, so ~ is far from transitive
    log = [[*((str(o), "wait") for o in row[:-1]), (str(row[-1]), f"go {row[0]}")] for row in shown]
    recording = from_recordings(log)
    assert sum(level.size for level in recording.model.graph.levels) <= coverage.MOST_HISTORIES
    assert not recording.small
    for floor, interval in zip(recording.floors, recording.bootstrap(40), strict=True):
        assert interval.low <= floor.upper
        assert interval.high >= 0.9 * floor.upper


def test_one_trajectory_has_no_spread_and_a_seed_fixes_the_rest():
    assert set(from_recordings([two_cues((0, 1))] * 5).bootstrap(20)) == {(0, 0)}
    recording = from_recordings([two_cues(c) for c in product(range(2), repeat=2)] * 2)
    assert recording.bootstrap(20, seed=1) == recording.bootstrap(20, seed=1) != recording.bootstrap(20, seed=2)
    assert all(low < high <= 2 for low, high in recording.bootstrap(20)[1:3])


def test_resampling_leaves_the_model_alone():
    laws: list[list[Law]] = [["x", "x"], ["y", "x"], [{"x": "1/2", "y": "1/2"}, "x"]]
    recording = from_recordings([[("o", a), ("p", "x")] for a in "xyx"], laws=laws)
    table = list(recording.episodes.laws.table)
    recording.bootstrap(20)
    assert recording.episodes.laws.table == table


def test_at_least_one_resample():
    with pytest.raises(UserError, match="resamples: expected at least one resample, not 0"):
        from_recordings([two_cues((0, 0))]).bootstrap(0)


# ---- the report


def test_the_report_has_an_interval_beside_every_rate():
    seen = [(0, 0)] * 4 + [(1, 1)] * 4
    recording = from_recordings([two_cues(c) for c in seen], latents=seen, name="two cues")
    text = recording.report(latents=product(range(2), repeat=2), resamples=50)
    intervals = recording.bootstrap(50)
    assert text.splitlines() == [
        "two cues: 8 episodes, 2 of them different, 4 steps",
        "t  rate  95 % interval",
        "1     0         [0, 0]",
        "2     0         [0, 0]",
        f"3     1    [{intervals[2].low:.4f}, 1]",
        f"4     1    [{intervals[3].low:.4f}, 1]",
        "interval: 50 resamples of whole episodes, each certified again",
        "coverage: 2 of 4 latent configurations in 8 episodes; "
        "missing mass 0 (Good–Turing: the chance that the next one is new)",
        "never recorded: (0, 1), (1, 0)",
    ]


def test_unique_trajectories_are_marked_as_an_artefact():
    noisy = from_recordings([[(str(k), "go"), ("end of the hall", str(k % 2))] for k in range(20)])
    assert noisy.artefact.startswith("artefact: 20 of 20 trajectories were recorded once")
    assert noisy.artefact in noisy.report(resamples=2)
    assert not from_recordings([[(str(k % 4), "go")] for k in range(20)]).artefact
    assert not from_recordings([[(str(k), "go")] for k in range(8)]).artefact
