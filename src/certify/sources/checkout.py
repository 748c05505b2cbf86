"""Modules of somebody's checkout without the package files above them; standard library only, as a worker needs it."""

import importlib
import sys
import types
from pathlib import Path


def load(checkout, module):
    """A module of the checkout, by its dotted name; packages on the way are empty ones, so that nothing else is run."""
    parts = module.split(".")
    for k in range(1, len(parts)):
        name = ".".join(parts[:k])
        if name not in sys.modules:
            package = types.ModuleType(name)
            package.__path__ = [str(Path(checkout).joinpath(*parts[:k]))]
            sys.modules[name] = package
    return importlib.import_module(module)
