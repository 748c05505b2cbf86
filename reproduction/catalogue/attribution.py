"""Is it the code that remembers? A bypass that keeps a continuous path, a code without carry, memory in the body."""

from diacritic.studies.results import Results
from reproduction.catalogue import interventions, lower_boundary, signpost_corridor
from reproduction.catalogue._figures import study
from reproduction.derive import declared, rate_range, tally
from reproduction.verdicts import Count, Range, Value

_BLOCK = "attribution"
_CORRIDOR = [cell for cell in signpost_corridor.CELLS if cell.learner == "bypass"]
_WITHOUT_CARRY = [cell for cell in interventions.STUDY.cells if cell.learner == "non-persistent"]
_CUES = [cell for cell in lower_boundary.STUDY.cells if cell.learner == "bypass"]


def _body(results: Results) -> Value | None:
    """The stretch of the class-conditional separations, from the rows of `python -m reproduction attribution`."""
    rows = [entry for entry in results.files.get("attribution", ()) if entry["cell"] == "code alone"]
    apart = [cm for entry in rows for cm in entry["apart_cm"].values()]
    return Range(min(apart), max(apart)) if apart else None


def _agreeing(results: Results) -> Value | None:
    """Over every run in our ledgers that was played where both can be told."""
    both = [entry for entry in declared(results) if entry.get("own_sufficient") is not None]
    return Count(sum(entry["own_sufficient"] == entry["sufficient"] for entry in both), len(both)) if both else None


STUDY = study(
    _BLOCK,
    (),
    {
        "bypass, corridor: bits that its readout code shows in hall 1, where two are needed": rate_range(
            _CORRIDOR, "hall 1", over_all=True
        ),
        "bypass, two cues: bits that its readout code shows in the first gap, where two are needed": rate_range(
            _CUES, "gap1", over_all=True
        ),
        "expert's and own occupancy: verdicts that agree": _agreeing,
        "non-persistent code: sufficient runs": tally(_WITHOUT_CARRY),
        "body memory of sole carriers: separation of positions in the hidden gaps, cm": _body,
    },
)
