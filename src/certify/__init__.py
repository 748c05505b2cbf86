"""Exact memory requirements of finite symbolic models: how many bits a recurrent policy must carry, and why.

Names are loaded on first use, so that ``python -m certify --help`` starts without numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from certify.answer import Answer, Step, certify
    from certify.core.model import Model
    from certify.errors import OffSupportError, UserError
    from certify.machines.machine import Machine
    from certify.tolerance import within

_HOMES = {
    "Answer": "answer",
    "Machine": "machines.machine",
    "Model": "core.model",
    "UserError": "errors",
    "OffSupportError": "errors",
    "Step": "answer",
    "certify": "answer",
    "within": "tolerance",
}

__all__ = ["Answer", "Machine", "Model", "OffSupportError", "Step", "UserError", "certify", "within"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'certify' has no attribute {name!r}")
    return getattr(import_module(f"certify.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
