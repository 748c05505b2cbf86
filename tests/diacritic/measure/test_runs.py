"""A certificate serves as the requirement of its own model, and of no other."""

import json
from pathlib import Path

import pytest

from certify import certify
from certify.certificate import certificate_json
from certify.errors import UserError
from certify.zoo import build
from diacritic.measure.runs import certified_requirement
from diacritic.measure.scores import Requirement, scores
from diacritic.rollout.machine import from_certified
from diacritic.rollout.occupancy import teacher_forced


@pytest.mark.parametrize("name", ["gap", "three-histories"])  # with and without classes
def test_certified_rates_are_the_requirement(name: str, tmp_path: Path) -> None:
    model = build(name)
    answer = certify(model)
    path = tmp_path / "proof.json"
    path.write_text(certificate_json(answer))
    certified, solved = certified_requirement(path, model), Requirement.of(model)
    assert certified.bits == pytest.approx([step.rate for step in answer.steps], abs=1e-12)
    seen = teacher_forced(from_certified(answer.machine, model), model)
    for one, two in zip(scores(seen, certified), scores(seen, solved), strict=True):
        assert one.sufficiency == (None if two.sufficiency is None else pytest.approx(two.sufficiency))


def test_what_is_no_certificate_of_the_model_is_refused(tmp_path: Path) -> None:
    model, path = build("gap"), tmp_path / "proof.json"
    path.write_text(certificate_json(certify(build("gap", gap2=4))))
    with pytest.raises(
        UserError, match=r"proof.json: is not a certificate of gap: the certificate is of another model; wr"
    ):
        certified_requirement(path, model)
    lie = json.loads(certificate_json(certify(model)))
    lie["steps"][-1]["rate"] = lie["steps"][0]["rate"]
    path.write_text(json.dumps(lie))
    with pytest.raises(UserError, match=r"proof.json: is not a certificate of gap: "):
        certified_requirement(path, model)
    with pytest.raises(UserError, match=r"none.json: cannot be read: No such file"):
        certified_requirement(tmp_path / "none.json", model)
