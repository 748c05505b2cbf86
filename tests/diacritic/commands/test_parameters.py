"""Parameters of a task on the command line."""

from diacritic.commands.parameters import simulated_task


def test_values_are_read_as_the_types_of_their_defaults() -> None:
    parameters = simulated_task("readout-3", ["modes=128", "analog=True", "jitter=0"]).parameters
    assert (parameters["modes"], parameters["analog"], parameters["jitter"]) == (128, True, 0.0)
    assert parameters["place_by"] == "octile"
