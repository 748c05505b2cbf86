"""How fast answers for every horizon are: observers of 10⁵ and 10⁶ nodes, and the ratio to the literal fixpoint.

Run with ``python benchmarks/stationary.py``. Every claim prints its target beside what was measured in this run, in
seconds of processor time.
"""

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

# the literal twin lives with the tests
sys.path[:] = [str(Path(__file__).parents[1] / "tests"), *(p for p in sys.path if Path(p) != Path(__file__).parent)]

from certify.stationary.observer import Observer, support_observer  # noqa: E402
from certify.stationary.process import Process  # noqa: E402
from certify.stationary.refine import strong_classes  # noqa: E402
from certify.stationary.relation import compatibility, conflicts  # noqa: E402

R = TypeVar("R")
HALF = Fraction(1, 2)


def shift_register(bits: int, lag: int) -> Process:
    """Fair bits; the expert repeats the one of `lag` steps ago, and the world remembers `bits` of them."""
    mask = (1 << bits) - 1
    return Process.from_generative(
        {0: HALF, 1: HALF},
        lambda x: str(x & 1),
        lambda x: f"say{x >> lag & 1}",
        lambda x, action: {(x << 1 & mask): HALF, (x << 1 & mask | 1): HALF},
    )


def measured(task: Callable[[int], str], size: int) -> str:
    """What a task reports in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(task, (size,))


def answer_for(bits: int) -> str:
    began = time.process_time()
    observer = support_observer(shift_register(bits, bits - 1))
    built = time.process_time() - began
    relation = compatibility(observer)
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"{observer.size:,} observer nodes, {relation.count:,} classes, transitive {relation.transitive}: "
        f"{seconds:.1f} s ({built:.1f} s to build) and {memory:.2f} GB"
    )


def refinement_for(bits: int) -> str:
    observer = support_observer(shift_register(bits, bits // 2))
    began = time.process_time()
    _, count = strong_classes(observer)
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return f"{observer.size:,} nodes to {count:,} strong classes: {seconds:.1f} s of refinement, {memory:.2f} GB"


def beside_storm(bits: int) -> str:
    """Storm's own bisimulation of the same chain, which keeps what is seen and done: as many classes as ours."""
    try:
        import stormpy
        from stormpy import transformations
    except ModuleNotFoundError:
        return "beside Storm: not run, the extra storm is missing"
    process = shift_register(bits, bits // 2)
    seen, acts = (
        [f"{kind}{k}" for k in range(len(names))]
        for kind, names in (("seen", process.observations), ("acts", process.actions))
    )
    lines = ["@type: DTMC", "@parameters", "", "@reward_models", "", "@nr_states", str(process.size)]
    lines += ["@nr_choices", str(process.size), "@model"]
    start = process.start[0][0]
    for x, (o, law, moves) in enumerate(zip(process.observation, process.law, process.moves, strict=True)):
        action = law[0][0]
        lines.append(f"state {x} {seen[o]} {acts[action]}{' init' if x == start else ''}")
        lines += ["\taction 0", *(f"\t\t{y} : {float(p)}" for y, p in moves[action])]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.drn"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        model = stormpy.build_model_from_drn(str(path))
    kept = stormpy.parse_properties(";".join(f'P=? [F "{label}"]' for label in (*seen, *acts)))
    theirs, quotient = timed(lambda: transformations.perform_bisimulation(model, kept))
    observer = support_observer(process)
    ours, (_, count) = timed(lambda: strong_classes(observer))
    return (
        f"{process.size:,} states: Storm's bisimulation {theirs:.2f} s to {quotient.nr_states:,} classes, "
        f"our refinement {ours:.2f} s to {count:,}"
    )


def timed(function: Callable[[], R]) -> tuple[float, R]:
    began = time.process_time()
    result = function()
    return time.process_time() - began, result


def against_the_twin(bits: int = 11) -> None:
    from stationary_twin import pair_conflicts

    observer: Observer = support_observer(shift_register(bits, bits - 1))
    fast, relation = min((timed(lambda: compatibility(observer)) for _ in range(3)), key=lambda run: run[0])
    dense = timed(lambda: conflicts(observer))[0]
    slow, literal = timed(lambda: pair_conflicts(observer))
    shown = observer.observation.tolist()
    ours = relation.classes[relation.state].tolist()
    alike = {(a, b) for a, b in literal if shown[a] == shown[b]}
    apart = sum(ours[a] != ours[b] for a in range(observer.size) for b in range(observer.size) if shown[a] == shown[b])
    assert len(alike) == apart == sum(ours[a] != ours[b] for a, b in alike), "the two must agree"
    print(
        f"{observer.size:,} nodes: literal pairs {slow:.1f} s, all pairs at once {dense:.2f} s, "
        f"refinement {fast:.4f} s, ratio {slow / fast:,.0f} (target 200)"
    )


if __name__ == "__main__":
    print(f"{measured(answer_for, 17)} (target 30 s and 4 GB at 10⁵ nodes)")
    print(f"{measured(refinement_for, 20)} (target 300 s at 10⁶ nodes)")
    against_the_twin()
    print(measured(beside_storm, 17))
