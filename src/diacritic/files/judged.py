"""What stands beside a run or a recording once it was judged: verdicts, closed loops and probes, checked when read."""

from collections.abc import Mapping
from typing import Any

from certify.errors import UserError
from diacritic.files.schema import read_as

QUESTIONS = ("sufficient", "surplus", "sole")
_PROFILE = dict.fromkeys(("rate", "required"), tuple[float | None, ...])
_CONTROL = dict.fromkeys(("part", "name", "text"), str) | {"passed": bool | None}
_VERDICT = dict.fromkeys(("run", "task", "learner", "occupancy", "impression"), str) | {
    **{key: {"answer": str, "because": str} for key in QUESTIONS},
    "steps": _PROFILE,
    "controls": [_CONTROL],
}
_CELL = dict.fromkeys(("phase", "variable", "probe", "status"), str) | {
    **dict.fromkeys(("accuracy", "chance", "adjusted"), float),
    "passed": bool,
    "interval": tuple[float, float],
}
_SHARES = dict.fromkeys(("partner", "own"), float | None)
_TRIAL = {"name": str, "pairs": float}
_EFFECTS = ("swap", "shuffle", "reset", "freeze")
_ROLLOUT = {"episodes": int, "action_error_cm": float | None, "by_episode": dict[str, tuple[bool, ...]]}


def check_verdict(document: dict[str, Any], path: str, remedy: str) -> None:
    """A verdict: three answers, the profile of the steps, and the controls with what they hold."""
    read_as(_VERDICT, document, path, remedy)
    for k, control in enumerate(document["controls"]):
        name, data, where = control["name"], control.get("data"), f"{path}: controls[{k}]: data"
        if name == "audit flags":
            read_as([str], data, where, remedy)
        elif name == "previous actions" and data is not None:
            read_as([_CELL], data, where, remedy)
        elif name.startswith("code swap") and data is not None:
            for trial in read_as([_TRIAL], data, where, remedy):
                effects = {kind: trial[kind] for kind in _EFFECTS if trial.get(kind) is not None}
                read_as({str: _SHARES}, effects, where, remedy)


def check_rollout(document: dict[str, Any], path: str, remedy: str) -> None:
    """A closed loop: shares, and what became of every episode."""
    outcomes = read_as(_ROLLOUT, document, path, remedy)["by_episode"]
    read_as(dict.fromkeys(("success", *outcomes), float), document, path, remedy)
    if "success" not in outcomes or {len(values) for values in outcomes.values()} != {document["episodes"]}:
        raise UserError(path, f"does not say what became of each of {document['episodes']} episodes; {remedy}")


def check_probe(document: dict[str, Any], path: str, remedy: str) -> None:
    """Leak probes of a recording, by table."""
    read_as({"demos_sha256": str, "probes": {str: {"cells": [_CELL]}}}, document, path, remedy)


def check_acceptance(acceptance: Mapping[str, Any], path: str, remedy: str) -> None:
    """The leak tables that the acceptance checks of a recording left in its manifest."""
    checks = read_as(dict[str, Any], acceptance.get("checks", {}), f"{path}: acceptance", remedy)
    for name, check in checks.items():
        if "leaks" in name:
            read_as({"data": [_CELL]}, check, f"{path}: acceptance: {name}", remedy)
