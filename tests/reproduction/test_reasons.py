"""The reasons that stand in reasons.toml are what ledgers and a recording say."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from statistics import mean

import numpy as np
import pytest

from diacritic.files.ledger import Row
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import task
from reproduction.catalogue import (
    cue_corridor,
    full_reveal,
    hidden_mass,
    interventions,
    learning_targets,
    lower_boundary,
    open_loop,
    side_information,
    signpost_corridor,
    statistics,
    toys,
    weighing,
)
from reproduction.derive import mean_rate, passed, sufficient
from reproduction.paper import PaperStudy, paper_count
from reproduction.reference import block
from reproduction.reference import row as row_of
from reproduction.statistics import fisher
from reproduction.verdicts import Count

ROOT = Path(__file__).parents[2]
REASONS = tomllib.loads((ROOT / "reproduction" / "reasons.toml").read_text(encoding="utf-8"))
RUNS = Results.read(ROOT / "results")


def runs(study: PaperStudy, learner: str, **asked: int) -> list[Row]:
    """Runs of `carousel` in the cells of a study with these parameters of the task and settings of the cell."""

    def fits(cell: Cell) -> bool:
        given = {"demonstrations": cell.demonstrations} | dict(cell.task.parameters)
        return (cell.learner, cell.preset) == (learner, "carousel") and asked.items() <= given.items()

    by_run = {row["run"]: row for cell in study.cells if fits(cell) for row in RUNS.runs(cell)}
    assert by_run
    return list(by_run.values())


def wrong(rows: list[Row], decision: str, episodes: str = "decision_error") -> float:
    return mean(row[episodes][decision] for row in rows)


def test_bits_of_event_agnostic_targets_are_the_ledgers():
    def bits(**asked: int) -> str:
        passing = [row for row in runs(learning_targets.STUDY, "event-agnostic", **asked) if row["recorded_sufficient"]]
        return f"{mean(row['recorded_rate']['gap1'] for row in passing):.2f}"

    told = REASONS["learning-targets"]["event-agnostic: bits in the first gap"]
    assert f"hold {bits(modes=16)} (16 modes) and {bits(modes=32)} bits (32)" in told
    gaps = [bits(gap=gap) for gap in (6, 10, 20)]
    assert f"at the three gaps {min(gaps)} to {max(gaps)}" in told


def test_shares_of_decisions_that_full_reveal_gets_wrong_are_the_ledgers():
    told, of_all = REASONS["full-reveal"], REASONS["replication"]["full reveal"]
    some, many, long = (
        runs(full_reveal.STUDY, "task-informed", modes=modes, demonstrations=n)
        for modes, n in ((128, 448), (512, 448), (512, 1000))
    )
    learned = [wrong(rows, name, "decision_error_learned") for rows in (some, many, long) for name in ("side", "slot")]
    assert learned[:2] == [0, 0]
    assert "no decision of a learned episode" in told["M=128"]
    assert f"{max(learned[2:4]):.3f} of the decisions in learned" in told["M=512"]
    assert f"at most {max(learned):.3f} of the decisions in learned" in of_all
    for rows, line in ((some, told["M=128"]), (many, told["M=512"])):
        assert f"{wrong(rows, 'side'):.2f} of the held-out sides and {wrong(rows, 'slot'):.2f} of the slots" in line
    sides = [f"{wrong(rows, 'side'):.2f}" for rows in (some, many, long)]
    assert "{} of the held-out sides (M=128), {} (M=512) and {} (N=1000)".format(*sides) in of_all


def test_who_holds_the_mass_during_the_grasp_is_the_ledgers():
    told = REASONS["side-information"]["hidden mass, matched: bits during the grasp"]
    holding = {
        modes: sum(row["rate"]["grasp"] > 0.1 for row in runs(side_information.STUDY, "matched", modes=modes))
        for modes in (4, 8, 16, 32)
    }
    assert holding == {4: 3, 8: 2, 16: 0, 32: 0}
    assert "two of eight runs with 8 modes and three with 4" in told
    assert "no run with 16 or 32 modes" in told


def test_what_a_closed_loop_of_matched_side_information_loses_is_the_ledgers():
    told = REASONS["side-information"]["hidden mass, matched: closed loop"]
    rows = {modes: runs(side_information.STUDY, "matched", modes=modes) for modes in (4, 8, 16, 32)}
    assert min(rows, key=lambda modes: mean(row["success"] for row in rows[modes])) == 16
    off = [row for row in rows[16] if row["action_error_cm"] > 0.8]
    near = [row for row in rows[16] if row not in off]
    assert (len(off), len(near), {row["side"] for row in rows[16]}) == (3, 5, {1.0})
    errors = [row["action_error_cm"] for row in off]
    assert f"slots in {mean(row['slot'] for row in rows[16]):.3f} of them" in told
    assert f"{min(errors):.1f} to {max(errors):.1f} cm off" in told
    assert f"of which {mean(row['success'] for row in off):.2f} succeed" in told
    assert f"at most {max(row['action_error_cm'] for row in near):.1f} cm in the other five" in told
    assert f"of which {mean(row['success'] for row in near):.2f} do" in told


def precision(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Runs whose actions are less than a centimetre off, and the others."""
    near = [row for row in rows if row["action_error_cm"] < 1]
    return near, [row for row in rows if row not in near]


