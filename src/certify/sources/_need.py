"""Optional packages, imported when they are used."""

from importlib import import_module
from types import ModuleType

from certify.errors import UserError


def need(module: str, extra: str = "sources") -> ModuleType:
    """The module, or one line that says which extra brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).partition(".")[0]
        raise UserError("", f"needs {package}; install the extra '{extra}'") from None
