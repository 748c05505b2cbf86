"""KEY=VALUE on the command line as the parameters of a task."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from certify.errors import UserError
from diacritic.tasks.named import pairs
from diacritic.tasks.remedies import remedies

if TYPE_CHECKING:
    from diacritic.tasks.protocol import Task


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


def _read(where: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise UserError(where, f"{text!r} is neither true nor false")
        return text.lower() == "true"
    try:
        return type(default)(text)
    except ValueError:
        raise UserError(where, f"{text!r} is not of type {type(default).__name__}") from None