def test_the_expired_side_is_all_that_plain_runs_hold_beyond_the_requirement():
    told = REASONS["lower-boundary"]
    by_beta = {cell.beta: RUNS.complete(cell) for cell in lower_boundary.PLAIN}

    def expired(beta: float) -> list[float]:
        return [row["information"]["gap2"]["I(C;side|slot)"] for row in by_beta[beta]]

    for beta, rows in by_beta.items():
        beyond = mean(row["rate"]["gap2"] - row["requirement"]["gap2"] for row in rows)
        assert mean(expired(beta)) == pytest.approx(beyond, abs=0.02)
    usual, strong = expired(1e-3), [expired(beta) for beta in (2e-3, 3e-3)]
    assert (
        f"{mean(usual):.2f} bit: three of eight runs keep it whole, three a part" in told["plain, β=0.001: bits after"]
    )
    assert (sum(bits > 0.9 for bits in usual), sum(0.1 < bits <= 0.9 for bits in usual)) == (3, 3)
    assert "{:.2f} and {:.2f} bit: eleven".format(*map(mean, strong)) in told["stronger β: bits after"]
    assert sum(bits > 0.9 for part in strong for bits in part) == 11


@pytest.mark.parametrize(
    ("cells", "line", "counts"),
    [
        (lower_boundary.PLAIN[:2], "β up to 0.0003: closed loop", (11, 5)),
        (lower_boundary.PLAIN, "sufficient policies, one by one", (28, 12)),
    ],
)
def test_sufficient_policies_that_fail_are_imprecise(cells: tuple[Cell, ...], line: str, counts: tuple[int, int]):
    rows = [row for cell in cells for row in RUNS.complete(cell)]
    assert all(row["sufficient"] and row["side"] == 1 for row in rows)
    near, off = precision(rows)
    assert (len(near), len(off)) == counts
    told = REASONS["lower-boundary"][line]
    assert f"slots in at least {min(row['slot'] for row in rows):.2f}" in told
    assert f"succeed in {mean(row['success'] for row in off):.2f} of the episodes" in told
    assert f"the others in {mean(row['success'] for row in near):.2f}" in told
    assert "up to" not in told or f"up to {max(row['action_error_cm'] for row in off):.1f}," in told


def test_how_few_runs_with_four_masses_hold_them_is_the_ledgers():
    told = REASONS["hidden-mass"]["plain: most bits on the mass"]
    plain = [cell for cell in hidden_mass.CELLS if (cell.learner, cell.preset) == ("plain", "carousel")]
    few = next(cell for cell in plain if cell.task == task("hidden-mass", modes=4) and cell.beta == 1e-3)
    bits = sorted(row["information"]["grasp"]["I(C;mass|symbol)"] for row in RUNS.complete(few))
    assert len(bits) == 16
    assert "hold {:.2f}, {:.2f} and {:.2f} bit of it".format(*bits[-3:]) in told
    assert f"the others at most {bits[-4]:.2f}" in told


def test_what_a_bypass_shows_varies_as_told():
    told, (cell,) = (
        REASONS["lower-boundary"]["bypass: bits"],
        [c for c in lower_boundary.STUDY.cells if c.learner == "bypass"],
    )
    bits = [row["recorded_rate"]["gap1"] for row in RUNS.complete(cell)]
    paper = row_of("table.quadrant", variant="gru-bypass")["readout_bits"]
    assert f"from {min(bits):.2f} to {max(bits):.2f} bits" in told
    assert min(bits) < paper < max(bits)


