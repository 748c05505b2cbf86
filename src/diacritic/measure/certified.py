"""The requirement as somebody's certificate states it: believed once the independent checker has verified it."""

import json
from pathlib import Path

from certify import Model
from certify.check import LimitReached, Malformed, Rejected, check
from certify.errors import UserError
from diacritic.measure.scores import Requirement


def certified_requirement(path: Path, model: Model) -> Requirement:
    """~_t of the model and R_t of its certificate; a certificate of another model, or a false one, is refused."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as problem:
        raise UserError(str(path), f"cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    try:
        check(text, model.to_json())
    except (Rejected, Malformed, LimitReached) as problem:
        remedy = "write one with `python -m certify TASK --certificate FILE`"
        raise UserError(
            str(path), f"is not a certificate of {model.name or 'this model'}: {problem}; {remedy}"
        ) from None
    rates = [step.get("rate") for step in json.loads(text)["steps"]]
    bits = [None if ends is None else max(0.0, sum(map(float, ends)) / 2) for ends in rates]
    return Requirement.stated(model, bits)
