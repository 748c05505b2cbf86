"""Predictions: what the reference says held, and an outcome of ours only where every run is there."""

from study_rows import run_of

from diacritic.studies.results import Results
from reproduction.catalogue import toys, weighing
from reproduction.predictions import predictions


def outcomes(results: Results) -> dict[str, tuple[bool, bool | None]]:
    return {outcome.prediction.said: (outcome.prediction.paper, outcome.ours) for outcome in predictions(results)}


def test_the_papers_outcomes_are_those_of_its_tables():
    actual = outcomes(Results({}))
    assert len(actual) == 7
    failed = [said for said, (paper, _) in actual.items() if not paper]
    assert [said.split(":")[0] for said in failed] == ["stochastic expert", "flag A gives an injected leak away"]
    assert all(ours is None for _, ours in actual.values())


def expert_rows(rate: float):
    for cell in toys.CELLS:
        if cell.task.name == "stochastic-expert" and cell.preset == "carousel":
            bits = {"rate": {"decision": rate}, "requirement": {"decision": 0.918}}
            yield from (run_of(cell, seed, **bits) for seed in cell.run_seeds)


def test_an_outcome_follows_the_runs():
    said = next(text for text in outcomes(Results({})) if text.startswith("stochastic expert"))
    assert outcomes(Results({"toys": list(expert_rows(0.95))}))[said] == (False, True)
    assert outcomes(Results({"toys": list(expert_rows(1.2))}))[said] == (False, False)


def weighed_rows(*sides: float):
    """Policies from the first step, one side accuracy a gap, and an insufficient run that is always wrong."""
    starts = [cell for cell in weighing.CELLS if cell.learner == "task-informed-start" and cell.demonstrations == 448]
    for cell, side in zip(starts, sides, strict=False):
        for seed in cell.run_seeds:
            yield run_of(cell, seed, sufficient=seed > 0, hybrid={"side": side if seed else 0.0, "success": 0.0})


def test_what_the_expert_weighs_is_judged_at_both_gaps():
    said = next(text for text in outcomes(Results({})) if text.startswith("weighing"))
    asked = {
        sides: outcomes(Results({"weighing": list(weighed_rows(*sides))}))[said] for sides in ((0.9, 0.9), (0.9, 0.7))
    }
    assert asked == {(0.9, 0.9): (True, True), (0.9, 0.7): (True, False)}
    assert outcomes(Results({"weighing": list(weighed_rows(0.9))}))[said] == (True, None)
