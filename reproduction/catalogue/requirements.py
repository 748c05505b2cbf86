"""Certified requirements of the robot tasks, from the ledger of accepted recordings (results/acceptance.jsonl)."""

from functools import partial

from diacritic.files.ledger import Row
from diacritic.studies.results import Results
from reproduction.catalogue._figures import derived, study
from reproduction.figure import Figure
from reproduction.reference import figure
from reproduction.verdicts import Count, Profile, Range, Value, value

_EXACT = 1e-9


def recording(results: Results, dataset: str) -> Row | None:
    """What the acceptance checks found of one recording."""
    return next((row for row in results.files.get("acceptance", ()) if row["dataset"] == dataset), None)


def _bits(datasets: tuple[str, ...], phases: tuple[str, ...], results: Results) -> Value | None:
    """The largest requirement H(Γ_t|Ō_t) of each phase, where all recordings agree on it."""
    rows = [row for name in datasets if (row := recording(results, name))]
    if len(rows) < len(datasets):
        return None
    profiles = {tuple(max(row["certificate"]["requirement"][phase]) for phase in phases) for row in rows}
    return Profile(profiles.pop()) if len(profiles) == 1 else None


def _last(datasets: tuple[str, ...], quantity: str, phase: str, results: Results) -> Value | None:
    """The least of a quantity in a phase, over some recordings."""
    rows = [row for name in datasets if (row := recording(results, name))]
    if len(rows) < len(datasets):
        return None
    least = [min(row["certificate"][quantity][phase]) for row in rows]
    return Range(min(least), max(least))


def _covered(results: Results) -> Value | None:
    """Accepted state recordings in which no configuration is missing."""
    rows = [row for row in results.files.get("acceptance", ()) if row["flaw"] is None and not row["pixel_leaks"]]
    return Count(sum(row["coverage"]["unseen_count"] == 0 for row in rows), len(rows)) if rows else None


def _needs(name: str, block: str, bits: list[float], datasets: tuple[str, ...], phases: tuple[str, ...]) -> Figure:
    return derived(name, block, value(bits), partial(_bits, datasets, phases), _EXACT)


_TWO = ("two-cues-gap6", "two-cues-gap10", "two-cues-gap20")
_MASS = ("hidden-mass-4", "hidden-mass-32", "hidden-mass-512")


STUDY = study(
    "requirements",
    (),
    {
        "two cues: after placing": partial(_last, _TWO, "requirement", "place"),
        "recordings in which no configuration is missing": _covered,
    },
    (
        _needs(
            "two cues: first gap, second gap",
            "certify.aprime",
            [figure("certify.aprime", "first_gap_bits"), figure("certify.aprime", "second_gap_bits")],
            _TWO,
            ("gap1", "gap2"),
        ),
        _needs(
            "hidden mass: first gap",
            "certify.task_a",
            [figure("certify.task_a", "grasp_requirement_bits")],
            _MASS,
            ("gap1",),
        ),
        *(
            _needs(
                f"{name}: first gap, transport",
                f"certify.{name.replace('-', '_')}",
                figure(f"certify.{name.replace('-', '_')}", "profile_bits")[:2],
                tuple(f"{name}-{modes}" for modes in (32, 128, 512)),
                ("gap1", "gap2"),
            )
            for name in ("readout-2", "readout-3")
        ),
        _needs(
            "full reveal: first gap, second gap",
            "certify.p_i",
            [figure("certify.p_i", "first_gap_bits"), figure("certify.p_i", "second_gap_bits")],
            ("full-reveal-4", "full-reveal-32", "full-reveal-512"),
            ("gap1", "gap2"),
        ),
        _needs(
            "four classes each: first gap",
            "certify.tier16",
            [figure("certify.tier16", "uniform_join_bits")],
            ("two-cues-classes4",),
            ("gap1",),
        ),
        _needs(
            "weighing: gap",
            "certify.weighing",
            [figure("certify.weighing", "requirement_putdown_to_grasp_bits")],
            ("weighing-gap6", "weighing-gap20"),
            ("gap1",),
        ),
    ),
)
