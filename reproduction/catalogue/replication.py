"""The same models judged on independent recordings, and the solver rebuilt from them."""

from collections.abc import Sequence

from diacritic.files.ledger import Row
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import task
from reproduction.catalogue import full_reveal, hidden_mass, learning_targets
from reproduction.catalogue._declare import mean_of
from reproduction.catalogue._figures import derived, study
from reproduction.derive import Derived, declared, tally
from reproduction.reference import figure, row
from reproduction.verdicts import RATE_TOLERANCE, Count, Value, value


def _same(entry: Row) -> bool:
    return entry.get("fresh_sufficient") == entry["sufficient"]


def _of(cells: Sequence[Cell], learner: str, **match: object) -> list[Cell]:
    return [c for c in cells if c.learner == learner and all(getattr(c, key) == want for key, want in match.items())]


def _mass(modes: int) -> list[Cell]:
    frozen = {"preset": "carousel", "codes": 16, "beta": 1e-3, "demonstrations": 448}
    return _of(hidden_mass.CELLS, "plain", task=task("hidden-mass", modes=modes), **frozen)


def _solver(results: Results) -> Value | None:
    """Recordings whose certificate an independent recording does not change."""
    rows = [entry for entry in results.files.get("acceptance", ()) if entry["flaw"] is None and entry["fresh"]]
    return Count(sum(entry["fresh"]["identical"] for entry in rows), len(rows)) if rows else None


def _everything(results: Results) -> Value | None:
    """Over every run that was judged twice."""
    rows = [entry for entry in declared(results) if entry.get("fresh_sufficient") is not None]
    return value(sum(map(_same, rows)) / len(rows)) if rows else None


def _rate(cells: Sequence[Cell]) -> Derived:
    """Mean bits in the first gap on fresh episodes, over all seeds."""
    return mean_of(cells, lambda entry: entry["fresh_rate"]["gap1"])


def _identified(modes: int, codes: int) -> list[Cell]:
    frozen = {"preset": "carousel", "codes": codes, "demonstrations": 448}
    return _of(hidden_mass.CELLS, "sysid", task=task("hidden-mass", modes=modes), **frozen)


def _informed(modes: int, episodes: int) -> list[Cell]:
    return _of(full_reveal.CELLS, "task-informed", task=task("full-reveal", modes=modes), demonstrations=episodes)


_VERDICTS = "replication.verdicts"
_EVENT = figure(_VERDICTS, "frozen_event_agnostic")
_RECORDINGS = len(figure("replication.main", "fresh_episodes"))
_LARGE = row("replication.large_M", task="P-I", learner="task-informed", M=512, N=448)


STUDY = study(
    "replication",
    (),
    {
        "task-informed, gaps 10 and 20, M=16 and 32: verdicts that stay": tally(
            learning_targets.of("task-informed")[1:], _same
        ),
        "all models: share of verdicts that stay": _everything,
    },
    (
        derived(
            "recordings whose certificate stays the same",
            "replication.main",
            Count(_RECORDINGS, _RECORDINGS),
            _solver,
            better="higher",
        ),
        derived(
            "event-agnostic: verdicts that stay",
            _VERDICTS,
            Count(_EVENT["pass_to_pass"] + _EVENT["fail_to_fail"], sum(_EVENT.values())),
            tally(learning_targets.of("event-agnostic"), _same),
            better="higher",
        ),
        *(
            derived(
                f"hidden mass M={entry['M']}, plain: sufficient on fresh episodes",
                "replication.main",
                Count(entry["sufficient"], entry["of"]),
                tally(_mass(entry["M"]), lambda line: bool(line["fresh_sufficient"])),
                better="higher",
            )
            for entry in figure("replication.main", "diacritic_task_a")
        ),
        *(
            derived(
                f"hidden mass M={entry['M']}, identification K={entry['K']}: sufficient on fresh episodes",
                "replication.main",
                Count(entry["sufficient_fresh"], entry["of"]),
                tally(_identified(entry["M"], entry["K"]), lambda line: bool(line["fresh_sufficient"])),
            )
            for entry in figure("replication.main", "system_id")
        ),
        *(
            derived(
                f"full reveal M={entry['M']}, N={entry['N']}, task-informed: bits in the first gap on fresh episodes",
                "replication.large_M",
                value(entry["rate_fresh_bits"]),
                _rate(_informed(entry["M"], entry["N"])),
                RATE_TOLERANCE,
                "lower",
            )
            for entry in figure("replication.large_M", "rows")
            if entry["learner"] == "task-informed"
        ),
        derived(
            "full reveal M=512, task-informed: change of the first gap's bits",
            "replication.large_M",
            value(round(_LARGE["rate_fresh_bits"] - _LARGE["rate_train_bits"], 3)),
            mean_of(_informed(512, 448), lambda entry: entry["fresh_rate"]["gap1"] - entry["recorded_rate"]["gap1"]),
            0.05,
            "lower",
        ),
    ),
)
