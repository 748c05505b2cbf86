"""What is missing is named in one line; what is unexpected stays an error."""

import pytest

from certify.errors import UserError
from diacritic.commands.parameters import pairs, remedies, simulated_task
from diacritic.tasks.franka.pixels import MISSING_OPENGL


@pytest.mark.parametrize(("module", "extra"), [("mujoco.batch", "robot"), ("torch", "learn"), ("PIL", "report")])
def test_a_missing_package_names_the_extra(module: str, extra: str) -> None:
    with (
        pytest.raises(UserError, match=rf"install the extra '{extra}': pip install 'diacritic\[{extra}\]'"),
        remedies(),
    ):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def test_missing_opengl_names_the_packages() -> None:
    with pytest.raises(UserError, match=r"rendering: .*libegl1 or libosmesa6"), remedies():
        raise RuntimeError(MISSING_OPENGL)


@pytest.mark.parametrize("error", [ModuleNotFoundError("x", name="elsewhere"), RuntimeError("something else")])
def test_other_errors_pass(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, remedies():
        raise error
    assert caught.value is error


def test_values_are_read_as_the_types_of_their_defaults() -> None:
    parameters = simulated_task("readout-3", ["modes=128", "analog=True", "jitter=0"]).parameters
    assert (parameters["modes"], parameters["analog"], parameters["jitter"]) == (128, True, 0.0)
    assert parameters["place_by"] == "octile"
    assert pairs(["a=b=c"]) == {"a": "b=c"}
