"""Serve the memory chain and the Passive T-maze of a MIKASA-Base checkout, unmodified: ``mikasa_worker.py CHECKOUT``.

The suite's own package file imports every simulator that it knows; only the two modules that are needed are loaded.
Hidden values are chosen by a search over seeds, because the environments draw them on reset.
"""

import sys
from pathlib import Path

# this script runs where certify is not installed; its own folder is on the path already
sys.path.insert(0, str(Path(__file__).parents[1] / "src" / "certify" / "sources"))
from checkout import load  # pyright: ignore[reportMissingImports]
from worker import serve  # pyright: ignore[reportMissingImports]

_MOST_SEEDS = 20_000
_RIGHT, _UP, _DOWN = "0", "1", "3"


def seed_of_each(values, environment, drawn):
    """One seed for each hidden value."""
    seeds = {}
    for seed in range(_MOST_SEEDS):
        environment.reset(seed=seed)
        seeds.setdefault(drawn(), seed)
        if seeds.keys() == values:
            return seeds
    raise ValueError(f"no seed below {_MOST_SEEDS} draws {sorted(values - seeds.keys())[0]}")


class MemoryChain:
    """Context bits, a delay, a query; hidden value (context, query)."""

    def __init__(self, checkout, bits, delay):
        module = load(checkout, "mikasa_base.Bsuite.env.memory_chain")
        self.environment = module.MemoryChain(memory_length=delay, num_bits=bits)
        self.name, self.horizon, self.delay = f"memory chain b={bits} delay={delay}", delay + 1, delay
        contexts = [tuple(k >> i & 1 for i in range(bits)) for k in range(2**bits)]
        values = {(context, query) for context in contexts for query in range(bits)}
        self.seeds = seed_of_each(values, self.environment, self.drawn)
        self.hidden = [(value, f"1/{len(values)}") for value in sorted(values)]

    def drawn(self):
        return tuple(int(bit) for bit in self.environment._context), int(self.environment._query)

    def reset(self, hidden):
        return self.environment.reset(seed=self.seeds[tuple(hidden[0]), hidden[1]]).observation[0]

    def step(self, action):
        timestep = self.environment.step(int(action))
        return timestep.observation[0], timestep.last()

    def expert(self, hidden, history):
        context, query = hidden
        return str(context[query]) if len(history) == 2 * self.delay + 1 else "0"


class PassiveTMaze:
    """The goal is shown first; hidden value −1 or 1."""

    def __init__(self, checkout, length):
        module = load(checkout, "mikasa_base.Passive_T_Maze.env.env_passive_t_maze")
        self.environment = module.TMazeClassicPassive(corridor_length=length)
        self.name, self.horizon, self.length = f"Passive T-maze L={length}", length + 1, length
        self.seeds = seed_of_each({-1, 1}, self.environment, self.drawn)
        self.hidden = [(-1, "1/2"), (1, "1/2")]

    def drawn(self):
        return int(self.environment.goal_y)

    def reset(self, hidden):
        return self.environment.reset(seed=self.seeds[hidden])[0]

    def step(self, action):
        observation, _, terminated, truncated, _ = self.environment.step(int(action))
        return observation, bool(terminated or truncated)

    def expert(self, hidden, history):
        return (_UP if hidden == 1 else _DOWN) if len(history) == 2 * self.length + 1 else _RIGHT


TASKS = {"memory-chain": MemoryChain, "passive-t-maze": PassiveTMaze}

if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1], "mikasa_base").is_dir():
        sys.exit("expected the path of a MIKASA-Base checkout, with the folder mikasa_base in it")
    serve(lambda task, **parameters: TASKS[task](sys.argv[1], **parameters))