def test_what_of_weighing_is_of_version_1_is_the_ledgers():
    told = REASONS["weighing"]
    starts = [cell for cell in weighing.CELLS if cell.learner == "task-informed-start"]
    usual, more = [c for c in starts if c.demonstrations == 448], [c for c in starts if c.demonstrations == 896]
    before, now = ([RUNS.complete(cell) for cell in cells] for cells in (usual, more))
    assert (len(before), len(now)) == (3, 2)
    assert all(row.get("task_version", 1) == 1 for rows in before for row in rows)
    assert all(row["task_version"] == 2 for rows in now for row in rows)
    bits = [[mean_rate(rows, "gap1") or 0 for rows in both] for both in (before, now)]
    of_mass = [mean(row["information"]["gap1"]["I(C;mass|symbol)"] for row in rows) for rows in now]
    assert f"{min(bits[0]):.2f} to {max(bits[0]):.2f} bits" in told["task-informed from the first step"]
    assert "{:.2f} and {:.2f}, of which".format(*bits[1]) in told["task-informed from the first step"]
    assert [f"{bits:.2f}" for bits in of_mass] == ["1.90", "1.90"]
    assert "of which 1.90 are about the mass" in told["task-informed from the first step"]
    for rows, gap in zip(now, (6, 20), strict=True):
        success = mean(row["hybrid"]["success"] for row in rows if passed(row))
        assert told[f"hybrid rollout of the sufficient runs, gap {gap}: success"].endswith(f"{success:.2f}")
    errors = [[mean(row["imitation_error"]["scan"] for row in rows) for rows in both] for both in (before[:2], now)]
    for line in ("task-informed", "system-id"):
        assert "{:.3f} and {:.3f}".format(*errors[1]) in told[f"squared action error in the weighing block, {line}"]
    assert "{:.3f} and {:.3f}".format(*errors[0]) in told["squared action error in the weighing block, system-id"]


def test_the_seeds_that_flatten_the_slope_over_four_cues_are_the_ledgers():
    told = REASONS["statistics"]["cue corridor, 4 cues"]
    cells = [c for c in cue_corridor.STUDY.cells if (c.learner, c.preset) == ("plain", "release-corridor")]
    ours = [sufficient(RUNS.complete(c)) for c in cells if dict(c.task.parameters)["R"] == 4]
    paper = [Count(*given) for c in cells if dict(c.task.parameters)["R"] == 4 and (given := paper_count(c))]
    for counts in (ours, paper):
        assert "{}, {}, {}, {} and {} of".format(*(count.passed for count in counts)) in told
    assert all(fisher(one, other) > 0.05 for one, other in zip(ours, paper, strict=True))


def test_what_goes_wrong_with_open_loop_targets_is_the_ledgers():
    told = REASONS["open-loop"]["robot tasks: closed loop"]
    cells = (*open_loop.MASS, *(cell for cell in open_loop.STUDY.cells if cell.task.name == "two-cues"))
    few, many, cues = map(RUNS.complete, cells)
    assert all(row["side"] == 1 for row in (*few, *many, *cues))
    slots = [mean(row["slot"] for row in rows) for rows in (few, many)]
    assert "in {:.2f} (M=4) and {:.2f} (M=32)".format(*slots) in told
    errors = [mean(row["action_error_cm"] for row in rows) for rows in (few, many, cues)]
    assert "{:.1f} and {:.1f} cm off there, and {:.1f} on two cues".format(*errors) in told


def test_what_open_loop_targets_hold_in_the_toy_is_the_ledgers():
    told = REASONS["related-targets"]
    ours, theirs = (
        {learner: RUNS.complete(cell) for learner, cell in open_loop.TOYS[preset].items()}
        for preset in ("carousel", "release")
    )
    world = ours["open-loop-world"]
    assert (sufficient(world).passed, len(world)) == (0, 8)
    most = max(row["rate"]["first gap"] for row in world)
    assert f"at most {most:.2f} of the bit" in told["carousel, predicting observations"]
    held = [[row["rate"]["first gap"] for row in rows["open-loop"] if passed(row)] for rows in (ours, theirs)]
    assert held == [[1, 1], [2, 2, 2, 2]]
    assert "two of our eight seeds pass, with one bit" in told["carousel, open-loop actions"]
    assert "four do, with two" in told["carousel, open-loop actions"]
    bits = {row["seed"]: row["rate"]["first gap"] for row in theirs["open-loop-world"]}
    assert [bits[row["seed"]] for row in theirs["open-loop-world"] if passed(row)] == [2] * 6
    assert len(bits) == 8
    assert told["release, predicting observations"].endswith(f"all eight seeds the mean is {mean(bits.values()):.2f}")


