"""The judge: rates, sufficiency and information content of codes; it never reads a network's insides.

`audit` is loaded on first use, so that the package stays light.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diacritic.measure.audits import Audit, audit

__all__ = ["Audit", "audit"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'diacritic.measure' has no attribute {name!r}")
    from diacritic.measure import audits

    return getattr(audits, name)
