"""The observation convention: what of O_t counts as seen, Ō_t = (phase, probe symbol, f¹_t, f²_t, …)."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

from certify.errors import UserError
from diacritic.files.schema import Range, read_as

SEPARATION = 0.05  # metres between class means
_MANY = 1_000_000  # steps, columns, classes
NOISE_MULTIPLE = 25  # or so many standard deviations of the sensor noise
Size = Annotated[int, Range(1, _MANY)]
Index = Annotated[int, Range(0, _MANY)]


@dataclass(frozen=True)
class Factor:
    """A class f^i that the pose may show: nearest class mean of the end-effector position, step by step.

    Class means are compared after conditioning on the factors `given`; of two nested factors, such as quartile and
    octile, neither is conditioned on the other. A factor with a `separation` of its own, or one that is `assumed` to be
    seen at certain steps whatever the means say (the sag symbol), is read with measured agreement.
    """

    name: str
    latent: str  # the recorded latent that holds its class
    classes: Size
    given: tuple[str, ...] = ()
    axes: tuple[Index, ...] = (0, 1, 2)  # of the end-effector position; (2,) reads the height alone
    separation: float | None = None  # metres; None is the rule of the convention
    assumed: tuple[Index, ...] | None = None  # steps, from 0, at which it counts as seen; None lets the means decide

    @property
    def sharp(self) -> bool:
        """Whether not one disagreement is accepted."""
        return self.separation is None and self.assumed is None


@dataclass(frozen=True)
class Convention:
    """Where phase, probe and position lie in the observation, the factors, and what the recorder had to balance."""

    phases: tuple[str, ...]
    phase_columns: tuple[Index, Index]  # half-open range of the one-hot phase
    probe_columns: tuple[Index, Index]
    position_columns: tuple[Index, ...]
    noise: float  # standard deviation of the position sensor, metres
    factors: tuple[Factor, ...]
    designed: Mapping[str, tuple[Index, ...]] = field(default_factory=dict)  # factor → steps, from 0, meant to show it
    strata: Mapping[str, Size] = field(default_factory=dict)  # independent latents that decide every symbol, and sizes
    nuisances: Mapping[str, Size] = field(default_factory=dict)  # independent latents that no symbol depends on
    coins: Mapping[str, Size] = field(default_factory=dict)  # fair draws of the expert, which decide actions alone
    hidden: Mapping[str, Size] = field(default_factory=dict)  # latents that leak probes ask for, and their sizes
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # latent → phases that show it by design

    def __post_init__(self) -> None:
        names = [factor.name for factor in self.factors]
        for factor in self.factors:
            for other in factor.given:
                if other not in names or other == factor.name:
                    said = f"{other!r} is not another factor; choose from {names}"
                    raise UserError(f"factors[{factor.name}].given", said)
        for name in self.designed:
            if name not in names:
                raise UserError("designed", f"{name!r} is not a factor; choose from {names}")
        for name, phases in self.shown.items():
            for phase in phases:
                if phase not in self.phases:
                    raise UserError(f"shown[{name}]", f"{phase!r} is not a phase; choose from {list(self.phases)}")

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
        return read_as(Convention, document, "convention", "record again")

    def check(self, channels: int, steps: int, phase: int, latents: Iterable[str]) -> None:
        """Refuse a convention that names columns, steps, phases or latents that a recording does not have."""
        columns = [*self.position_columns, *(edge - 1 for edge in (*self.phase_columns, *self.probe_columns) if edge)]
        if not all(0 <= column < channels for column in columns):
            raise UserError("convention", f"names a column beyond the {channels} of the observations")
        if phase >= max(len(self.phases), 1):
            raise UserError("convention", f"names {len(self.phases)} phases, but the recording has phase {phase}")
        named = [*self.designed.values(), *(factor.assumed or () for factor in self.factors)]
        if not all(0 <= step < steps for part in named for step in part):
            raise UserError("convention", f"names a step beyond the {steps} of the recording")
        wanted = {factor.latent for factor in self.factors} | {*self.strata, *self.nuisances, *self.coins, *self.hidden}
        lacking = sorted(wanted - set(latents))
        if lacking:
            raise UserError("convention", f"names the latent {lacking[0]!r}, which the recording does not have")


NO_CONVENTION = Convention(("episode",), (0, 0), (0, 0), (), 0.0, ())
"""That of a recording of which nobody said what can be seen in it."""


def numbered_phases(last: int) -> Convention:
    """The same for a recording whose phases have the numbers 0 to `last` and no names."""
    return replace(NO_CONVENTION, phases=tuple(map(str, range(last + 1)))) if last else NO_CONVENTION
