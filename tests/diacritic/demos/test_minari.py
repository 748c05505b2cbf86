"""Minari: out and back bit for bit, readable by Minari itself and by `certify`."""

import json
from dataclasses import replace
from pathlib import Path

import minari
import numpy as np
import pytest

from certify import certify
from certify.errors import UserError
from certify.sources.minari import from_minari
from diacritic.demos.minari import export_minari, import_minari
from diacritic.demos.record import record
from diacritic.demos.requirement import certify_recording, differences

ID = "diacritic/stand-in-v0"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("pixels", [False, True])
def test_round_trip(stand_in, pixels):
    demos = record(stand_in(pixels=pixels, failures=1), 12, 3)[0]
    export_minari(demos, ID)
    again = import_minari(ID)
    assert again.digest == demos.digest
    for name, array in demos.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
    for name in (
        "task",
        "parameters",
        "seed",
        "convention",
        "symbol_names",
        "choice_names",
        "versions",
        "task_version",
    ):
        assert getattr(again, name) == getattr(demos, name)


def test_minari_reads_it(stand_in):
    demos = record(stand_in(failures=1), 6, 0)[0]
    export_minari(demos, ID)
    dataset = minari.load_dataset(ID)
    assert (dataset.total_episodes, dataset.total_steps) == (6, 6 * 16)
    episode = next(iter(dataset.iterate_episodes([2])))
    np.testing.assert_array_equal(episode.observations[:-1], demos.observations[:, 2])
    np.testing.assert_array_equal(episode.observations[-1], demos.observations[-1, 2])
    np.testing.assert_array_equal(episode.actions, demos.actions[:, 2])
    assert episode.rewards.sum() == 1.0
    assert next(iter(dataset.iterate_episodes([0]))).rewards.sum() == 0.0  # the one that failed


def test_certify_reads_it(stand_in):
    demos = record(stand_in(), 8, 0)[0]
    export_minari(demos, ID)
    episodes = sorted(minari.load_dataset(ID).iterate_episodes(), key=lambda episode: episode.id)
    shown = {e.observations[t].tobytes(): e.infos["symbols"][t] for e in episodes for t in range(16)}
    done = {e.actions[t].tobytes(): e.infos["choices"][t] for e in episodes for t in range(16)}
    actual = from_minari(ID, symbol=lambda o: str(shown[o.tobytes()]), action=lambda a: str(done[a.tobytes()]))
    assert differences(certify(actual.model), certify_recording(demos)) == []


def test_an_id_that_is_taken_or_wrong(stand_in):
    demos = record(stand_in(), 4, 0)[0]
    export_minari(demos, ID)
    with pytest.raises(UserError, match=f"{ID}: .*"):
        export_minari(demos, ID)
    with pytest.raises(UserError, match="no version:"):
        export_minari(demos, "no version")


def test_unknown_and_foreign_datasets(stand_in, folder):
    with pytest.raises(UserError, match="no local Minari dataset has this id"):
        import_minari(ID)
    export_minari(record(stand_in(), 4, 0)[0], ID)
    path = folder / ID / "data" / "metadata.json"
    document = json.loads(path.read_text())
    own = json.loads(document.pop("diacritic"))
    path.write_text(json.dumps(document))
    with pytest.raises(UserError, match="was not exported by Diacritic"):
        import_minari(ID)
    for change, said in (({"format": "diacritic-demos/0"}, "holds 'diacritic-demos/0'"), ({"sha256": "0"}, "digest")):
        path.write_text(json.dumps({**document, "diacritic": json.dumps(own | change)}))
        with pytest.raises(UserError, match=said):
            import_minari(ID)


def test_acceptance_travels(stand_in):
    demos = replace(record(stand_in(), 4, 0)[0], acceptance={"passed": True, "checks": {}})
    export_minari(demos, ID)
    assert import_minari(ID).acceptance == {"passed": True, "checks": {}}
