"""Learned tables at every horizon: proved and reduced."""

from fractions import Fraction

import pytest
from counting_tables import counting_table

from certify.errors import UserError
from certify.stationary.machine import right_for_ever
from diacritic.rollout.forever import machine_of_file, proved, stationary_machine
from diacritic.rollout.machine_file import minimal_machine
from diacritic.tasks.named import named_model, named_process

TASK = ("forever:counter", ("horizon=5", "modulus=2"))


def test_a_right_table_is_proved_with_as_few_codes_as_it_needs():
    process, graph = named_process(*TASK), named_model(*TASK).graph
    machine = stationary_machine(counting_table(named_model(*TASK), 8), graph)
    small = proved(machine, process)
    assert small.codes == 2


def test_a_table_that_errs_beyond_its_training_is_refused_with_the_history():
    model = named_model(*TASK)
    late = stationary_machine(counting_table(model, 8, wrong=6), model.graph)
    with pytest.raises(UserError, match=r"wrong at step 6: after 1 say1 1 .* train on longer episodes"):
        proved(late, named_process(*TASK))


def test_an_exported_file_is_proved_as_it_stands():
    process, model = named_process(*TASK), named_model(*TASK)
    verdict = right_for_ever(machine_of_file(minimal_machine(counting_table(model, 4), model)), process)
    assert verdict.right or len(verdict.history) > 2 * model.horizon - 1, "a file is right at least as far as its task"


def test_training_tasks_are_the_beginning_of_the_process():
    model = named_model("forever:delayed-cue", ["horizon=4", "stop=1/5", "mean=2"])
    assert model.horizon == 4
    assert model.name == "forever:delayed-cue horizon=4 stop=1/5 mean=2"
    level = model.graph.levels[1]
    shown = {model.graph.observations[o]: m for o, m in zip(level.observation.tolist(), level.mass, strict=True)}
    assert Fraction(shown["(end)"]) == Fraction(1, 5) * sum(map(Fraction, level.mass), Fraction(0)) / 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("forever:counter", "horizon=0"), "horizon: expected a number of steps"),
        (("forever:counter", "stop=x"), "stop: expected a rational"),
        (("forever:nothing",), "no task is called 'nothing'"),
        (("forever:counter", "wings=2"), "not a parameter of counter"),
    ],
)
def test_bad_names_are_one_line(words: tuple[str, ...], reason: str):
    with pytest.raises(UserError, match=reason):
        named_model(words[0], words[1:])
    with pytest.raises(UserError, match="has a last step"):
        named_process("counter")
