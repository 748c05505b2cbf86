"""Identification beside the policy: in the policy's own code, or in a second carrier that the policy never reads."""

from diacritic.studies.catalogue._declare import found, franka
from diacritic.studies.cell import Cell, Study
from diacritic.studies.figure import Figure
from diacritic.studies.reference import row
from diacritic.studies.tasks import task
from diacritic.studies.verdicts import value

NAME, _BLOCK = "dual", "table.dual"
_RATE = {"gap2": "code_bits"}  # transport
_CONFIGURATIONS = {"DIACRITIC": "plain", "shared weight 1": "sysid", "shared weight 0.1": "sysid-light"}
_SECOND = {"dual carrier": "dual", "dual stop-gradient": "dual-detached"}


def _cell(modes: int, episodes: int, configuration: str, learner: str) -> Cell:
    known = {"M": modes, "configuration": configuration}
    paper = found(_BLOCK, _RATE, **known)
    place, codes = task("hidden-mass", modes=modes), row(_BLOCK, **known)["K"]
    return franka(NAME, place, learner, paper, codes=codes, demonstrations=episodes)


STUDY = Study(
    NAME,
    "Identification in a second carrier",
    "Naming the mass spoils the policy when both share one code; a second carrier keeps them apart.",
    inventory=(128,),
    blocks=(_BLOCK,),
    cells=(
        *(
            _cell(modes, episodes, configuration, learner)
            for modes, episodes in ((32, 448), (512, 1000))
            for configuration, learner in _CONFIGURATIONS.items()
        ),
        *(_cell(32, 448, configuration, learner) for configuration, learner in _SECOND.items()),
    ),
    order=4,
)
FIGURES = tuple(
    Figure(
        f"M=512, {configuration}: closed loop",
        _BLOCK,
        value(row(_BLOCK, M=512, configuration=configuration)["closed_loop"]),
        lacks="a second carrier with 1024 codes",
    )
    for configuration in _SECOND
)
