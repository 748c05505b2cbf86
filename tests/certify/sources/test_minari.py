"""Minari datasets: written here with Minari itself, read back, and damaged in every way that must be told."""

import json
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import minari
import numpy as np
import pytest
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer

from certify import UserError, certify
from certify.sources.minari import from_minari

Write = Callable[..., Any]
CUES = [0, 1, 1, 0]
SHOWN = ["cue 0", "cue 1", "hall", "fork", "gone"]
DONE = ["wait", "left", "right"]


def episode(cue: int, halls: int = 1) -> tuple[list[int], list[int]]:
    """A cue, a hall, a fork where it decides; then a last observation that nobody acts on."""
    return [cue, *[2] * halls, 3, 4], [0] * (halls + 1) + [1 + cue]


def name(raw: Any) -> str:
    return SHOWN[int(raw)]


def act(raw: Any) -> str:
    return DONE[int(raw)]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write episodes of (observations, actions, infos) as a dataset in a folder of its own."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))

    def written(
        episodes: list[tuple[Any, ...]],
        observations: spaces.Space[Any] | None = None,
        actions: spaces.Space[Any] | None = None,
        data_format: str = "arrow",
    ) -> Any:
        buffers = []
        for k, (seen, done, *infos) in enumerate(episodes):
            steps = len(done if isinstance(done, list) else next(iter(done.values())))
            ended = [False] * (steps - 1) + [True]
            buffers.append(EpisodeBuffer(k, None, None, seen, done, [0.0] * steps, ended, [False] * steps, *infos))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # author, code and description are not given
            return minari.create_dataset_from_buffers(
                "test/fork-v0",
                buffers,
                observation_space=observations or spaces.Discrete(5),
                action_space=actions or spaces.Discrete(3),
                data_format=data_format,
                jpeg_encoding=False,
            )

    return written


@pytest.mark.parametrize("data_format", ["arrow", "hdf5", "parquet"])
def test_a_dataset_becomes_a_certified_model(write: Write, data_format: str):
    write([episode(cue) for cue in CUES], data_format=data_format)
    recording = from_minari("test/fork-v0", name, act)
    assert recording.model.name == "test/fork-v0"
    assert recording.counts == (2, 2)
    assert [step.rate for step in certify(recording.model).steps] == [0, 1, 1]
    assert recording.model.graph.history(2, 0) == ["cue 0", "wait", "hall", "wait", "fork"]


def test_an_open_dataset_serves_as_well_as_its_id(write: Write):
    dataset = write([episode(cue) for cue in CUES])
    assert from_minari(dataset, name, act).model.digest == from_minari("test/fork-v0", name, act).model.digest
    some = dataset.filter_episodes(lambda episode: episode.observations[0] == 1)
    assert from_minari(some, name, act, name="right turns").counts == (2,)
    assert from_minari(some, name, act, name="right turns").model.name == "right turns"


def test_symbols_are_readable_without_a_symboliser(write: Write):
    write([episode(cue) for cue in CUES])
    assert from_minari("test/fork-v0").model.graph.history(2, 0) == ["0", "0", "2", "0", "3"]


def test_unequal_episodes_are_padded(write: Write):
    write([episode(0, halls=1), episode(1, halls=2)])
    graph = from_minari("test/fork-v0", name, act).model.graph
    assert {graph.observations[o] for o in graph.levels[3].observation} == {"end", "fork"}


def test_dictionaries_and_tuples_of_arrays_are_taken_apart_by_time(write: Write):
    nested = spaces.Dict(
        {"cue": spaces.Discrete(5), "arm": spaces.Tuple((spaces.Box(-1, 1, (2,)), spaces.Discrete(2)))}
    )
    seen, done = episode(1)
    arm = (np.arange(8, dtype=np.float32).reshape(4, 2) / 8, np.array([0, 1, 0, 1]))
    write(
        [({"cue": np.array(seen), "arm": arm}, {"hand": np.array(done)})],
        observations=nested,
        actions=spaces.Dict({"hand": spaces.Discrete(3)}),
    )
    recording = from_minari("test/fork-v0", action=lambda raw: DONE[raw["hand"]])
    assert recording.model.graph.history(2, 0) == [
        "{arm: ([0 0.125], 0), cue: 1}",
        "wait",
        "{arm: ([0.25 0.375], 1), cue: 2}",
        "wait",
        "{arm: ([0.5 0.625], 0), cue: 3}",
    ]


def test_laws_and_latents_are_read_from_the_episode(write: Write):
    write([(*episode(cue), {"cue": [cue] * 4}) for cue in CUES])
    recording = from_minari(
        "test/fork-v0",
        name,
        act,
        laws=lambda e: [{act(a): "3/4", "give up": "1/4"} for a in e.actions],
        latent=lambda e: int(e.infos["cue"][0]),
    )
    graph = recording.model.graph
    assert graph.law_text(int(graph.levels[2].law[0])) == "left 3/4, give up 1/4"
    assert recording.coverage(range(3)).counts == {0: 2, 1: 2}
    assert recording.coverage(range(3)).unseen == (2,)


