"""The corpus of certificates, and what the checker says of two documents."""

import json
from pathlib import Path
from typing import Any

from certify import check

CORPUS = Path(__file__).parent / "certificates"
REFUSALS = (check.Rejected, check.Malformed, check.LimitReached)


def paths(kind: str, name: str) -> list[str]:
    return [str(CORPUS / kind / name / file) for file in ("certificate.json", "model.json")]


def documents(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A correct certificate and its model."""
    certificate, model = (json.loads(Path(path).read_text(encoding="utf-8")) for path in paths("correct", name))
    return certificate, model


def verdict(certificate: Any, model: Any, limit: int = check.LIMIT) -> str:
    """What the checker says of two documents; anything but a verdict is an error of the test."""
    try:
        check.check(json.dumps(certificate), json.dumps(model), limit)
    except REFUSALS as refusal:
        return type(refusal).__name__
    return "verified"
