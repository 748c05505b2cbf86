"""Tasks by name: every alias of the paper, models of the zoo, and tasks of one's own."""

import pytest

from certify import Model, UserError
from diacritic.tasks import registry
from diacritic.tasks.franka.tasks import TwoCues
from diacritic.tasks.protocol import Task
from diacritic.tasks.registry import ALIASES, find, is_simulated, make, names, register_task


@pytest.mark.parametrize("alias", ALIASES)
def test_the_papers_names_are_accepted(alias: str) -> None:
    name, implied = ALIASES[alias]
    meant, made = find(name, **implied), find(alias)
    assert is_simulated(alias) == isinstance(made, Task)
    if isinstance(made, Model):
        assert isinstance(meant, Model)
        assert made.to_json() == meant.to_json()
    else:
        assert made == meant


@pytest.mark.parametrize("name", names())
def test_a_task_is_made_again_from_its_manifest(name: str) -> None:
    task = make(name)
    assert make(task.name, **task.parameters) == task
    assert task.title == name


def test_a_title_names_what_differs_from_the_defaults() -> None:
    assert make("readout-3", gap=20).title == "readout-3 gap=20"
    assert make("tier 16").title == "two-cues classes=4"


def test_unknown_names_and_parameters_are_refused() -> None:
    with pytest.raises(UserError, match=r"task: 'three-cues' is unknown; there are two-cues, "):
        make("three-cues")
    with pytest.raises(UserError, match="no instance is called 'three-cues'"):
        find("three-cues")
    with pytest.raises(UserError, match=r"two-cues\.gaps: no such parameter"):
        find("two-cues", gaps=3)


def test_a_task_of_your_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", {})
    register_task("my-cues", lambda **parameters: TwoCues(**parameters))
    assert find("my-cues", gap=3) == TwoCues(gap=3)
    for taken in ("my-cues", "two-cues", "P-I"):
        with pytest.raises(UserError, match="is taken; choose another"):
            register_task(taken, TwoCues)
