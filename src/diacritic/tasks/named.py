"""Finite models by the words of a command line: a model file, or a zoo instance with KEY=VALUE parameters.

`forever:counter horizon=12 modulus=3` is the first 12 steps of a task without an end; `stop=1/10` breaks episodes off.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from certify import Model
from certify.errors import UserError
from certify.stationary.process import Process
from certify.stationary.zoo import build as build_process
from certify.zoo import build

FOREVER = "forever:"  # before the name of a task without an end
HORIZON = "12"


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """KEY=VALUE texts as a dictionary."""
    given: dict[str, str] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key or not value:
            raise UserError(text, "expected KEY=VALUE, such as bits=2")
        given[key] = value
    return given


def is_model_file(name: str) -> bool:
    """Whether a name is that of a certify model in a file."""
    return name.endswith((".json", ".npz"))


def named_model(name: str, parameters: Sequence[str] = ()) -> Model:
    """A zoo instance with KEY=VALUE parameters, the beginning of a task without an end, or a model file."""
    if name.startswith(FOREVER):
        given = {"horizon": HORIZON, **pairs(parameters)}
        if not given["horizon"].isdecimal() or not 1 <= int(given["horizon"]) <= 1000:
            raise UserError("horizon", f"expected a number of steps from 1 to 1000, not {given['horizon']!r}")
        model = named_process(name, parameters).model(int(given["horizon"]), given.get("stop", 0))
        return replace(model, name=" ".join([name, *parameters]))
    if not is_model_file(name):
        return build(name, **pairs(parameters))
    if parameters:
        raise UserError(parameters[0], "a model file takes no parameters")
    try:
        return replace(Model.load(name), name=Path(name).stem)
    except UserError as problem:
        raise UserError(f"{name}: {problem.where}" if problem.where else name, problem.reason) from None


def named_process(name: str, parameters: Sequence[str] = ()) -> Process:
    """The task without an end that a training task is the beginning of."""
    if not name.startswith(FOREVER):
        raise UserError(name, f"has a last step; expected a task without an end, such as {FOREVER}counter modulus=3")
    given = {key: value for key, value in pairs(parameters).items() if key not in ("horizon", "stop")}
    return build_process(name.removeprefix(FOREVER), **given)


def model_in_one_word(text: str) -> Model:
    """The same with name and parameters in one word, such as "memory-chain bits=2"; a file name may hold blanks."""
    if is_model_file(text):
        return named_model(text)
    name, *parameters = text.split() or [""]
    return named_model(name, parameters)
