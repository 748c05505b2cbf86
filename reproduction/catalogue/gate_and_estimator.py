"""How much verdicts and rates depend on gate, threshold, estimator and resolution; leak probe and binner."""

from functools import partial

from diacritic.files.ledger import Row
from diacritic.measure.resolution import GRIDS
from diacritic.studies.results import Results
from reproduction.catalogue import plain_trajectories, surplus
from reproduction.catalogue._figures import derived, study
from reproduction.catalogue._run_figures import resolution
from reproduction.catalogue.requirements import recording
from reproduction.derive import declared, gathered
from reproduction.reference import figure, row
from reproduction.verdicts import Count, Value, value

_GATE = "gate_sensitivity"
SHARP = 0.999  # above, a score counts as perfect
_PASSES, _RUNS = figure(_GATE, "full_passes_stored"), figure(_GATE, "runs_with_stored_requirements")
_CLASSES = {"beta1": "side", "beta2": "slot", "theta": "theta", "mass_bin": "mass", "distractor_z": "distractor"}
_PHASES = {"identification": "scan", "gap1": "gap1", "grasp": "grasp", "gap2": "gap2", "place": "place"}

_LARGE = [cell for cell in plain_trajectories.STUDY.cells if cell.preset == "carousel"]


def least_score(entry: Row) -> float | None:
    """The least S_Γ or S_G that a row of a sole carrier reports."""
    scores = [part for window in entry.get("scores", {}).values() for part in window.values() if part is not None]
    return min(scores) if scores else None


def _least(results: Results) -> list[float]:
    return [score for entry in declared(results) if (score := least_score(entry)) is not None]


def _above(threshold: float, results: Results) -> Value | None:
    """Runs whose least score exceeds a threshold."""
    least = _least(results)
    return Count(sum(score > threshold for score in least), len(least)) if least else None


def _perfect(results: Results) -> Value | None:
    passing = [score for score in _least(results) if score > 0.9]
    return Count(sum(score > SHARP for score in passing), len(passing)) if passing else None


def _disagreements(results: Results) -> Value | None:
    """Held-out pairs on which the frozen binner disagrees, over all accepted recordings."""
    rows = [entry for entry in results.files.get("acceptance", ()) if entry["flaw"] is None]
    wrong = [entry["disagreements"][name][1] for entry in rows for name in entry["disagreements"]]
    return value(sum(wrong)) if wrong else None


def _probe(phase: str, hidden: str, results: Results) -> Value | None:
    recorded = recording(results, "two-cues-gap6")
    if recorded is None:
        return None
    accuracy = recorded["leaks"]["accuracy"]
    accuracies = [accuracy[f"{phase} × {hidden} ({kind})"] for kind in ("linear", "kernel")]
    return value(max(accuracies))


def _correction(results: Results) -> Value | None:
    """The largest mean correction of a window over the plain runs on the large set."""
    rows = gathered(results, _LARGE)
    moved = [
        entry["corrected_rate"][window] - entry["rate"][window]
        for entry in rows
        for window in entry.get("corrected_rate", {})
        if entry["corrected_rate"][window] is not None
    ]
    return value(max(moved)) if moved else None


def _beyond_null(results: Results) -> Value | None:
    """The largest of those runs, over all grids."""
    excess = [max(entry["resolution_excess"]) for entry in gathered(results, _LARGE) if entry.get("resolution_excess")]
    return value(max(excess)) if excess else None


def _refined(k: int, results: Results) -> Value | None:
    """The mean over the sufficient ones among those runs, on the k-th grid."""
    rows = gathered(results, _LARGE)
    rates = [entry["resolution"][k] for entry in rows if entry["sufficient"] and entry.get("resolution")]
    return value(sum(rates) / len(rates)) if rates else None


STUDY = study(
    "gate-and-estimator",
    (),
    {
        "resolution sweep: largest gap between a rate and its permutation null, bits": _beyond_null,
        "binner: held-out pairs that disagree": _disagreements,
        "Miller–Madow: largest correction on the large set, bits": _correction,
    },
    (
        derived(
            "passing runs whose every score is above 0.999",
            _GATE,
            Count(figure(_GATE, "full_passes_all_scores_above_0_999"), _PASSES),
            _perfect,
        ),
        *(
            derived(
                f"runs whose least score is above {threshold}", _GATE, Count(passed, _RUNS), partial(_above, threshold)
            )
            for threshold, passed in (
                (0.8, figure(_GATE, "passes_at_threshold_0_8")),
                (0.9, _PASSES),
                (0.95, figure(_GATE, "passes_at_threshold_0_95")),
            )
        ),
        *(
            derived(
                f"leak probe, {ours}: {_CLASSES[hidden]}",
                "table.leak",
                value(entry[hidden]),
                partial(_probe, ours, _CLASSES[hidden]),
                0.1,
                None if hidden in entry["visible"] or hidden == "distractor_z" else "lower",
            )
            for said, ours in _PHASES.items()
            for entry in [row("table.leak", phase=said)]
            for hidden in _CLASSES
            if hidden in entry
        ),
        *(
            derived(
                f"plain, sufficient seeds: bits in the first gap given the position on a grid of {metres * 100:g} cm",
                "resolution_sweep",
                value(bits),
                partial(_refined, k),
                0.1,
            )
            for k, (metres, bits) in enumerate(zip(GRIDS, figure("resolution_sweep", "first_gap_bits"), strict=True))
        ),
        *resolution(surplus.ANNEALED, "event-agnostic at gap 20"),
    ),
)