def test_which_run_keeps_the_nuisance_is_the_ledgers():
    told = REASONS["toys"]["reveal toy: bits on the nuisance"]
    cells = [c for c in toys.CELLS if (c.task.name, c.preset) == ("reveal", "carousel") and c.beta in (0.0, 0.1)]
    kept = {
        (cell.learner, cell.beta, row["seed"]): row["information"]["decision"]["nuisance"]
        for cell in cells
        if cell.learner in ("plain", "plain+bfs") and not dict(cell.task.parameters)
        for row in RUNS.complete(cell)
    }
    keeping = {key: bits for key, bits in kept.items() if bits > 0}
    assert (len(kept), [key[:2] for key in keeping]) == (32, [("plain+bfs", 0.0)])
    assert f"keeps {max(kept.values()):.2f} bit" in told


def test_who_holds_the_drift_is_the_ledgers():
    told = REASONS["signpost-corridor"]["plain: most bits on the drift"]
    plain = [cell for cell in signpost_corridor.CELLS if cell.learner == "plain" and "W" in dict(cell.task.parameters)]
    (widest,) = (c for c in plain if (c.preset, dict(c.task.parameters)["W"]) == ("carousel", 7))
    bits = {row["information"]["hall 2"]["drift"]: row["sufficient"] for row in RUNS.complete(widest)}
    assert len(bits) == 8
    assert f"{min(bits):.2f} to {max(bits):.2f} bit" in told
    assert not bits[max(bits)]
    theirs = [RUNS.complete(cell) for cell in plain if cell.preset != "carousel"]
    most = max(
        mean(row["information"][hall]["drift"] for row in rows) for rows in theirs for hall in ("hall 1", "hall 2")
    )
    assert f"more than {most:.2f}" in told


def test_what_a_curriculum_and_bfs_do_to_the_classes_is_the_ledgers():
    tasks = [task("two-cues", gap=gap) for gap in (6, 10, 20)]
    pooled = [cell for cell in interventions.POOL if cell.task in tasks and cell.demonstrations == 448]
    own = statistics.both_classes(pooled)(RUNS)

    def keep(fits: Callable[[Cell], bool], second: bool) -> str:
        chosen = [row.kept for row in own if fits(row.cell) and row.second == second]
        return f"{sum(chosen):.0f} of {len(chosen)}"

    def with_curriculum(cell: Cell) -> bool:
        return cell.after is not None

    def without(cell: Cell) -> bool:
        return (cell.learner, cell.after, cell.steps) == ("scaffold+bfs", None, 10_000) and cell.task != tasks[0]

    first, late = ((keep(with_curriculum, second), keep(without, second)) for second in (False, True))
    told = REASONS["interventions"]["curriculum: p"]
    assert f"({first[0]}, at the same gaps {first[1]} without)" in told
    assert f"({late[0]}, and {late[1]})" in told

    plain, bfs = (keep(lambda cell, name=name: cell.learner == name, True) for name in ("plain", "plain+bfs"))
    paper = block("stats.distance_sweeps")
    theirs = " and ".join(str(sum(paper[name])) for name in ("plain_bfs_place", "plain_place"))
    told = REASONS["interventions"]["bfs"]
    kept, _, number = bfs.partition(" of ")
    assert told.startswith(f"{kept} of our {number} plain runs with BFS")
    assert f"{plain} without; of the paper's {theirs} of {3 * paper['of']}" in told


def test_how_few_episodes_lower_bits_on_fine_grids_is_measured():
    """A code that is the two classes themselves, given the tool's cell: on the held-out episodes and on all."""
    from diacritic.demos.record import record
    from diacritic.measure.resolution import GRIDS, resolution_sweep
    from diacritic.tasks.registry import make

    task = make("two-cues", gap=6)
    demos, _ = record(task, episodes=1280)
    classes = demos.latents["side"] + 2 * demos.latents["slot"]
    codes = np.broadcast_to(classes, demos.symbols.shape)
    positions = demos.observations[..., list(demos.convention.position_columns)]
    told = REASONS["gate-and-estimator"]["plain, sufficient seeds: bits"]
    numbers = [float(number) for number in re.findall(r"\d\.\d\d", told)]
    for expected, first in ((numbers[:3], 1152), (numbers[3:], 0)):
        given = codes[:, first:], demos.symbols[:, first:], positions[:, first:]
        sweep = resolution_sweep(*given, task.windows["gap1"], GRIDS, permutations=1)
        assert [grid.rate for grid in sweep[3:]] == pytest.approx(expected, abs=0.03)


