"""The frozen binner against a slow literal twin, its agreement, the online reader and its file."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certify.errors import UserError
from diacritic.demos.binner import NULL, UNSEEN, Binner, OnlineReader, separation
from diacritic.demos.record import record
from diacritic.files.convention import Convention, Factor


def plain(classes: int, given_classes: int, *given_names: str) -> Convention:
    return Convention(
        phases=("only",),
        phase_columns=(18, 19),
        probe_columns=(9, 18),
        position_columns=(0, 1, 2),
        noise=0.002,
        factors=(Factor("own", "own", classes, given=given_names), Factor("other", "other", given_classes)),
    )


def twin(convention: Convention, observations, latents):
    """Fit and read the factor `own` with loops, as the convention says it."""
    steps, episodes = observations.shape[:2]
    factor = convention.factor("own")
    half = episodes // 2
    visible, read = [], np.full((steps, episodes), NULL)
    for t in range(steps):
        means = {}
        for g in range(convention.factor("other").classes if factor.given else 1):
            for c in range(factor.classes):
                members = [
                    observations[t, n, :3].astype(float)
                    for n in range(half)
                    if latents["own"][n] == c and (not factor.given or latents["other"][n] == g)
                ]
                if members:
                    means[g, c] = sum(members) / len(members)
        pairs = [np.linalg.norm(means[a] - means[b]) for a in means for b in means if a[0] == b[0] and a[1] < b[1]]
        visible.append(bool(pairs) and min(pairs) > 0.05)
        if visible[-1]:
            for n in range(episodes):
                read[t, n] = min(means, key=lambda cell: np.linalg.norm(observations[t, n, :3] - means[cell]))[1]
    return visible, read


@given(st.integers(0, 10_000), st.integers(2, 3), st.integers(1, 3), st.booleans())
def test_fit_and_reading_agree_with_the_twin(seed, classes, given_classes, conditioned):
    draw = np.random.default_rng(seed)
    convention = plain(classes, given_classes, *(["other"] if conditioned else []))
    episodes = int(draw.integers(2, 14))
    latents = {
        "own": draw.integers(0, classes, episodes, np.int32),
        "other": draw.integers(0, given_classes, episodes, np.int32),
    }
    observations = draw.normal(0, 0.005, (4, episodes, 27)).astype(np.float32)
    observations[1:, :, 0] += 0.07 * latents["own"]
    observations[2:, :, 1] += 0.2 * latents["other"]
    observations[3, :, 0] -= 0.03 * latents["own"]
    fitted = Binner.fit(convention, observations, latents)
    visible, read = twin(convention, observations, latents)
    assert fitted.readings["own"].visible.tolist() == visible
    np.testing.assert_array_equal(fitted.classes(observations)["own"], read)


def test_separation_compares_within_the_given_class_only():
    means = np.full((2, 2, 2, 1), np.nan)
    means[0] = [[[0.0], [0.1]], [[0.02], [0.09]]]
    means[1, :, 0] = [[0.0], [1.0]]  # one class a group: nothing to compare
    np.testing.assert_allclose(separation(means), [0.07, 0.0])


def test_no_disagreement_and_the_designed_steps(stand_in):
    task = stand_in(sides=4, slots=4)
    demos, binner = record(task, 64, 3)
    agreement = binner.agreement(demos.observations, demos.latents)
    assert {name: (item.wrong, item.wrong_given) for name, item in agreement.items()} == {
        "side": (0, 0),
        "slot": (0, 0),
    }
    assert agreement["slot"].pairs == 3 * 32
    assert np.flatnonzero(binner.readings["side"].visible).tolist() == [6, 7]
    assert np.flatnonzero(binner.readings["slot"].visible).tolist() == [13, 14, 15]


def test_disagreements_are_counted(stand_in):
    demos, binner = record(stand_in(), 64, 3)
    moved = demos.observations.copy()
    wrong_side = 1 - demos.latents["side"][-3:]
    moved[6, -3:, 1] = 0.1 * wrong_side
    agreement = binner.agreement(moved, demos.latents)
    assert (agreement["side"].wrong, agreement["side"].wrong_given, agreement["slot"].wrong) == (3, 3, 0)
    assert agreement["side"].share == pytest.approx(1 - 3 / 64)
    assert binner.agreement(moved, demos.latents, "place")["side"].pairs == 0


def test_below_five_centimetres_nothing_is_seen(stand_in):
    _, binner = record(stand_in(spread=0.045), 64, 3)
    assert not any(reading.visible.any() for reading in binner.readings.values())
    assert {"side=?" in name and "slot=?" in name for name in binner.names} == {True}


def test_a_nested_factor_needs_unconditional_means():
    latents = {"own": np.tile(np.arange(2, dtype=np.int32), 8), "other": np.tile(np.arange(4, dtype=np.int32), 4)}
    observations = np.zeros((1, 16, 27), np.float32)
    observations[0, :, 0] = 0.2 * latents["own"]
    for given_names, expected in ((["other"], False), ([], True)):
        fitted = Binner.fit(plain(2, 4, *given_names), observations, latents)
        assert fitted.readings["own"].visible.tolist() == [expected]


def test_conditioning_undoes_an_imbalance():
    """A class that the pose does not show must not seem visible because another one was unevenly recorded."""
    other = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1], np.int32)
    latents = {"own": np.repeat(np.arange(2, dtype=np.int32), 8), "other": other}
    order = np.random.default_rng(0).permutation(16)
    latents = {name: np.concatenate([values[order], values[order]]) for name, values in latents.items()}
    observations = np.zeros((1, 32, 27), np.float32)
    observations[0, :, 0] = 0.4 * latents["other"]
    assert Binner.fit(plain(2, 2), observations, latents).readings["own"].visible[0]
    assert not Binner.fit(plain(2, 2, "other"), observations, latents).readings["own"].visible[0]


def test_several_given_factors_are_taken_together(stand_in):
    demos, binner = record(stand_in(), 64, 3)
    side, slot = binner.convention.factors
    tilt = Factor("tilt", "mass", 4, given=("side", "slot"))
    convention = replace(binner.convention, factors=(side, slot, tilt))
    means = Binner.fit(convention, demos.observations, demos.latents).readings["tilt"].means
    assert means.shape == (16, 4, 4, 3)
    chosen = (demos.latents["side"][:32] == 1) & (demos.latents["slot"][:32] == 0) & (demos.latents["mass"][:32] == 2)
    expected = demos.observations[9, :32][chosen, :3].astype(float).mean(0)
    np.testing.assert_allclose(means[9, 2, 2], expected, atol=1e-12)


def test_sag_is_a_height_threshold_with_measured_agreement(stand_in):
    task = stand_in()
    sag = Factor("sag", "half", 2, axes=(2,), assumed=(9, 10, 11, 12))
    convention = replace(task.convention, factors=(*task.convention.factors, sag))
    raw = task.demonstrate({name: np.tile(np.arange(2, dtype=np.int32), 64) for name in ("side", "slot")}, 0)
    half = np.asarray(raw.latents["mass"] // 2, np.int32)
    observations = raw.observations.copy()
    observations[9:12, :, 2] -= 0.02 * half  # clear in the gap, and nothing to see while placing
    latents = {**raw.latents, "half": half}
    binner = Binner.fit(convention, observations, latents)
    assert np.flatnonzero(binner.readings["sag"].visible).tolist() == [9, 10, 11, 12]
    means = binner.readings["sag"].means[9, 0, :, 0]
    threshold = observations[9, :, 2] < means.mean()
    np.testing.assert_array_equal(binner.classes(observations)["sag"][9], threshold)
    assert binner.agreement(observations, latents, "gap2")["sag"].share == 1.0
    assert 0.3 < binner.agreement(observations, latents, "place")["sag"].share < 0.7


def test_symbols_name_phase_probe_and_classes(stand_in):
    demos, binner = record(stand_in(), 16, 0)
    n = int(np.flatnonzero((demos.latents["side"] == 1) & (demos.latents["slot"] == 0))[0])
    said = [demos.symbol_names[s] for s in demos.symbols[:, n]]
    assert said[0] == "approach 000000000 side=? slot=?"
    assert said[1] == "scan +---00000 side=? slot=?"
    assert said[6] == "grasp 000000000 side=1 slot=?"
    assert said[15] == "place 000000000 side=? slot=0"
    assert len(set(binner.names)) == len(binner.names)


def test_online_reads_what_was_recorded_and_counts_the_unseen(stand_in):
    task = stand_in()
    demos, binner = record(task, 64, 0)
    fresh = record(task, 32, 1)[0]
    reader = OnlineReader(binner)
    read = np.stack([reader.read(row) for row in fresh.observations])
    np.testing.assert_array_equal(np.array(binner.names)[read], np.array(fresh.symbol_names)[fresh.symbols])
    assert reader.unseen == 0
    strange = fresh.observations.copy()
    strange[2, :5, 17] = 1.0  # a channel that never lit up
    reader.reset()
    read = np.stack([reader.read(row) for row in strange])
    assert reader.unseen == 5
    assert (read[2, :5] == UNSEEN).all()
    with pytest.raises(UserError, match="the binner knows 16 steps only"):
        reader.read(strange[0])
    assert demos.steps == 16


def test_file_round_trip(stand_in, tmp_path):
    demos, binner = record(stand_in(sides=4), 40, 0)
    path = tmp_path / "binner.json"
    binner.save(path)
    again = Binner.load(path)
    assert (again.convention, again.names) == (binner.convention, binner.names)
    np.testing.assert_array_equal(again.symbols(demos.observations), binner.symbols(demos.observations))
    for name, reading in binner.readings.items():
        np.testing.assert_array_equal(again.readings[name].means, reading.means)
    assert [item.name for item in tmp_path.iterdir()] == ["binner.json"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(format="other/1"), "is of format 'other/1'"),
        (lambda d: d.pop("readings"), "is not a binner"),
        (lambda d: d["names"].pop(), "do not fit together"),
        (lambda d: d["readings"].pop("side"), "do not fit together"),
    ],
)
def test_other_files_are_refused(stand_in, tmp_path, change, said):
    path = tmp_path / "binner.json"
    record(stand_in(), 8, 0)[1].save(path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(UserError, match=said):
        Binner.load(path)


def test_one_episode_cannot_be_halved(stand_in):
    with pytest.raises(UserError, match="one half to fit and one to be tested on"):
        record(stand_in(), 1, 0)


def test_different_timelines_are_refused(stand_in):
    demos, binner = record(stand_in(), 8, 0)
    mixed = demos.observations.copy()
    mixed[4, 0, 18:24] = np.eye(6)[5]
    with pytest.raises(UserError, match=r"observations\[4\]: the episodes are in different phases"):
        Binner.fit(binner.convention, mixed, demos.latents)
