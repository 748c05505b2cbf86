"""Finite toys, and the stochastic expert: six thousand steps, K = 16, β = 0.03 unless it is what varies."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

from certify import certify
from diacritic.files.ledger import Row
from diacritic.measure.gates import VARIATION
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import Task, model_of, task, windows
from reproduction.catalogue._declare import RECORDED, counted, from_paper, mean_of, reported
from reproduction.catalogue._figures import derived, study
from reproduction.derive import Derived, gathered, most_information, tally
from reproduction.paper import RELEASED, Paper, as_released
from reproduction.reference import block, figure, row
from reproduction.release import imitating
from reproduction.verdicts import RATE_TOLERANCE, Better, Count, Profile, Range, Value, value

NAME, STEPS = "toys", 6000
_AIDS = {
    "plain": "plain",
    "plain+bfs": "plain_bfs",
    "refinement": "plain_with_refinement",
    "refinement+bfs": "plain_bfs_with_refinement",
    "scaffold": "scaffold_R",
    "scaffold+bfs": "scaffold_RF",
    RECORDED: None,
}


_RELEASE_STEPS = {"reveal-toy": 2000, "stochastic-expert": 4000}


def _cell(task: Task, learner: str, ours: bool, beta: float, paper: Paper | None = None, **more: Any) -> Cell:
    """With our preset, or with that of the release, in its updates and with as many seeds as the paper counts; there
    each seed draws demonstrations of its own."""
    if ours:
        return Cell(NAME, task, learner, "carousel", "full", beta, STEPS, paper, **more)
    counted = {"seeds": paper.sufficient[1]} if paper and paper.sufficient and paper.sufficient[1] <= 8 else {}
    form = as_released(task)
    steps = _RELEASE_STEPS.get(form.name, STEPS)
    drawn = {"own_demonstrations": "demonstrations" in more}
    return Cell(NAME, form, learner, RELEASED[form.name], "full", beta, steps, paper, **{**counted, **drawn, **more})


def _gap(learner: str, ours: bool, paper: Paper | None = None, beta: float = 0.03, gap2: int = 6, **more: Any) -> Cell:
    return _cell(task("gap", gap2=gap2), learner, ours, beta, paper, **more)


def _enumeration(ours: bool) -> Iterator[Cell]:
    seeds, collapse = figure("toys.enumeration", "seeds"), figure("toys.enumeration", "collapse_beta")
    for learner in ("plain", "plain+bfs"):
        for beta in (0.0, 0.1, collapse):
            paper = counted("toys.enumeration", 0 if beta == collapse else seeds, seeds)
            yield _cell(task("reveal"), learner, ours, beta, paper)
        yield _cell(task("lost-cue"), learner, ours, 0.03)


def _aids(ours: bool) -> Iterator[Cell]:
    aids = block("toys.discovery_aids")
    for learner, key in _AIDS.items():
        for k, length in enumerate(aids["gap"]):
            paper = counted("toys.discovery_aids", aids[key][k], aids["of"]) if key else None
            yield _gap(learner, ours, paper, gap2=length)


def _reliability() -> Iterator[Cell]:
    """The curve over the second gap that the paper draws without numbers; other lengths are among the aids."""
    for learner in ("plain", "plain+bfs"):
        for length in (1, 3):
            yield from (_gap(learner, ours, gap2=length) for ours in (True, False))


def _stochastic(ours: bool) -> Iterator[Cell]:
    for text, p in (("7/10", 0.7), ("9/10", 0.9)):
        for beta in (0.0, 0.01, 0.03, 0.1):
            match: dict[str, Any] = {"beta": 0.0} if beta == 0 else {"beta_min": 0.01}
            paper = reported("stochastic_expert", row("stochastic_expert", p=p, **match), key="found")
            expert = task("stochastic-expert", p=text)
            drawn = 512 if ours else 6000
            yield _cell(expert, "plain", ours, beta, paper, demonstrations=drawn, codes=8, seeds=8)


def _forgetting(ours: bool) -> Iterator[Cell]:
    """The reveal toy from few demonstrations of an expert that errs: what the sample says of the nuisance is chance.

    The paper says n = 48 and p = 0.7 and no more; this is our reading. The n are demonstrations. The p is how often the
    decision is right, the parameter of the law wherever its expert is stochastic, and not a correlation of z with the
    class: an expert that never errs leaves a sample nothing to be overfitted to. There are 16 modes, since of 8 the
    surplus H(C|Γ,O) ≤ log₂(M/4) would be one bit at most, and the paper has 1.54.
    """
    for beta in figure("toys.selective_forgetting", "beta"):
        toy = task("reveal", modes=16, p="7/10")
        yield _cell(toy, "plain", ours, beta, demonstrations=48, seeds=4)


def _pressure(ours: bool) -> Iterator[Cell]:
    rates = {"first gap": "gap1_bits", "second gap": "gap2_bits"}
    for beta in (0.01, 0.1):
        paper = from_paper("toys.gap_rate_pressure", rates, beta=beta)
        law = {} if ours else {"p": "4/5"}  # as the authors ran it
        toy = task("gap", gap2=6, **law)
        yield _cell(toy, "plain", ours, beta, paper, demonstrations=512)


def _event_agnostic() -> Iterator[Cell]:
    """Beside plain imitation on all toys but the gap toy of the discovery aids, which has such cells already."""
    for cell in (*_enumeration(True), *_stochastic(True), *_pressure(True)):
        if cell.learner == "plain":
            yield replace(cell, learner=RECORDED, reference=None)


def _controls() -> Iterator[Cell]:
    for ours in (True, False):
        yield _gap("non-persistent", ours, from_paper("toys.ablation", variant="non-persistent"))
        yield _gap("unconditional", ours, from_paper("toys.ablation", variant="unconditional prior"))
    bypass = reported("toys.ablation", row("toys.ablation", variant="gru-bypass"), key="succeeded")
    for rate in (3e-4, 3e-3):
        yield _gap("bypass", False, bypass, rate=rate)
    for beta in (0.003, 0.03):
        yield _gap("gaussian", False, beta=beta)


def _cells() -> Iterator[Cell]:
    for ours in (True, False):
        for made in (_enumeration, _aids, _stochastic, _forgetting, _pressure):
            yield from made(ours)
    yield from _reliability()
    yield from _event_agnostic()
    yield from _controls()


CELLS = tuple(_cells())


_OWN = [cell for cell in CELLS if cell.learner != RECORDED and cell.preset == "carousel"]
_EXACT = [cell for cell in _OWN if cell.task == task("reveal") and cell.beta in (0.0, 0.1)]
_STOCHASTIC = [cell for cell in CELLS if cell.task.name == "stochastic-expert" and cell.learner == "plain"]
_CONTINUOUS = row("toys.ablation", variant="continuous")
_GAUSSIAN = [cell for cell in CELLS if cell.learner == "gaussian" and cell.beta == _CONTINUOUS["only_beta"]]
_NOTHING = 1e-3  # bits, beyond the rounding of ledgers; one of three states apart is two thirds of a bit


def _at_means(run: Row) -> float | None:
    """Bits of a sufficient Gaussian memory in the first gap, along its means, as the release computes them."""
    return run.get("kl_bits_at_means", {}).get("first gap") if run["sufficient"] else None


def _over_steps(profile: Sequence[float] | None) -> float | None:
    return None if profile is None else mean(profile)


def _on_the_nuisance(run: Row) -> float | None:
    return _over_steps(run.get("information_profile", {}).get("nuisance"))


_FORGOTTEN: tuple[tuple[str, str, Callable[[Row], float | None]], ...] = (
    ("bits on the nuisance", "nuisance_bits", _on_the_nuisance),
    ("surplus bits", "surplus_bits", lambda run: _over_steps(run.get("surplus_profile"))),
    ("S_Γ before the decision", "S_gamma_decision", lambda run: run.get("sufficiency_profile", (None, None))[-2]),
)
"""As the release computes them: means over all four steps, and the score of the third."""


def _over_beta(ours: bool, told: Callable[[Row], float | None]) -> Derived:
    """Means over the seeds of selective forgetting, one for each β; nothing while a run is missing."""
    cells = list(_forgetting(ours))

    def derive(results: Results) -> Value | None:
        ranges = [mean_of([cell], told)(results) for cell in cells]
        means = [one.low for one in ranges if isinstance(one, Range)]
        return Profile(tuple(means)) if len(means) == len(cells) else None

    return derive


def _shares(run: Row) -> bool:
    """Whether states of one law have one code at the decision: H(C|Γ,O) = 0, since Γ is the law there."""
    return run["conditional_surplus"]["decision"] < _NOTHING


def _tells_all_apart(run: Row) -> bool:
    """Whether the three states have three codes: two codes hold at most h₂(1/3), which is the requirement."""
    return run["rate"]["decision"] > run["requirement"]["decision"] + _NOTHING


_MERGED: tuple[tuple[str, str, Callable[[Row], bool], Better], ...] = (
    ("runs in which states with one law share a code", "runs_equal_law_states_share_code", _shares, "higher"),
    ("runs that use three codes", "runs_using_three_codes", _tells_all_apart, "lower"),
)


def _stochastic_runs(passes: Callable[[Row], bool], ours: bool = True) -> Derived:
    """How many runs on the stochastic expert pass; nothing while one is missing or does not tell its surplus."""
    cells = [cell for cell in _STOCHASTIC if (cell.preset == "carousel") == ours]

    def derive(results: Results) -> Value | None:
        told = all(run.get("conditional_surplus", {}).get("decision") is not None for run in gathered(results, cells))
        return tally(cells, passes)(results) if told else None

    return derive


def _imitating(learner: str) -> Derived:
    """Runs of the discovery aids, over their gaps, that succeed as the release counts; nothing while one is open."""
    cells = [cell for cell in _aids(False) if cell.learner == learner]

    def derive(results: Results) -> Value | None:
        verdicts = [imitating(run) for run in gathered(results, cells)]
        return None if not verdicts or None in verdicts else Count(sum(map(bool, verdicts)), len(verdicts))

    return derive


def _after_use() -> Value:
    """H(Γ_t|O_t) of the gap toy between its decisions."""
    toy = task("gap", gap2=figure("toys.gap_reliability", "staircase_gap2"))
    second = windows(toy)["second gap"]
    return value(certify(model_of(toy)).steps[second[len(second) // 2] - 1].upper)


STUDY = study(
    NAME,
    CELLS,
    {
        "gap toy: bits that are needed between the decisions": _after_use,
        "reveal toy: bits on the nuisance below the collapse": most_information(_EXACT, "nuisance"),
        "stochastic expert: runs in which states with one law share a code": _stochastic_runs(_shares),
        "stochastic expert: runs that use three codes": _stochastic_runs(_tells_all_apart),
    },
    (
        *(
            derived(
                f"selective forgetting, {'carousel' if ours else 'release'}, over β: {title}",
                "toys.selective_forgetting",
                value(figure("toys.selective_forgetting", key)),
                _over_beta(ours, told),
                RATE_TOLERANCE,
            )
            for ours in (True, False)
            for title, key, told in _FORGOTTEN
        ),
        *(
            derived(
                f"stochastic expert, release: {title}",
                "stochastic_expert",
                Count(figure("stochastic_expert", key), figure("stochastic_expert", "runs")),
                _stochastic_runs(passes, ours=False),
                better=better,
            )
            for title, key, passes, better in _MERGED
        ),
        *(
            derived(
                f"gaps 6, 10 and 15, {learner}: runs within {VARIATION:g} of the expert's law at the second decision",
                "toys.discovery_aids",
                Count(sum(block("toys.discovery_aids")[key]), 3 * figure("toys.discovery_aids", "of")),
                _imitating(learner),
                better="higher",
            )
            for learner, key in _AIDS.items()
            if key is not None
        ),
        derived(
            "continuous bottleneck: KL in bits along its means in the first gap, sufficient seeds",
            "toys.ablation",
            value(_CONTINUOUS["kl_bound_bits"]),
            mean_of(_GAUSSIAN, _at_means),
            RATE_TOLERANCE,
        ),
    ),
)
