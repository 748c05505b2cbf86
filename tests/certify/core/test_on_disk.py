"""Merged on disk, part by part and on every engine, a model has the rates of the tree in memory."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certify import Answer, Model, certify
from certify.certificate import certificate_json
from certify.check import check
from certify.core import model as models
from certify.core import on_disk
from certify.core.exact import fold
from certify.core.graph import Episodes, Graph
from certify.core.on_disk import StoredLevels, _arrows, merge_level, merge_on_disk
from certify.errors import UserError

Parts = dict[str, Any]


@st.composite
def arrays(draw: st.DrawFn) -> Parts:
    """Episodes of a few symbols with their weights, among them experts that no history shows."""
    return random_arrays(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), draw(st.integers(1, 24)))


def random_arrays(rng: np.random.Generator, count: int) -> Parts:
    shape, width = (count, int(rng.integers(1, 6))), int(rng.integers(1, 4))
    rows = {name: rng.integers(0, width, shape).astype(np.int8) for name in ("observations", "actions")}
    table = np.eye(width, dtype=np.int64) + rng.integers(0, 2, (width, width))
    return rows | {"weights": rng.integers(1, 4, count), "laws": rows["actions"], "law_table": table}


def episodes_of(parts: Parts) -> Episodes:
    episodes = Model.from_arrays(**parts, empirical=True).episodes
    assert episodes is not None
    return episodes


def rates(answer: Answer) -> list[float]:
    return [x for s in answer.steps for x in (s.lower, s.upper, s.strong, s.instantaneous, s.history)]


def flags(answer: Answer) -> list[tuple[object, ...]]:
    return [(s.histories, s.states, s.a2, s.a4, s.transitive, s.decided, s.method) for s in answer.steps]


def assert_same(merged: Graph, parts: Parts) -> None:
    ours, tree = certify(Model(merged)), certify(Model.from_arrays(**parts, empirical=True))
    assert flags(ours) == flags(tree)
    assert rates(ours) == pytest.approx(rates(tree), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(arrays(), st.integers(1, 7))
def test_the_answer_is_that_of_the_tree(parts: Parts, part: int) -> None:
    assert_same(merge_on_disk(episodes_of(parts), part=part), parts)


def test_levels_that_stay_on_disk_give_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_disk, "_PART", 0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        parts = random_arrays(rng, 12)
        merged = merge_on_disk(episodes_of(parts), part=8)
        assert isinstance(merged.levels, StoredLevels)
        assert len(merged.levels[1:]) == merged.horizon - 1
        assert_same(merged, parts)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_ray_cluster_gives_the_same_answer() -> None:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        rng = np.random.default_rng(1)
        for _ in range(4):
            parts = random_arrays(rng, 16)
            assert_same(merge_on_disk(episodes_of(parts), engine="ray", part=5), parts)
        assert ray.is_initialized()  # a cluster that is not ours stays
    finally:
        ray.shutdown()
        gc.collect()  # what Ray leaves open is closed here, and not in the middle of another test


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_a_level_is_merged_part_by_part_as_at_once(seed: int, part: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 30))
    base, source = rng.integers(0, 3, size), np.sort(rng.integers(0, size, int(rng.integers(0, 60))))
    token = rng.integers(0, 3, len(source))

    def here(work: Callable[[Any], Any], jobs: list[Any]) -> Iterator[Any]:
        return map(work, jobs)

    label, count = merge_level(base, source, token, here, part)
    expected = fold(base, source, token)
    assert (label.tolist(), count) == (expected[0].tolist(), expected[1])


def test_arrays_with_a_folder_become_a_merged_model_with_a_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "_TREE", 0)
    ids = np.arange(64)
    observations = np.stack([ids, np.full(64, 64), np.full(64, 65)], axis=1).astype(np.uint8)
    actions = np.stack([np.zeros(64), np.zeros(64), 1 + ids % 4], axis=1).astype(np.int32)
    model = Model.from_arrays(observations, actions, folder=tmp_path, name="ids")
    answer = certify(model)
    assert [level.size for level in model.graph.levels] == [64, 4, 4]
    assert [step.rate for step in answer.steps] == [0.0, 2.0, 2.0]
    assert [step.histories for step in answer.steps] == [64, 64, 64]
    assert check(certificate_json(answer), model.to_json())[0].startswith("R_1 in ")


def test_bad_folders_engines_and_weights_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_TREE", 0)
    row = np.zeros((1, 1), np.int64)
    with pytest.raises(UserError, match="folder: no arrays can be written to"):
        Model.from_arrays(row, row, folder=tmp_path / "missing")
    with pytest.raises(UserError, match="engine: expected 'local' or 'ray', not 'spark'"):
        Model.from_arrays(row, row, engine="spark")  # pyright: ignore[reportArgumentType]
    with pytest.raises(UserError, match="weights: sum to more than"):
        Model.from_arrays(row, row, np.array([2**62]), folder=tmp_path)


@given(st.permutations(range(5)), st.lists(st.integers(1, 9), min_size=5, max_size=5))
def test_arrows_of_histories_that_stay_apart(order: list[int], flow: list[int]) -> None:
    """Each history has one arrow, and the arrows stand in the order of the nodes."""
    node, action, target = np.array(order), np.arange(5) % 2, np.arange(5)[::-1].copy()
    arrows = _arrows(node, 5, np.arange(5), action, target, np.array(flow))
    by_node = sorted((node[k], action[k], target[k], flow[k]) for k in range(5))
    assert list(zip(*(arrows[name] for name in ("source", "action", "child", "flow")), strict=True)) == by_node
