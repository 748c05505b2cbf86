"""`python -m reproduction`: the paper again, from its runs to the scoreboard, and beyond it."""

import sys
from collections.abc import Sequence

from diacritic.cli import dispatch
from reproduction.commands.beyond import BeyondPaper
from reproduction.commands.films import Films
from reproduction.commands.forever import Forever, ForeverTraining
from reproduction.commands.need import NeedData, NeedStudy, NeedTrees
from reproduction.commands.paper import (
    Certificates,
    Figure,
    FiguresMeasure,
    Ladder,
    RecordingsSurvey,
    Report,
    Scoreboard,
    Survey,
)
from reproduction.commands.runs import Attribution, Live, PresetSearch, Ship
from reproduction.commands.study import Export, Import, List, Run, Show, Status

COMMANDS = {
    "list": List,
    "show": Show,
    "run": Run,
    "status": Status,
    "export": Export,
    "import": Import,
    "scoreboard": Scoreboard,
    "report": Report,
    "figure": Figure,
    "figures-measure": FiguresMeasure,
    "certificates": Certificates,
    "ladder": Ladder,
    "survey": Survey,
    "recordings-survey": RecordingsSurvey,
    "preset-search": PresetSearch,
    "attribution": Attribution,
    "live": Live,
    "ship": Ship,
    "films": Films,
    "beyond-paper": BeyondPaper,
    "forever": Forever,
    "forever-training": ForeverTraining,
    "need": NeedStudy,
    "need-trees": NeedTrees,
    "need-data": NeedData,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Bad input ends with one line on standard error and status 2."""
    given = sys.argv[1:] if arguments is None else arguments
    return dispatch(lambda: COMMANDS, "python -m reproduction", "The paper again, and beyond it.", given)


if __name__ == "__main__":
    sys.exit(main())
