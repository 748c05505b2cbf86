"""Identification beside the policy: in the policy's own code, or in a second carrier that the policy never reads."""

from collections.abc import Iterator

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.catalogue._declare import franka, reported
from reproduction.catalogue._figures import study
from reproduction.reference import block

NAME, _BLOCK = "dual", "table.dual"
_RATE = {"gap2": "code_bits"}  # transport
_CONFIGURATIONS = {
    "DIACRITIC": "plain",
    "shared weight 1": "sysid",
    "shared weight 0.1": "sysid-light",
    "dual carrier": "dual",
    "dual stop-gradient": "dual-detached",
}
_USUAL = 256  # codes of a second carrier; learners with another number are named after it


def _cells() -> Iterator[Cell]:
    for entry in block(_BLOCK)["rows"]:
        learner, second = _CONFIGURATIONS[entry["configuration"]], entry.get("K_id", _USUAL)
        learner += "" if second == _USUAL else f"-{second}"
        instance, paper = task("hidden-mass", modes=entry["M"]), reported(_BLOCK, entry, _RATE)
        yield franka(NAME, instance, learner, paper, codes=entry["K"], demonstrations=entry["N"])


STUDY = study(NAME, tuple(_cells()))
