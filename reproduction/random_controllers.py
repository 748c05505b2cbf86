"""Random finite-state policies for worlds that come without an expert."""

import random

from certify.stationary.world import START, Controller, World


def random_controller(world: World, nodes: int = 3, seed: int = 0) -> Controller:
    """Nodes with random actions and moves; where a world shows its first observation, a node acts by what it sees."""
    chance = random.Random(seed)
    if world.first is None:
        law = {n: chance.choice(world.actions) for n in range(nodes)}
        return Controller(0, law, {(n, o): chance.randrange(nodes) for n in law for o in world.observations})
    able = available(world)
    laws = {(n, o): chance.choice(able[o]) for n in range(nodes) for o in able}
    after = {node: chance.randrange(nodes) for node in laws}
    return Controller({o: (0, o) for o in able}, laws, lambda node, action, shown: (after[node[0], shown], shown))


def available(world: World) -> dict[str, list[str]]:
    """Of each observation: the actions that all its states have."""
    result: dict[str, list[str]] = {}
    for s in range(len(world.states)):
        own = [
            a
            for a, rows in zip(world.actions, world.transitions, strict=True)
            if not isinstance(rows, dict) or s in rows
        ]
        for o in world.first[s] if world.first else ():
            name = world.observations[o]
            result[name] = [a for a in result.get(name, own) if a in own]
    return result if world.first else {START: list(world.actions)}