def test_an_oracle_may_tell_the_laws(write: Write):
    write([episode(cue) for cue in CUES])

    def expert(history: tuple[str, ...]) -> str:
        return f"{['left', 'right'][int(history[0][-1])]}" if history[-1] == "fork" else "wait"

    asked = from_minari("test/fork-v0", name, act, oracle=expert)
    assert asked.model.digest == from_minari("test/fork-v0", name, act).model.digest


def test_a_contradictory_expert_is_reported(write: Write):
    seen, done = episode(0)
    write([(seen, done), (seen, [*done[:-1], 2])])
    with pytest.raises(UserError, match=r"episodes\[1\].steps\[2\]: stochastic expert or \(A2\) failure: .* fork "):
        from_minari("test/fork-v0", name, act)


# ---- bad datasets


def test_an_unknown_dataset_is_refused_with_a_remedy(write: Write):
    with pytest.raises(
        UserError, match=r"none-v0: no local Minari dataset has this id; fetch it with 'minari download"
    ):
        from_minari("none-v0")


def test_nan_is_refused_with_episode_and_step(write: Write):
    seen = np.zeros((4, 2), np.float32)
    bad = seen.copy()
    bad[1, 0] = np.nan
    write([(seen, [0, 0, 1]), (bad, [0, 0, 1])], observations=spaces.Box(-1, 1, (2,)))
    with pytest.raises(UserError, match=r"episodes\[1\].steps\[1\].obs: the value holds NaN"):
        from_minari("test/fork-v0")


def test_steps_that_the_dataset_promises_must_be_there(write: Write, tmp_path: Path):
    write([episode(cue) for cue in CUES])
    promise = tmp_path / "test/fork-v0/data/2/metadata.json"
    promise.write_text(json.dumps({**json.loads(promise.read_text()), "total_steps": 5}))
    with pytest.raises(
        UserError, match=r"episodes\[2\]: 4 observations and 3 actions, .* 5 steps .* steps are missing"
    ):
        from_minari("test/fork-v0", name, act)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: shutil.rmtree(data / "1"),
        lambda data: next((data / "1").glob("*.arrow")).write_bytes(b"no arrow"),
        lambda data: (data / "metadata.json").write_text("{"),
        lambda data: (data / "1/metadata.json").unlink(),
    ],
    ids=["no episode", "no arrow", "no metadata", "no promise"],
)
def test_a_damaged_dataset_is_refused_in_one_line(write: Write, tmp_path: Path, damage: Callable[[Path], None]):
    write([episode(cue) for cue in CUES])
    damage(tmp_path / "test/fork-v0/data")
    with pytest.raises(UserError, match=r"test/fork-v0: cannot be read \(\w+: .") as caught:
        from_minari("test/fork-v0", name, act)
    assert len(str(caught.value).splitlines()) == 1


def test_an_empty_selection_is_refused(write: Write):
    nothing = write([episode(0)]).filter_episodes(lambda episode: False)
    with pytest.raises(UserError, match="episodes: the dataset is empty"):
        from_minari(nothing, name, act)


def test_what_is_no_dataset_is_refused():
    with pytest.raises(UserError, match="cannot be read"):
        from_minari(3)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"observations": (np.zeros(4), np.zeros(3))}, "its parts have 3 and 4 steps; they must agree"),
        ({"observations": np.zeros(3)}, "3 observations and 3 actions, .* steps are missing"),
        ({"actions": np.zeros(2)}, "4 observations and 2 actions, .* steps are missing"),
    ],
    ids=["ragged", "observation", "action"],
)
def test_arrays_of_the_wrong_length_are_refused(write: Write, changed: dict[str, Any], complaint: str):
    dataset = write([episode(0)])

    class Changed:
        """The dataset with something changed in its one episode."""

        id, storage, episode_indices = dataset.id, dataset.storage, dataset.episode_indices

        def __iter__(self) -> Iterator[Any]:
            yield replace(dataset[0], **changed)

    with pytest.raises(UserError, match=rf"episodes\[0\]: {complaint}"):
        from_minari(Changed(), name, act)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(UserError, match="needs minari; install the extra 'sources'"):
        from_minari("test/fork-v0")


def test_a_missing_storage_package_is_named(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write([episode(0)])
    about = tmp_path / "test/fork-v0/data/metadata.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), "data_format": "hdf5"}))
    monkeypatch.setitem(sys.modules, "h5py", None)
    monkeypatch.delitem(sys.modules, "minari.dataset._storages.hdf5_storage", raising=False)
    with pytest.raises(UserError, match=r"test/fork-v0: cannot be read \(ImportError: .*h5py"):
        from_minari("test/fork-v0")