def test_what_open_loop_targets_hold_is_the_ledgers():
    def about(modes: int, value: str) -> str:
        rows = runs(open_loop.STUDY, "open-loop", modes=modes)
        return f"{mean(row['information']['grasp'][f'I(C;{value}|symbol)'] for row in rows):.2f}"

    told = REASONS["open-loop"]["hidden mass: bits during the grasp"]
    mass, slot, distractor, hover = (about(4, value) for value in ("mass", "slot", "distractor", "hover"))
    assert f"{mass} bit of it is about the mass (0.03 in the paper), {slot} about the slot" in told
    assert f"{distractor} about the distractor" in told
    assert f"and {hover} about the hover; with 32 masses {about(32, 'mass')} about the mass" in told


@pytest.mark.parametrize("family", ["carousel", "release"])
def test_what_predicting_observations_holds_of_the_drift_is_the_ledgers(family: str):
    (cell,) = (
        cell
        for cell in open_loop.STUDY.cells
        if cell.learner == "open-loop-world"
        and cell.preset.startswith(family)
        and dict(cell.task.parameters).get("W") == 5
    )
    first, second = (
        mean(row["information"][hall]["drift"] for row in RUNS.runs(cell)) for hall in ("hall 1", "hall 2")
    )
    told = REASONS["open-loop"][f"{family}, corridor W=5, observations"]
    assert f"{first:.2f} bits in the first hall and {second:.2f} in the second" in told


def test_what_inverse_models_hold_of_the_drift_is_the_ledgers():
    def drift(preset: str) -> list[list[float]]:
        cells = [
            cell
            for cell in signpost_corridor.STUDY.cells
            if cell.learner in ("inverse-only", "inverse-only+rate") and cell.preset == preset
        ]
        rows = [RUNS.runs(cell) for cell in cells if dict(cell.task.parameters).get("W", 1) > 1]
        return [[row["information"][hall]["drift"] for row in own] for own in rows for hall in ("hall 1", "hall 2")]

    told = REASONS["related-targets"]["carousel, inverse model"]
    assert f"up to {max(map(max, drift('carousel'))):.2f} bit" in told
    assert f"leave {max(map(mean, drift('release-corridor'))):.2f} on average" in told


def test_what_the_continuous_bottleneck_carries_is_the_ledgers():
    (cell,) = (cell for cell in toys.STUDY.cells if cell.learner == "gaussian" and cell.beta == 0.003)
    rows = RUNS.runs(cell)
    assert (len(rows), all(row["sufficient"] for row in rows)) == (8, True)
    bits = sorted(row["kl_bits_at_means"]["first gap"] for row in rows)
    told = REASONS["toys"]["continuous bottleneck"]
    assert told.startswith(f"five of our eight runs hold {bits[0]:.2f} to {bits[4]:.2f} bits")
    assert f"three hold {bits[5]:.2f} to {bits[7]:.2f}" in told


def test_how_far_draws_of_48_demonstrations_differ_is_the_ledgers():
    cells = [cell for cell in toys.STUDY.cells if (cell.demonstrations, cell.preset) == (48, "release-reveal")]
    free, _, dear = (list(RUNS.runs(cell)) for cell in sorted(cells, key=lambda cell: cell.beta))

    def ends(numbers: list[float]) -> str:
        return f"{min(numbers):.2f} to {max(numbers):.2f}"

    told = REASONS["toys"]["selective forgetting, release, over β: surplus bits"]
    assert told.endswith(ends([mean(row["surplus_profile"]) for row in dear]))
    scores = [ends([row["sufficiency_profile"][2] for row in rows]) for rows in (free, dear)]
    told = REASONS["toys"]["selective forgetting, release, over β: S_Γ"]
    assert f"and ours {scores[0]}, " in told
    assert told.endswith(f"and {scores[1]}")
