"""What a convention refuses, and that it survives JSON."""

import json
from dataclasses import replace

import pytest

from certify.errors import UserError
from diacritic.files.convention import Convention, Factor


def test_json_round_trip(stand_in):
    sag = Factor("sag", "mass", 2, axes=(2,), separation=0.006, assumed=(9, 10))
    convention = stand_in().convention
    convention = replace(convention, factors=(*convention.factors, sag))
    again = Convention.from_dict(json.loads(json.dumps(convention.to_dict())))
    assert again == convention


@pytest.mark.parametrize(
    ("noise", "separation", "expected"),
    [(0.002, None, 0.05), (0.001, None, 0.025), (0.01, None, 0.05), (0.0, None, 0.05), (0.002, 0.006, 0.006)],
)
def test_threshold_is_five_centimetres_or_twenty_five_deviations(stand_in, noise, separation, expected):
    convention = replace(stand_in().convention, noise=noise)
    factor = replace(convention.factors[0], separation=separation)
    assert convention.threshold(factor) == pytest.approx(expected)


def test_only_the_rule_of_the_convention_is_sharp():
    factor = Factor("side", "side", 2)
    assert factor.sharp
    assert not replace(factor, separation=0.006).sharp
    assert not replace(factor, assumed=(3,)).sharp


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"factors": (Factor("side", "side", 2, given=("colour",)),)}, "'colour' is not another factor"),
        ({"factors": (Factor("side", "side", 2, given=("side",)),)}, "'side' is not another factor"),
        ({"designed": {"colour": (1,)}}, "'colour' is not a factor"),
        ({"shown": {"mass": ("dance",)}}, "'dance' is not a phase"),
    ],
)
def test_refusals(stand_in, change, said):
    plain = replace(stand_in().convention, designed={})
    with pytest.raises(UserError, match=said):
        replace(plain, **change)


@pytest.mark.parametrize("missing", ["factors", "phases", "noise"])
def test_incomplete_document_is_refused(stand_in, missing):
    document = json.loads(json.dumps(stand_in().convention.to_dict()))
    del document[missing]
    with pytest.raises(UserError, match=f"convention: lacks {missing!r}"):
        Convention.from_dict(document)
