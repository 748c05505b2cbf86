"""The families of the atlas: which tasks they have, in which sizes, and who is the expert."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from certify import Model
from certify.errors import UserError
from certify.sources import boards, bsuite_shown, cards, dm, mikasa
from certify.sources.adapter import to_model
from certify.sources.goals import to_goal
from certify.sources.minigrid import by_bot, from_minigrid, grown, ids
from certify.sources.planning import Planner
from certify.sources.pomdp import classic, classics, load_pomdp
from certify.sources.storm import ENDINGS, load_storm
from certify.stationary import zoo as endless
from certify.stationary.process import Process
from certify.stationary.world import World
from certify.zoo import build
from diacritic.need.requirement import designed_model
from diacritic.studies.atlas.entry import Checkouts, Entry
from diacritic.tasks.registry import find, names

Family = Callable[[], Iterator[Entry]]
MIKASA, MODELS, MINIGRID = "--mikasa CHECKOUT", "--models FOLDER", "--minigrid CHECKOUT"
LEVELS = ("Easy", "Medium", "Hard")
REAL_NUMBERS = "shows real numbers, no two alike; record demonstrations and use `diacritic need`"


def families(checkouts: Checkouts | None = None) -> dict[str, Family]:
    """Every family by name; its entries are listed when they are asked for. Those without their checkout are empty."""
    given = checkouts or Checkouts()
    return {
        "zoo": _zoo,
        "forever": _forever,
        "simulated": _simulated,
        "bsuite": _bsuite,
        "popgym": _popgym,
        "pomdp": partial(_pomdp, given.models),
        "prism": partial(_prism, given.models),
        "mikasa": partial(_mikasa, given.mikasa),
        "memory-gym": partial(_memory_gym, given.mikasa),
        "minigrid": partial(_minigrid, given.minigrid),
    }


def _zoo() -> Iterator[Entry]:
    grids: dict[str, dict[str, Iterable[int]]] = {
        "gap": {"gap1": (1, 3), "gap2": (1, 3), "R1": (2, 4)},
        "re-reveal": {"gap1": (1, 3), "gap2": (1, 3)},
        "memory-chain": {"bits": (1, 2, 3), "delay": (2, 10, 40)},
        "passive-t-maze": {"L": (3, 10, 40)},
        "cue-corridor": {"L": (4, 16), "R": (2, 4)},
        "signpost-corridor": {"W": (1, 3, 5)},
        "running-parity": {"horizon": (5, 20)},
    }
    for name, grid in grids.items():
        for values in product(*grid.values()):
            given = dict(zip(grid, values, strict=True))
            label = " ".join([name, *(f"{key}={value}" for key, value in given.items())])
            yield Entry("zoo", label, partial(build, name, **given), memory="memory" in name)
    for name in ("lost-cue", "mass-sketch", "modulo-counter", "reveal", "re-reveal-t0", "three-histories"):
        yield Entry("zoo", name, partial(build, name))


def _forever() -> Iterator[Entry]:
    grids = {"counter": (2, 5), "n-back": (1, 3), "delayed-cue": (4,), "memory-chain": (3,), "blinker": (12,)}
    for name, task in endless.TASKS.items():
        yield Entry("forever", name, partial(endless.build, name), memory="memory" in name)
        for value in grids.get(name, ()):
            key = next(iter(task.defaults))
            yield Entry("forever", f"{name} {key}={value}", partial(endless.build, name, **{key: value}))


def _simulated() -> Iterator[Entry]:
    """Tasks with their own physics, by what they are designed to show and to ask."""
    for name in names():
        yield Entry("simulated", name, partial(_designed, name), "every hidden configuration once")


def _designed(name: str) -> Model:
    task = find(name)
    return task if isinstance(task, Model) else designed_model(task)


def _bsuite() -> Iterator[Entry]:
    for bits, delay in (*product((1, 2, 3), (1, 5, 20)), (1, 100), (10, 2)):
        name = f"memory_chain bits={bits} delay={delay}"
        yield Entry("bsuite", name, lambda b=bits, d=delay: to_model(dm.memory_chain(b, d)), memory=True)
    yield Entry("bsuite", "memory_size bits=40", lambda: to_model(dm.memory_chain(40, 2)), memory=True)
    for length in (5, 20):
        yield Entry("bsuite", f"umbrella_chain length={length}", partial(dm.umbrella_model, length))
    yield Entry("bsuite", "umbrella_distract distractors=5", partial(dm.umbrella_model, 20, 5))
    for name, length, distractors in (("umbrella_distract", 20, 100), ("umbrella_length", 100, 20)):
        label, note = f"{name} length={length} distractors={distractors}", "symbols show no distractor"
        make = lambda n=length, d=distractors: to_model(dm.umbrella_chain(n, d, shown=0))  # noqa: E731
        yield Entry("bsuite", label, make, note)
    yield Entry("bsuite", "discounting_chain", lambda: to_model(dm.discounting_chain()))
    for size in (10, 50):
        yield Entry("bsuite", f"deep_sea size={size}", lambda n=size: to_model(bsuite_shown.deep_sea(n)))
    yield Entry("bsuite", "deep_sea_stochastic size=10", lambda: to_model(bsuite_shown.deep_sea(10, windy=True)))
    for name, kind in product(("bandit", "catch"), ("", "_noise", "_scale")):
        note = f"as {name}: only the reward differs, which is not shown" if kind else ""
        yield Entry("bsuite", name + kind, lambda n=name: to_model(getattr(bsuite_shown, n)()), note)
    for names_, kinds, reason in _BEYOND_BSUITE:
        for name, kind in product(names_, kinds):
            yield Entry("bsuite", name + kind, partial(_refuse, name + kind, reason))


_BEYOND_BSUITE = (
    (("cartpole",), ("", "_noise", "_scale", "_swingup"), REAL_NUMBERS),
    (("mountain_car",), ("", "_noise", "_scale"), REAL_NUMBERS),
    (
        ("mnist",),
        ("", "_noise", "_scale"),
        "needs pictures that bsuite does not ship; an episode is one step, which needs no memory whoever acts",
    ),
)


def _popgym() -> Iterator[Entry]:
    games: list[tuple[Callable[..., cards.CardGame], dict[str, Any]]]
    games = [(cards.repeat_first, {"horizon": t}) for t in (4, 13)]
    games += [(cards.repeat_first, {"horizon": 8, "decks": n}) for n in (8, 16)]
    games += [(cards.repeat_previous, {"k": k, "horizon": 8}) for k in (2, 3, 4)]
    games += [(cards.count_recall, {"horizon": t}) for t in (4, 6)]
    games += [(cards.count_recall, {"horizon": 4, "kind": "suits", "decks": 2})]
    games += [(cards.count_recall, {"horizon": 2, "kind": "ranks", "decks": 4})]
    games += [(cards.autoencode, {"cards": n}) for n in (4, 8)]
    games += [(cards.higher_lower, {"ranks": r, "horizon": 6}) for r in (2, 3)]
    games += [(cards.higher_lower, {"ranks": 13, "horizon": 3, "decks": n}) for n in (1, 2, 3)]
    games += [(boards.bandit, {"arms": n, "horizon": n + 4, "episode": 20 * n}) for n in (10, 20, 30)]
    games += [(boards.minesweeper, {})]
    for make, given in games:
        game = make(**given)
        shown = {key: value for key, value in given.items() if key != "episode"}
        label = " ".join([game.name, *(f"{key}={value}" for key, value in shown.items())])
        yield Entry("popgym", label, game.model, game.modified, memory=True)
    for name, level in product(("MineSweeper", "Battleship", "Concentration"), LEVELS):
        if name + level != "MineSweeperEasy":
            yield _board(name + level)
    for names_, levels, reason in _BEYOND:
        for name, level in product(names_, levels):
            yield Entry("popgym", name + level, partial(_refuse, name + level, reason), memory=True)


_BEYOND = (
    (("RepeatPrevious",), LEVELS[1:], "31 or 63 suits are carried at once, more than can be listed; see k=2, 3, 4"),
    (("Autoencode",), LEVELS[1:], "104 or 156 cards are carried at once, more than can be listed; see 4 and 8 cards"),
    (
        (
            *(n + b for n in ("", "Noisy") for b in ("PositionOnlyCartPole", "PositionOnlyPendulum")),
            "VelocityOnlyCartPole",
        ),
        LEVELS,
        REAL_NUMBERS,
    ),
)


def _board(name: str) -> Entry:
    def make() -> Model:
        return to_model(boards.by_layouts(name))

    expert = "sees the mines" if name.startswith("Mine") else "remembers all that it saw"
    return Entry("popgym", name, make, "bits of 32 sampled boards and their first 24 steps", expert, memory=True)


def _refuse(name: str, reason: str) -> Model:
    raise UserError(name, reason)


def _pomdp(models: Path | None) -> Iterator[Entry]:
    for name, horizon in product(classics(), (2, 4)):
        best = f"best policy for {horizon} actions"
        yield Entry("pomdp", f"{name}, {best}", lambda n=name, h=horizon: _planned(n, h), expert=best)
    for path, label in _files(models, (".pomdp",)):
        yield Entry("pomdp", label, partial(_graph, path), expert="policy graph of 30 points", option=MODELS)


def _planned(name: str, horizon: int) -> Model:
    problem = classic(name)
    return problem.model(problem.optimal(horizon), horizon)


def _graph(path: Path) -> Process:
    problem = load_pomdp(path, "1/1000")
    return World.from_problem(problem).process(Planner(problem).policy_graph())


def _prism(models: Path | None) -> Iterator[Entry]:
    for path, label in _files(models, tuple(ending for ending in ENDINGS if ending != ".jani")):
        yield Entry("prism", label, partial(_walked, path), expert="sees the state, heads for the goal", option=MODELS)


def _walked(path: Path) -> Process:
    explicit = load_storm(path)
    return explicit.world.process(to_goal(explicit))


def _files(folder: Path | None, endings: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    """POMDPs of a folder, once by content."""
    seen: set[bytes] = set()
    for path in sorted(folder.rglob("*")) if folder else ():
        if path.suffix not in endings or not path.is_file():
            continue
        text = path.read_bytes()
        if text not in seen and (path.suffix == ".pomdp" or b"\npomdp" in b"\n" + text):
            seen.add(text)
            yield path, path.relative_to(folder or path).as_posix()


def _mikasa(checkout: Path | None) -> Iterator[Entry]:
    for name, (module, _, modified) in mikasa.TASKS.items() if checkout else ():
        if not module.startswith("MemoryGym"):
            make = partial(mikasa.from_mikasa, checkout or "", name)
            expert = "knows the sequence" if name.startswith("Numpad") else ""
            yield Entry("mikasa", name, make, modified, expert, memory=True, option=MIKASA)
    for name in mikasa.OTHERS if checkout else ():
        yield Entry("mikasa", name, partial(mikasa.try_other, checkout or "", name), memory=True, option=MIKASA)


def _memory_gym(checkout: Path | None) -> Iterator[Entry]:
    for name, (module, _, modified) in mikasa.TASKS.items() if checkout else ():
        if module.startswith("MemoryGym"):
            make = partial(mikasa.from_mikasa, checkout or "", name)
            expert = "knows the path" if name.startswith("Mystery") else ""
            note = f"the copy in MIKASA-Base, {modified}"
            yield Entry("memory-gym", name, make, note, expert, memory=True, option=MIKASA)
    reason = (
        "moves by pixels; and memory-gym 1.0.2 pins gymnasium 0.29.0 and pygame 2.4.0, so it installs beside neither"
    )
    for name in ("MortarMayhem", "MortarMayhemB", "MysteryPath", "SearingSpotlights"):
        yield Entry("memory-gym", f"{name}-v0", partial(_refuse, f"{name}-v0", reason), memory=True)


def _minigrid(checkout: Path | None, horizon: int = 24) -> Iterator[Entry]:
    for name in ids():
        layouts = 64 if "Memory" in name else 8  # as many as it takes to see the same place with another object
        option = MINIGRID if "-WFC-" in name else ""
        for full in (False, True) if name.startswith("MiniGrid-") else (False,):
            make = partial(_layouts, name, layouts, horizon, full, checkout if option else None)
            expert = "BabyAIBot" if by_bot(name) else "planner that sees the grid"
            label, note = (
                name + " (full view)" * full,
                f"bits of {layouts} sampled layouts and their first {horizon} steps",
            )
            yield Entry("minigrid", label, make, note, expert, full, "Memory" in name, option)


def _layouts(name: str, layouts: int, horizon: int, full: bool, checkout: Path | None) -> Model:
    return to_model(from_minigrid(name, layouts, horizon, full, grown(name, checkout) if checkout else None))
