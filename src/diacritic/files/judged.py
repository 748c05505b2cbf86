"""What stands beside a run or a recording once it was judged: verdicts, closed loops and probes, checked when read."""

from typing import Any

from diacritic.files.fields import Fields

QUESTIONS = ("sufficient", "surplus", "sole")
_SHARES = ("swap", "shuffle", "reset", "freeze")
_MANY = 1_000_000


def check_verdict(document: dict[str, Any], path: str, remedy: str) -> None:
    """A verdict: three answers, the profile of the steps, and the controls with what they hold."""
    given = Fields(document, path, remedy)
    _ = [given.text(name) for name in ("run", "task", "learner", "occupancy", "impression")]
    for name in QUESTIONS:
        answer = given.inner(name)
        _ = answer.text("answer"), answer.text("because")
    steps = given.inner("steps")
    _ = steps.numbers("rate"), steps.numbers("required")
    for k, item in enumerate(given.items("controls")):
        control = Fields.of(item, f"{path}: controls[{k}]", remedy)
        name = control.text("name")
        _ = control.text("part"), control.text("text"), control.flag("passed", None)
        if name == "audit flags":
            control.texts("data")
        elif name == "previous actions" and control.values.get("data") is not None:
            check_cells(control, "data")
        elif name.startswith("code swap"):
            _check_trials(control)


def _check_trials(control: Fields) -> None:
    """Interventions: the share of decisions by kind."""
    if control.values.get("data") is None:
        return
    for k, item in enumerate(control.items("data")):
        trial = Fields.of(item, f"{control.path}: data[{k}]", control.remedy)
        _ = trial.text("name"), trial.number("pairs")
        for name in _SHARES:
            if trial.values.get(name) is not None:
                shares = trial.inner(name)
                _ = shares.number("partner", None), shares.number("own", None)


def check_rollout(document: dict[str, Any], path: str, remedy: str) -> None:
    """A closed loop: shares, and what became of every episode."""
    given = Fields(document, path, remedy)
    episodes = given.integer("episodes", 1, _MANY)
    _ = given.number("success"), given.number("action_error_cm", None)
    outcomes = given.inner("by_episode")
    for name in ("success", *outcomes.values):
        values = outcomes.items(name)
        if len(values) != episodes or not all(isinstance(value, bool) for value in values):
            raise outcomes.refusal(name, f"true or false of each of {episodes} episodes")
        given.number(name)


def check_probe(document: dict[str, Any], path: str, remedy: str) -> None:
    """Leak probes of a recording, by table."""
    given = Fields(document, path, remedy)
    given.text("demos_sha256")
    tables = given.inner("probes")
    for name in tables.values:
        check_cells(tables.inner(name), "cells")


def check_cells(given: Fields, name: str) -> None:
    """The cells of a table of probes."""
    for k, item in enumerate(given.items(name)):
        cell = Fields.of(item, f"{given.path}: {name}[{k}]", given.remedy)
        _ = [cell.text(key) for key in ("phase", "variable", "probe", "status")], cell.flag("passed")
        _ = [cell.number(key) for key in ("accuracy", "chance", "adjusted")]
        if len([value for value in cell.numbers("interval") if value is not None]) != 2:
            raise cell.refusal("interval", "two numbers")
