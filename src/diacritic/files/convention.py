"""The observation convention: what of O_t counts as seen, Ō_t = (phase, probe symbol, f¹_t, f²_t, …)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from certify.errors import UserError

SEPARATION = 0.05  # metres between class means
NOISE_MULTIPLE = 25  # or so many standard deviations of the sensor noise


@dataclass(frozen=True)
class Factor:
    """A class f^i that the pose may show: nearest class mean of the end-effector position, step by step.

    Class means are compared after conditioning on the factors `given`; of two nested factors, such as quartile and
    octile, neither is conditioned on the other. A factor with a `separation` of its own, or one that is `assumed` to be
    seen at certain steps whatever the means say (the sag symbol), is read with measured agreement.
    """

    name: str
    latent: str  # the recorded latent that holds its class
    classes: int
    given: tuple[str, ...] = ()
    axes: tuple[int, ...] = (0, 1, 2)  # of the end-effector position; (2,) reads the height alone
    separation: float | None = None  # metres; None is the rule of the convention
    assumed: tuple[int, ...] | None = None  # steps, from 0, at which it counts as seen; None lets the means decide

    @property
    def sharp(self) -> bool:
        """Whether not one disagreement is accepted."""
        return self.separation is None and self.assumed is None


@dataclass(frozen=True)
class Convention:
    """Where phase, probe and position lie in the observation, the factors, and what the recorder had to balance."""

    phases: tuple[str, ...]
    phase_columns: tuple[int, int]  # half-open range of the one-hot phase
    probe_columns: tuple[int, int]
    position_columns: tuple[int, int, int]
    noise: float  # standard deviation of the position sensor, metres
    factors: tuple[Factor, ...]
    designed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # factor → steps, from 0, meant to show it
    strata: Mapping[str, int] = field(default_factory=dict)  # independent latents that decide every symbol, and sizes
    nuisances: Mapping[str, int] = field(default_factory=dict)  # independent latents that no symbol depends on
    hidden: Mapping[str, int] = field(default_factory=dict)  # latents that leak probes ask for, and their sizes
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # latent → phases that show it by design

    def __post_init__(self) -> None:
        names = [factor.name for factor in self.factors]
        for factor in self.factors:
            for other in factor.given:
                if other not in names or other == factor.name:
                    said = f"{other!r} is no other factor; choose from {names}"
                    raise UserError(f"factors[{factor.name}].given", said)
        for name in self.designed:
            if name not in names:
                raise UserError("designed", f"{name!r} is no factor; choose from {names}")
        for name, phases in self.shown.items():
            for phase in phases:
                if phase not in self.phases:
                    raise UserError(f"shown[{name}]", f"{phase!r} is no phase; choose from {list(self.phases)}")

    def factor(self, name: str) -> Factor:
        return next(factor for factor in self.factors if factor.name == name)

    def threshold(self, factor: Factor) -> float:
        """Class means must be further apart than this: 5 cm or 25 noise s.d., whichever is met first."""
        if factor.separation is not None:
            return factor.separation
        return min(SEPARATION, NOISE_MULTIPLE * self.noise) if self.noise > 0 else SEPARATION

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> "Convention":
        """The inverse of `to_dict` on what JSON leaves of it."""
        try:
            values = {item.name: document[item.name] for item in fields(Convention)}
            values["factors"] = tuple(Factor(**_tuples(factor)) for factor in document["factors"])
            for name in ("shown", "designed"):
                values[name] = {key: tuple(items) for key, items in document[name].items()}
            return Convention(**_tuples(values))
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError("convention", f"cannot be read ({type(error).__name__}: {error}); record anew") from None


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
