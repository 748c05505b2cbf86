"""Finite models by the words of a command line: a model file, or a zoo instance with KEY=VALUE parameters."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from certify import Model
from certify.errors import UserError
from certify.zoo import build


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
    """A zoo instance with KEY=VALUE parameters, or a model file."""
    if not is_model_file(name):
        return build(name, **pairs(parameters))
    if parameters:
        raise UserError(parameters[0], "a model file takes no parameters")
    try:
        return replace(Model.load(name), name=Path(name).stem)
    except UserError as problem:
        raise UserError(f"{name}: {problem.place}" if problem.place else name, problem.reason) from None


def model_in_one_word(text: str) -> Model:
    """The same with name and parameters in one word, such as "memory-chain bits=2"; a file name may hold blanks."""
    if is_model_file(text):
        return named_model(text)
    name, *parameters = text.split() or [""]
    return named_model(name, parameters)
