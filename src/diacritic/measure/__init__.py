"""The judge: rates, sufficiency and information content of codes; it never reads a network's insides.

`diacritic.measure(runs, need)` gives the verdicts on saved runs. Names are loaded on first use.
"""

from typing import TYPE_CHECKING, Any

from diacritic import callable_package

if TYPE_CHECKING:
    from diacritic.measure.audits import Audit, audit

__all__ = ["Audit", "audit"]


callable_package(__name__, "diacritic.measure.runs", "measure")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'diacritic.measure' has no attribute {name!r}")
    from diacritic.measure import audits

    return getattr(audits, name)
