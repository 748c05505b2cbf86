"""Names, parameters and aliases of the instances."""

import difflib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from certify.core.model import Model
from certify.core.reading import rational
from certify.errors import UserError

Parameter = int | Fraction
L = TypeVar("L")


@dataclass(frozen=True)
class Instance:
    """A named family of models; `defaults` are its parameters, and their types are the types of the parameters."""

    name: str
    make: Callable[..., Model]
    defaults: dict[str, Parameter]
    aliases: tuple[str, ...]

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.make) or "").split("\n")[0]

    def read(self, parameter: str, value: str | Parameter) -> Parameter:
        """A parameter from text, refused by name."""
        if parameter not in self.defaults:
            listed = ", ".join(self.defaults) or "none"
            raise UserError(self.name, f"unknown parameter {parameter!r}; it has {listed}")
        exact = rational(value, f"{self.name}.{parameter}")
        if isinstance(self.defaults[parameter], Fraction):
            return exact
        if exact.denominator != 1:
            raise UserError(f"{self.name}.{parameter}", f"expected a whole number, not {exact}")
        return int(exact)


_INSTANCES: dict[str, Instance] = {}


def instance(name: str, *aliases: str) -> Callable[[Callable[..., Model]], Callable[..., Model]]:
    """Register a function as an instance of the zoo."""

    def register(make: Callable[..., Model]) -> Callable[..., Model]:
        defaults = {key: item.default for key, item in inspect.signature(make).parameters.items()}
        _INSTANCES[name] = Instance(name, make, defaults, aliases)
        return make

    return register


def instances() -> list[Instance]:
    """Every instance, by name."""
    return [_INSTANCES[name] for name in sorted(_INSTANCES)]


def find(name: str) -> Instance:
    """The instance of that name or alias."""
    for item in _INSTANCES.values():
        if name == item.name or name in item.aliases:
            return item
    near = difflib.get_close_matches(name, _INSTANCES, 3, 0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else "python -m certify --list shows all"
    raise UserError("", f"no instance is called {name!r}; {hint}")


def build(name: str, **parameters: str | Parameter) -> Model:
    """The model of an instance with some parameters changed."""
    item = find(name)
    values = {key: item.read(key, value) for key, value in parameters.items()}
    model = item.make(**values)
    label = " ".join([item.name, *(f"{key}={value}" for key, value in values.items())])
    return replace(model, name=label)


def require(holds: bool, where: str, reason: str) -> None:
    """Refuse an impossible parameter in one line."""
    if not holds:
        raise UserError(where, reason)


def uniform(latents: Iterable[L]) -> list[tuple[L, Fraction]]:
    """Every latent with the same weight."""
    items = list(latents)
    return [(item, Fraction(1, len(items))) for item in items]
