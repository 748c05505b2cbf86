"""What is missing is named in one line; what is unexpected stays an error."""

import pytest

from certify.errors import UserError
from diacritic.tasks.franka.pixels import MISSING_OPENGL
from diacritic.tasks.remedies import remedies


@pytest.mark.parametrize(("module", "extra"), [("mujoco.batch", "robot"), ("torch", "learn"), ("PIL", "report")])
def test_a_missing_package_names_the_extra(module: str, extra: str) -> None:
    with (
        pytest.raises(
            UserError, match=rf'{module.split(".")[0]}: is not installed; run: pip install "diacritic\[{extra}\]"'
        ),
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
