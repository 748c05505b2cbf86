"""Ways to train a carrier: `carousel`, which is ours, and those of the paper's authors by family of tasks."""

from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, Literal

import torch

from certify.errors import UserError
from diacritic.memory.shape import Architecture


@dataclass(frozen=True)
class Preset:
    """How gradients flow and where training starts."""

    name: str
    gradient: Literal["carousel", "full"]
    """`carousel` stops the gradient where the code enters f; `full` differentiates the whole recurrence."""
    code_start: Literal["normal", "uniform"]
    code_scale: float
    """Deviation of the code vectors' entries at the start, or half the width of their interval."""
    residual_scale: float
    """Factor on the residual's last layer at the start: small, so that a code persists before anything is learned."""
    restarts: int
    """Every so many steps codes that nothing uses move onto sampled proposals; 0 never."""
    restart_until: float
    """… until this share of training."""
    rate: float
    """Learning rate of Adam."""
    clip: float | None
    """Largest gradient norm of a run."""
    pressure: tuple[float, float]
    """β rises linearly from 0 to its value between these shares of training; (0, 0) is constant."""
    pressure_updates: int = 0
    """β · min(1, (update + 1) / this) instead; 0 leaves it to `pressure`."""
    clip_heads: bool = True
    """Heads that only training reads count in the gradient's norm and are clipped with it."""
    restart_from: Literal["proposals", "used codes"] = "proposals"
    """Unused in all episodes, moved onto proposals, moments reset; or unused in the last batch, moved to vectors of
    codes in use with noise of deviation 0.01, moments kept."""
    batch: int | None = 512
    """Episodes drawn for each update; none: every episode with its weight."""
    batch_within: bool = False
    """At most as many draws as a recording has episodes."""
    scaffold: tuple[float, float] = (0.0, 0.7)
    """α of a scaffold is 1 until the first of these shares of training and falls linearly to 0 at the second …"""
    scaffold_updates: tuple[int, int] | None = None
    """… or at these updates, however long training is."""
    released: bool = False
    """Terms have the form of the authors' release (`training.released`)."""
    bits: bool = False
    """The rate is paid in bits; in nats otherwise, unless terms have the released form."""
    summed: bool = False
    """Quantisation sums over the numbers of a vector; it takes their mean otherwise, likewise."""
    low: Literal["bf16", "tf32"] = "bf16"
    """Products on CUDA where low precision is allowed."""
    changes: tuple[tuple[str, Any], ...] = ()
    """Settings of the carrier."""

    @property
    def precision(self) -> torch.dtype:
        """What a plan's `low` is on CUDA: fp32 stands for TF32."""
        return torch.bfloat16 if self.low == "bf16" else torch.float32

    @property
    def symbolic_batch(self) -> int | None:
        """Episodes drawn for each update where they are a model's: ours then learns from all, with their weights."""
        return self.batch if self.released else None

    def decides(self, frames: bool = False) -> dict[str, Any]:
        """Its settings as data; those that came later only where they are used, so that older digests stay.

        The camera's counts where a task has `frames`.
        """
        later = {field.name for field in fields(self) if field.default is not MISSING}
        used = {name for name in later if getattr(self, name) != Preset.__dataclass_fields__[name].default}
        given = {name: value for name, value in vars(self).items() if name not in later or name in used}
        if "changes" in given and not frames:
            given["changes"] = tuple(change for change in self.changes if change[0] != "camera")
        return given

    def architecture(self, base: Architecture) -> Architecture:
        """The carrier that this preset trains."""
        return replace(base, **dict(self.changes))


_ARM = {
    "bound": "sphere",
    "start": "first code",
    "encoder": "narrow",
    "camera": "beside",
    "residual_layers": 2,
    "head_layers": 1,
    "offset_size": 16,
    "prior_reads": "observation",
    "path_size": 32,
    "path_alone": True,
    "controller_reads": "observation",
    "deviation_reads": "hidden",
    "blocks": "post",
}
_TOY = {**_ARM, "encoder": "table", "prior_reads": "table", "width": 64, "action_layers": 1}
_RELEASE = Preset(
    "release",
    "full",
    "normal",
    0.5,
    1.0,
    50,
    0.5,
    3e-4,
    5.0,
    (0.0, 0.0),
    pressure_updates=1000,
    clip_heads=False,
    restart_from="used codes",
    batch_within=True,
    scaffold_updates=(2000, 6000),
    released=True,
    low="tf32",
    changes=tuple(_ARM.items()),
)


def _family(name: str, carrier: dict[str, Any], **settings: Any) -> Preset:
    return replace(_RELEASE, name=name, changes=tuple(carrier.items()), **settings)


_TOYS = {"batch": None, "scaffold_updates": (1500, 4000)}
_PRESETS = (
    Preset("carousel", "carousel", "normal", 0.1, 0.3, 100, 0.6, 1e-3, 1.0, (0.0, 0.5)),
    _RELEASE,
    _family("release-external", _ARM, batch=64, scaffold_updates=None, scaffold=(0.2, 0.6)),
    _family("release-toy", {**_TOY, "bound": "none"}, **_TOYS),
    _family("release-corridor", {**_TOY, "bound": "tanh"}, **_TOYS),
    _family("release-reveal", _TOY, rate=1e-3, **_TOYS),
    _family("release-stochastic", {**_ARM, "width": 64, "code_size": 16}, rate=1e-3, batch=256, clip=None),
)
"""Ours, and the settings of the authors' public code: arm, third-party environments, gap toy, corridors,
reveal toy, stochastic expert."""
PRESETS = {preset.name: preset for preset in _PRESETS}


INGREDIENTS: dict[str, dict[str, Any]] = {
    "sphere": {"changes": (("bound", "sphere"),)},
    "bits": {"bits": True},
    "summed": {"summed": True},
}
"""What may be added to our preset, as in `carousel+sphere+bits`: choices of the release that may be good for others."""


def preset(name: str) -> Preset:
    """The preset of that name, with the ingredients that the name adds."""
    base, *added = name.split("+")
    unknown = [one for one in added if one not in INGREDIENTS]
    if base not in PRESETS or unknown or (added and base != "carousel"):
        listed = ", ".join([*PRESETS, *(f"carousel+{one}" for one in INGREDIENTS)])
        raise UserError("--preset", f"no preset is called {name!r}; known: {listed}")
    settings = {key: value for one in added for key, value in INGREDIENTS[one].items()}
    return replace(PRESETS[base], name=name, **settings)
