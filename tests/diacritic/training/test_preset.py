"""Our preset, and those of the authors' release by family of tasks."""

from dataclasses import replace

import pytest

from certify.errors import UserError
from diacritic.memory.shape import Architecture
from diacritic.training.cohort import Plan, Run
from diacritic.training.learner import BASE, learner
from diacritic.training.objectives.imitation import Imitation
from diacritic.training.objectives.rate import Rate
from diacritic.training.objectives.vq import Quantisation
from diacritic.training.preset import PRESETS, preset

RELEASED = [name for name in PRESETS if name.startswith("release")]


def test_an_unknown_preset_is_refused_in_one_line() -> None:
    with pytest.raises(UserError, match=r"^--preset: no preset is called 'carousell'; known: carousel, release, rele"):
        preset("carousell")


def test_our_preset_takes_ingredients_of_the_release() -> None:
    ours, all_of_them = preset("carousel"), preset("carousel+sphere+bits+summed")
    assert all_of_them.architecture(Architecture()).bound == "sphere"
    plan = Plan(learner("plain"), all_of_them, (Run(0),))
    assert plan.terms == (Imitation(), Rate("bits"), Quantisation(dimensions="sum"))
    assert replace(plan, preset=ours).terms == BASE
    assert preset("carousel+bits") == replace(ours, name="carousel+bits", bits=True)
    for name in ("carousel+salt", "release+bits"):
        with pytest.raises(UserError, match=r"--preset: no preset is called .* known: carousel, .*, carousel\+summed"):
            preset(name)


@pytest.mark.parametrize("name", RELEASED)
def test_all_of_the_release_agree_in_this(name: str) -> None:
    how = preset(name)
    assert (how.gradient, how.code_start, how.code_scale, how.residual_scale) == ("full", "normal", 0.5, 1.0)
    assert (how.restarts, how.restart_until, how.restart_from) == (50, 0.5, "used codes")
    assert (how.pressure_updates, how.clip_heads, how.batch_within, how.released) == (1000, False, True, True)
    carrier = how.architecture(Architecture())
    assert (carrier.start, carrier.residual_layers, carrier.features) == ("first code", 2, 32)


@pytest.mark.parametrize(
    ("name", "rate", "clip", "batch", "bound", "encoder", "width", "size", "layers", "scaffold"),
    [
        ("release", 3e-4, 5.0, 512, "sphere", "narrow", 128, 32, 2, (2000, 6000)),
        ("release-external", 3e-4, 5.0, 64, "sphere", "narrow", 128, 32, 2, None),
        ("release-toy", 3e-4, 5.0, None, "none", "table", 64, 32, 1, (1500, 4000)),
        ("release-corridor", 3e-4, 5.0, None, "tanh", "table", 64, 32, 1, (1500, 4000)),
        ("release-reveal", 1e-3, 5.0, None, "sphere", "table", 64, 32, 1, (1500, 4000)),
        ("release-stochastic", 1e-3, None, 256, "sphere", "narrow", 64, 16, 2, (2000, 6000)),
    ],
)
def test_families_of_the_release(
    name: str,
    rate: float,
    clip: float | None,
    batch: int | None,
    bound: str,
    encoder: str,
    width: int,
    size: int,
    layers: int,
    scaffold: tuple[int, int] | None,
) -> None:
    how = preset(name)
    carrier = how.architecture(Architecture())
    assert (how.rate, how.clip, how.batch, how.scaffold_updates) == (rate, clip, batch, scaffold)
    assert (carrier.bound, carrier.encoder, carrier.width, carrier.code_size) == (bound, encoder, width, size)
    assert (carrier.action_layers, carrier.head_layers) == (layers, 1)


def test_settings_that_came_later_change_no_older_digest() -> None:
    assert len(preset("carousel").decides()) == 10
    assert preset("release").decides()["restart_from"] == "used codes"
