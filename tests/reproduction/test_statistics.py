"""Intervals and tests against closed forms, definitions solved literally, and a sandwich computed by hand."""

from math import comb, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certify.errors import UserError
from diacritic.measure.statistics import wilson
from reproduction.statistics import contrasts, fisher, indicators, line, logistic

Z = 1.959963984540054


def literal_wilson(successes: int, trials: int) -> tuple[float, float]:
    """The ends of {p : |p̂ − p| ≤ z √(p(1 − p)/n)}, by bisection."""
    share = successes / trials

    def end(inside: float, outside: float) -> float:
        for _ in range(200):
            p = (inside + outside) / 2
            kept = abs(share - p) <= Z * sqrt(p * (1 - p) / trials)
            inside, outside = (p, outside) if kept else (inside, p)
        return inside

    return end(share, 0.0), end(share, 1.0)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_solves_the_score_test(count: tuple[int, int]) -> None:
    low, high = wilson(*count)
    assert (low, high) == pytest.approx(literal_wilson(*count), abs=1e-9)


@pytest.mark.parametrize(("passed", "low", "high"), [(0, 0, 0.32), (4, 0.22, 0.79), (8, 0.68, 1)])
def test_wilson_intervals_of_eight(passed: int, low: float, high: float) -> None:
    assert wilson(passed, 8) == pytest.approx((low, high), abs=0.006)


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_fisher_sums_tables_that_are_no_likelier(n: int, m: int, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    weights = {k: comb(n, k) * comb(m, a + b - k) for k in range(n + 1) if 0 <= a + b - k <= m}
    expected = sum(weight for weight in weights.values() if weight <= weights[a]) / comb(n + m, a + b)
    assert fisher((a, n), (b, m)) == pytest.approx(expected, abs=1e-9)


def test_contrasts_compare_every_pair_and_adjust_for_it() -> None:
    pairs = contrasts({"plain": (0, 8), "scaffold": (5, 8), "informed": (8, 8)})
    assert [(one.first, one.second) for one in pairs] == [
        ("plain", "informed"),
        ("plain", "scaffold"),
        ("scaffold", "informed"),
    ]
    assert pairs[0].difference == 1
    assert pairs[0].p == pytest.approx(2 / comb(16, 8))
    assert pairs[0].adjusted == pytest.approx(3 * pairs[0].p)
    assert pairs[1].p == pytest.approx(0.0256, abs=1e-4)  # 5/8 against 0/8
    assert pairs[1].adjusted == pytest.approx(2 * pairs[1].p)


@given(st.lists(st.tuples(st.integers(-20, 20), st.floats(-5, 5)), min_size=4, max_size=12))
def test_a_line_has_the_textbook_interval(points: list[tuple[int, float]]) -> None:
    x, y = (np.array(values, float) for values in zip(*points, strict=True))
    if np.ptp(x) == 0:
        return
    n, spread = len(x), float(((x - x.mean()) ** 2).sum())
    slope = float((x - x.mean()) @ y / spread)
    left = y - y.mean() - slope * (x - x.mean())
    deviation = sqrt(float(left @ left) / (n - 2) / spread)
    quantile = {2: 4.302653, 3: 3.182446, 4: 2.776445, 5: 2.570582, 6: 2.446912}.get(n - 2)
    actual = line(x, y)
    assert actual.slope.value == pytest.approx(slope, abs=1e-9)
    assert actual.intercept.value == pytest.approx(y.mean() - slope * x.mean(), abs=1e-8)
    if quantile is not None:
        assert actual.slope.high - actual.slope.value == pytest.approx(quantile * deviation, rel=1e-5, abs=1e-6)
        away = deviation * sqrt(spread / n + x.mean() ** 2)
        assert actual.intercept.value - actual.intercept.low == pytest.approx(quantile * away, rel=1e-5, abs=1e-6)


def test_points_on_a_line_have_no_error() -> None:
    bits = np.array([2, 3, 4, 5, 7])
    actual = line(bits, 0.8 + 0.88 * bits)
    assert actual.slope == pytest.approx((0.88, 0.88, 0.88))
    assert actual.intercept == pytest.approx((0.8, 0.8, 0.8), abs=1e-7)
    assert actual.points == 5
    assert actual.p < 1e-9


def test_one_factor_of_two_values_is_a_log_odds_ratio() -> None:
    x = np.repeat([0, 1], 20)
    success = np.r_[np.arange(20) < 15, np.arange(20) < 5].astype(int)
    fit = logistic(success, {"far": x}, np.arange(40), replicates=0)
    assert fit["intercept"].value == pytest.approx(log(3))
    assert fit["far"].value == pytest.approx(-2 * log(3))
    assert fit["far"].redrawn is None
    assert (fit.rows, fit.clusters, fit.failed, fit.unbounded) == (40, 40, 0, ())


def literal_sandwich(success: np.ndarray, design: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Newton's method, and A⁻¹ (Σ_g s_g s_gᵀ) A⁻¹ with the usual factor for few clusters."""
    beta = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ beta))
        curvature = design.T @ (design * (p * (1 - p))[:, None])
        beta = beta + np.linalg.solve(curvature, design.T @ (success - p))
    p = 1 / (1 + np.exp(-design @ beta))
    bread = np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))
    scores = [design[groups == g].T @ (success - p)[groups == g] for g in np.unique(groups)]
    G, (n, k) = len(scores), design.shape
    meat = sum(np.outer(s, s) for s in scores) * G / (G - 1) * (n - 1) / (n - k)
    return beta, np.sqrt(np.diag(bread @ meat @ bread))


