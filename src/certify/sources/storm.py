"""POMDPs in PRISM or JANI as worlds, built by Storm (the extra `storm`)."""

import os
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from certify.core.reading import read_bytes
from certify.errors import UserError
from certify.optional import import_optional
from certify.sources.drn import Explicit, load_drn

ENDINGS = (".prism", ".nm", ".templ", ".jani")


def load_storm(path: str | os.PathLike[str], constants: str = "") -> Explicit:
    """A POMDP from a PRISM or JANI file; `constants` such as ``N=4,p=0.1`` for those that the file leaves open."""
    storm: Any = import_optional("stormpy", "storm")
    path = Path(path)
    read_bytes(path, path.name)
    try:
        return _built(storm, path, constants)
    except (RuntimeError, TypeError, storm.exceptions.StormError) as error:
        raise UserError(path.name, f"Storm refuses it: {' '.join(str(error).split())[:200]}") from None


def _built(storm: Any, path: Path, constants: str) -> Explicit:
    if path.suffix == ".jani":
        program, _ = storm.parse_jani_model(str(path))
    else:
        program = storm.parse_prism_program(str(path))
    if constants:
        program, _ = import_module("stormpy.io").instantiate_constants(program, constants)
    options = storm.BuilderOptions(build_full=False)
    options.set_build_all_labels()
    options.set_build_all_reward_models()
    options.set_build_choice_labels()
    options.set_build_observation_valuations()
    model = storm.build_model[storm.Rational](program, options=options)
    if not model.is_partially_observable:
        raise UserError(path.name, "is not a POMDP: it says of no variable that it is observable")
    model = import_module("stormpy.pomdp").make_canonic(model)
    with TemporaryDirectory() as folder:
        import_module("stormpy.io").export_to_drn(model, f"{folder}/{path.stem}.drn")
        return load_drn(f"{folder}/{path.stem}.drn", _names(model))


def _names(model: Any) -> list[str] | None:
    """What each observation shows; numbers where two would be called the same."""
    if not model.has_observation_valuations():
        return None
    values = model.observation_valuations
    names = [" ".join(values.to_string(k).strip("[]").replace("\t", " ").split()) for k in range(model.nr_observations)]
    return names if len(set(names)) == len(names) else None
