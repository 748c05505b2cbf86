"""POPGym's bandit, MineSweeper, Battleship and Concentration, with scripted experts that remember what they saw.

The bandit and the small MineSweeper are exact. Of the others, some boards are played: the first so many seeds.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any

from certify.optional import import_optional
from certify.sources.adapter import END, Adapter, Legend
from certify.sources.cards import CardGame, Chances
from certify.sources.gym import from_seeds

SIDE, MINES = 4, 2  # of the small MineSweeper
Cell = tuple[int, int]
Clicks = tuple[tuple[int, int], ...]  # cells and the numbers that they showed


def bandit(arms: int = 10, horizon: int = 14, episode: int = 200) -> CardGame:
    """Try every arm once, then stay with the first that paid (the first of all, if none did).

    The chance of an arm is uniform, so what it paid decides by Laplace's rule. State: the arm to stay with or −1, how
    often it paid and did not, and the last payment.
    """

    def move(t: int, state: tuple[int, int, int, int], action: str) -> Chances:
        best, won, lost, _ = state
        if t <= arms:
            kept = (best, won, lost) if best >= 0 else (0, 0, 1) if t == arms else (-1, 0, 0)
            paid = (best, won, lost) if best >= 0 else (int(action), 1, 0)
            return {(*paid, 1): Fraction(1, 2), (*kept, 0): Fraction(1, 2)}
        p = Fraction(won + 1, won + lost + 2)
        return {(best, won + 1, lost, 1): p, (best, won, lost + 1, 0): 1 - p}

    def environment() -> Any:
        return import_optional("popgym.envs.multiarmed_bandit", "sources").MultiarmedBandit(arms, episode)

    return CardGame(
        f"POPGym MultiarmedBandit ({arms} arms)",
        horizon,
        f"first {horizon} of {episode} steps",
        {(-1, 0, 0, 0): Fraction(1)},
        lambda _, state: str(state[3]),
        lambda t, state: str(t - 1 if t <= arms else state[0]),
        move,
        environment,
    )


def minesweeper() -> CardGame:
    """The board of 4 × 4 with two mines, all 120 placements: click what is least likely a mine, given all numbers."""
    cells = [(row, column) for row in range(SIDE) for column in range(SIDE)]
    boards = list(combinations(range(len(cells)), MINES))

    @lru_cache(None)
    def number(board: tuple[int, ...], cell: int) -> int:
        row, column = cells[cell]
        return sum(abs(cells[mine][0] - row) <= 1 and abs(cells[mine][1] - column) <= 1 for mine in board)

    @lru_cache(None)
    def choice(clicks: Clicks) -> int:
        seen = {cell for cell, _ in clicks}
        fits = [b for b in boards if not seen & set(b) and all(number(b, cell) == shown for cell, shown in clicks)]
        return min((c for c in range(len(cells)) if c not in seen), key=lambda c: sum(c in b for b in fits))

    def over(state: tuple[tuple[int, ...], Clicks]) -> bool:
        board, clicks = state
        return len(clicks) == len(cells) - MINES or any(cell in board for cell, _ in clicks)

    def shown(_: int, state: tuple[tuple[int, ...], Clicks]) -> str:
        return END if over(state) else str(state[1][-1][1]) if state[1] else "0"

    def move(_: int, state: tuple[tuple[int, ...], Clicks], action: str) -> Chances:
        board, clicks = state
        after = state if over(state) else (board, (*clicks, (int(action), number(board, int(action)))))
        return {after: Fraction(1)}

    return CardGame(
        "POPGym MineSweeper (4 × 4)",
        len(cells) - MINES,
        "",
        {(board, ()): Fraction(1, len(boards)) for board in boards},
        shown,
        lambda _, state: END if over(state) else str(choice(state[1])),
        move,
        lambda: _ByCell(import_optional("popgym.envs.minesweeper", "sources").MineSweeper("easy"), SIDE),
    )


class _ByCell:
    """A board whose cells are numbered row by row."""

    def __init__(self, env: Any, side: int) -> None:
        self.env, self.side, self.reset = env, side, env.reset

    def step(self, action: int) -> Any:
        return self.env.step(divmod(action, self.side))


def by_layouts(name: str, layouts: int = 32, horizon: int = 24) -> Adapter[int]:
    """The first boards of MineSweeper, Battleship or Concentration in a size, such as ``BattleshipEasy``."""
    game = name.removesuffix("Easy").removesuffix("Medium").removesuffix("Hard")
    env = getattr(import_optional(f"popgym.envs.{game.lower()}", "sources"), name)()
    player = {"MineSweeper": _safe, "Battleship": _hunt, "Concentration": _recall}[game]
    memory: dict[Any, Any] = {}
    cells = None
    if game != "Concentration":
        rows, columns = (int(n) for n in env.action_space.nvec)
        cells = {f"{row},{column}": (row, column) for row in range(rows) for column in range(columns)}

    def start(_: Any, seed: int) -> Any:
        memory.clear()
        return env.reset(seed=seed)

    modified = f"{layouts} boards, first {horizon} steps"
    given = {"actions": cells, "symbol": Legend(), "name": name, "modified": modified}
    return from_seeds(env, layouts, lambda live: player(live, memory), horizon, start, **given)


def _safe(env: Any, _: dict[Any, Any]) -> Cell:
    """The first cell without a mine that was not clicked: this expert sees the mines."""
    rows, columns = (env.hidden_grid == 0).nonzero()
    return int(rows[0]), int(columns[0])


def _hunt(env: Any, memory: dict[Any, Any]) -> Cell:
    """Beside a hit first, then every other cell row by row."""
    if memory:
        memory[next(reversed(memory))] = env.last_obs
    size = env.board_size
    board = sorted(((r, c) for r in range(size) for c in range(size)), key=lambda cell: (sum(cell) % 2, cell))
    beside = [
        (r + dr, c + dc) for (r, c), hit in memory.items() if hit for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0))
    ]
    cell = next(cell for cell in [*beside, *board] if cell in board and cell not in memory)
    memory[cell] = 0
    return cell


def _recall(env: Any, memory: dict[Any, Any]) -> int:
    """The partner of the card that was just turned, if it was seen; else a pair that was seen, else a new card."""
    up = set(env.deck["face_up_idx"])
    turned = list(env.deck["in_play_idx"])
    memory.update({k: int(value) for k, value in enumerate(env.obs) if value != env.facedown_card})
    seen = {k: value for k, value in memory.items() if k not in up}
    new = next((k for k in range(len(env.obs)) if k not in memory), 0)
    if turned:
        return next((k for k, value in seen.items() if value == seen[turned[0]] and k != turned[0]), new)
    pairs = (k for k, value in seen.items() if sum(other == value for other in seen.values()) > 1)
    return next(pairs, new)
