"""The finite instances: toys, corridors, chains and counters, each written once and certified here.

`build("gap", gap2=6)` makes a model; `instances()` lists what there is. An instance is a function whose keyword
arguments are its parameters; add one by decorating it with `@instance(name)` in a module listed below.
"""

from certify.zoo import corridor, counters, cues, released, toys
from certify.zoo.registry import Instance, build, find, instances

__all__ = ["Instance", "build", "corridor", "counters", "cues", "find", "instances", "released", "toys"]