def clustered(clusters: int, slope: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of a logistic model with a shift of each cluster: success, distance, cluster."""
    draw = np.random.default_rng(seed)
    group = np.repeat(np.arange(clusters), 10)
    distance = draw.integers(3, 30, clusters)[group].astype(float)
    log_odds = 2 + slope * distance + draw.normal(0, 0.7, clusters)[group]
    return (draw.random(len(group)) < 1 / (1 + np.exp(-log_odds))).astype(int), distance, group


def test_errors_are_robust_to_clusters_and_redrawing_agrees() -> None:
    success, distance, group = clustered(40, -0.15, 3)
    fit = logistic(success, {"distance": distance}, group, replicates=200, seed=1)
    value, deviation = literal_sandwich(success, np.stack([np.ones(len(group)), distance], 1), group)
    slope = fit["distance"]
    assert slope.value == pytest.approx(value[1], abs=1e-6)
    assert (slope.low, slope.high) == pytest.approx(
        (value[1] - Z * deviation[1], value[1] + Z * deviation[1]), abs=1e-5
    )
    assert slope.p < 1e-3
    assert slope.redrawn is not None
    low, high = slope.redrawn
    assert low < slope.value < high < 0
    assert (high - low) == pytest.approx(slope.high - slope.low, rel=0.4)
    assert fit.failed == 0
    again = logistic(success, {"distance": distance}, group, replicates=200, seed=1)
    assert again == fit


def test_a_row_that_is_told_twice_in_its_cluster_says_no_more() -> None:
    success, distance, group = clustered(40, -0.15, 3)
    once = logistic(success, {"distance": distance}, group, replicates=0)["distance"]
    twice = logistic(np.tile(success, 2), {"distance": np.tile(distance, 2)}, np.tile(group, 2), replicates=0)
    assert twice["distance"].high == pytest.approx(once.high, abs=1e-4)
    apart = logistic(np.tile(success, 2), {"distance": np.tile(distance, 2)}, np.arange(800), replicates=0)
    assert apart["distance"].high < once.high - 0.005


def test_groups_enter_by_indicators_and_hopeless_ones_are_named() -> None:
    success, distance, group = clustered(40, -0.1, 5)
    learner = np.array(["a", "b", "never"])[group % 3]
    success = np.where(learner == "never", 0, success)
    factors = {"distance": distance, **indicators("learner", learner)}
    assert list(factors) == ["distance", "learner=b", "learner=never"]
    fit = logistic(success, factors, group, replicates=0)
    assert fit.unbounded == ("learner=never",)
    rest = learner != "never"
    without = logistic(
        success[rest], {"distance": distance[rest], **indicators("learner", learner[rest])}, group[rest], replicates=0
    )
    assert fit["distance"].value == pytest.approx(without["distance"].value, abs=1e-4)


def test_samples_without_an_estimate_are_counted() -> None:
    group = np.repeat(np.arange(4), 3)
    success = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0])
    fit = logistic(success, {"x": np.repeat([0, 1, 2, 3], 3)}, group, replicates=60)
    assert 0 < fit.failed < 60


HITS = np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    ("success", "factors", "clusters", "line"),
    [
        (np.ones(4), {}, np.arange(4), "success: expected 0 and 1, both"),
        (HITS, {}, np.zeros(4), "clusters: 4 entries in 1 clusters, for 4 rows"),
        (HITS, {}, np.arange(3), "clusters: 3 entries in 3 clusters, for 4 rows"),
        (HITS, {"x": np.arange(3)}, np.arange(4), r"factors\[x\]: shape \(3,\); expected 4 finite numbers"),
        (HITS, {"x": np.ones(4)}, np.arange(4), r"factors\[x\]: never varies, or follows from the others"),
        (HITS, {"x": HITS}, np.arange(4), "factors: they separate success from failure"),
    ],
)
def test_regressions_without_an_answer_are_refused(
    success: np.ndarray, factors: dict[str, np.ndarray], clusters: np.ndarray, line: str
) -> None:
    with pytest.raises(UserError, match=line):
        logistic(success, factors, clusters, replicates=0)


def test_counts_and_points_that_are_none_are_refused() -> None:
    with pytest.raises(UserError, match="trials: 0 of 0 is not a share"):
        wilson(0, 0)
    with pytest.raises(UserError, match="second: 9 of 8 is not a share"):
        fisher((1, 8), (9, 8))
    with pytest.raises(UserError, match="cells: 1 to compare; give at least two"):
        contrasts({"a": (1, 2)})
    with pytest.raises(UserError, match="y: 2 values beside 3 of x"):
        line([1, 2, 3], [1, 2])
    with pytest.raises(UserError, match="x: a slope needs finite numbers and an x that varies"):
        line([2, 2, 2], [1, 2, 3])
