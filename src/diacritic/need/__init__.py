"""How much memory do raw demonstrations ask for? `diacritic.need(recording)` answers."""

from diacritic import callable_package

callable_package(__name__, "diacritic.need.answer", "need")
