"""Optional packages, imported when they are used."""

from importlib import import_module
from types import ModuleType

from certify.errors import UserError


def import_optional(module: str, extra: str) -> ModuleType:
    """Import an optional module, or raise one line that names the extra that installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).partition(".")[0]
        raise UserError("", f"needs {package}; install the extra '{extra}'") from None
