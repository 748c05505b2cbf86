"""A world and an expert, each from its file, as a process without a last step."""

import os
from pathlib import Path

from certify.errors import UserError
from certify.sources.drn import load_drn
from certify.sources.experts import load_expert
from certify.sources.pomdp import load_pomdp
from certify.sources.storm import ENDINGS, load_storm
from certify.stationary.beliefs import AlphaVectors, belief_controller
from certify.stationary.process import Process
from certify.stationary.world import World

WORLDS = (".pomdp", ".drn", *ENDINGS)


def load_world(path: str | os.PathLike[str], constants: str = "") -> World:
    """The world of a file: Cassandra's `.pomdp`, or Storm's DRN; PRISM and JANI with the extra `storm`."""
    suffix = Path(path).suffix
    if suffix not in WORLDS:
        raise UserError(str(path), f"expected a world: {', '.join(WORLDS)}")
    if suffix in ENDINGS:
        return load_storm(path, constants).world
    return load_drn(path).world if suffix == ".drn" else World.from_problem(load_pomdp(path))


def load_process(world: str | os.PathLike[str], expert: str | os.PathLike[str], constants: str = "") -> Process:
    """The expert of one file acting for ever in the world of another."""
    loaded = load_world(world, constants)
    policy = load_expert(expert, loaded)
    if isinstance(policy, AlphaVectors):
        policy = belief_controller(loaded, policy).controller
    return loaded.process(policy)
