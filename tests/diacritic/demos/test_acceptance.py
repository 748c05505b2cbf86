"""Acceptance: a clean recording passes every check, and every check can fail."""

from dataclasses import replace

import numpy as np

from diacritic.demos.acceptance import accept, profile, ranges, store
from diacritic.demos.record import record
from diacritic.files import demos as demos_file


def test_a_clean_recording_passes(stand_in, tmp_path):
    demos, binner = record(stand_in(), 128, 1)
    acceptance = accept(demos, binner, record(stand_in(), 128, 2)[0], held_out=32)
    assert acceptance.passed
    names = [check.name for check in acceptance.checks]
    assert names == [
        "determinism",
        "coverage",
        "expert success",
        "binner agreement",
        "symbols",
        "visibility",
        "leaks",
        "certificate",
        "fresh recording",
    ]
    said = "\n".join(acceptance.lines())
    assert "H(Γ|Ō) 0 (×3) → 2 (×3) → 1 (×7) → 0 (×3)" in said
    assert "4 of 4 latent configurations" in said
    assert "FAILED" not in said
    demos_file.save(demos, tmp_path / "one")
    store(tmp_path / "one", acceptance)
    again = demos_file.load(tmp_path / "one")
    assert again.acceptance is not None
    assert again.acceptance["passed"] is True
    assert again.acceptance["checks"]["binner agreement"]["data"]["side"] == {
        "pairs": 128,
        "wrong": 0,
        "wrong_given_other": 0,
    }
    assert again.acceptance["checks"]["visibility"]["data"] == {"side": [6, 7], "slot": [13, 14, 15]}


def test_each_check_can_fail(stand_in):
    demos, binner = record(stand_in(failures=1), 64, 1, batch=64)
    symbols = demos.symbols.copy()
    symbols[9, 40] = (symbols[9, 40] + 1) % len(demos.symbol_names)
    moved = demos.observations.copy()
    moved[6, -1, 1] = 0.1 * (1 - demos.latents["side"][-1])
    broken = replace(
        demos,
        symbols=symbols,
        observations=moved,
        convention=replace(demos.convention, designed={"side": (6,)}, strata={"side": 2, "slot": 2, "mass": 5}),
    )
    acceptance = accept(broken, binner, held_out=16)
    failed = {check.name for check in acceptance.checks if not check.passed}
    assert failed >= {"determinism", "coverage", "expert success", "binner agreement", "symbols", "visibility"}
    assert "the latents of stand-in do not determine the symbol" in acceptance["certificate"].text
    assert not acceptance.passed
    assert acceptance["expert success"].text == "63/64"
    assert "side is not as the task means it at 8" in acceptance["visibility"].text
    assert "1 disagreements on 64" in acceptance["binner agreement"].text


def test_another_fresh_recording_is_told(stand_in):
    demos, binner = record(stand_in(), 32, 1)
    actual = accept(demos, binner, record(stand_in(spread=0.04), 32, 2)[0], held_out=8)["fresh recording"]
    assert not actual.passed
    assert "step 7: side" in actual.data["differences"]
    assert "step 7: H(Γ|Ō) 1.0000 and 2.0000" in actual.data["differences"]


def test_unrecorded_but_rebuilt_is_accepted(stand_in):
    demos, binner = record(stand_in(sides=4, slots=4), 64, 0)
    part = demos.take(np.flatnonzero((demos.latents["side"] != 2) | (demos.latents["slot"] != 1)))
    actual = accept(part, binner, held_out=16)["coverage"]
    assert actual.passed
    assert actual.data["unseen"] == [(2, 1)]
    assert actual.data["reproduced"] == [15, 15]


def test_pixels_are_probed_too(stand_in):
    demos, binner = record(stand_in(pixels=True), 16, 0)
    demos = replace(demos, convention=replace(demos.convention, hidden={"side": 2}))
    acceptance = accept(demos, binner, held_out=8, epochs=1)
    assert len(acceptance["pixel leaks"].data) == 1 + 5 * 2  # first and last frame of each phase


def test_words():
    assert profile([0, 0, 2.0, 1.5, 1.5]) == "0 (×2) → 2 → 1.5 (×2)"
    assert ranges([3, 4, 5, 9]) == "3–5, 9"
    assert ranges([]) == "no step"
