"""KEY=VALUE on the command line as the parameters of a task, and one line for what is not installed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from certify.errors import UserError

if TYPE_CHECKING:
    from diacritic.tasks.protocol import Task

EXTRAS = {"mujoco": "robot", "gymnasium": "robot", "torch": "learn", "safetensors": "learn", "PIL": "report"}


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """KEY=VALUE texts as a dictionary."""
    given: dict[str, str] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key or not value:
            raise UserError(text, "expected KEY=VALUE, such as bits=2")
        given[key] = value
    return given


def simulated_task(name: str, texts: Sequence[str]) -> "Task":
    """A simulated task with KEY=VALUE parameters, each read as the type of its default."""
    with remedies():
        from diacritic.tasks.registry import make
    given = pairs(texts)
    defaults = make(name).parameters
    values = {
        key: _read(f"{name}.{key}", text, defaults[key]) if key in defaults else text for key, text in given.items()
    }
    return make(name, **values)


@contextmanager
def remedies() -> Iterator[None]:
    """Turn a missing package or a missing OpenGL into one line with the remedy."""
    try:
        yield
    except ModuleNotFoundError as problem:
        package = (problem.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        extra = EXTRAS[package]
        said = f"is not installed; install the extra {extra!r}: pip install 'diacritic[{extra}]'"
        raise UserError(package, said) from None
    except RuntimeError as problem:
        place, sign, reason = str(problem).partition(": ")
        if place != "rendering" or not sign:
            raise
        raise UserError(place, reason) from None


def _read(place: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise UserError(place, f"{text!r} is neither true nor false")
        return text.lower() == "true"
    try:
        return type(default)(text)
    except ValueError:
        raise UserError(place, f"{text!r} is no {type(default).__name__}") from None
