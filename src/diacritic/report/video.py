"""Short films of a simulated task: the scene, and beside it what is shown, carried and required at every step."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageDraw, ImageFont

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.demos.binner import Binner
from diacritic.files.atomic import make_folder, path_atomic
from diacritic.measure.recorded import Classes
from diacritic.rollout.closed_loop import Loop
from diacritic.rollout.policies import Floats, Ints, Player
from diacritic.tasks.protocol import Task

Frame = NDArray[np.uint8]
HEIGHT, WIDTH, PANEL = 240, 320, 176  # pixels, all even, as video codecs want them
PER_SECOND = 4  # macro steps: twice as fast as the arm
LAST = 4  # times that the outcome is shown
_DARK, _GREY, _LIGHT, _BLUE, _AMBER = "#202020", "#9a9a9a", "#dddddd", "#465aa0", "#e8a828"
_CODES = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222255")


class Panel(NamedTuple):
    """What stands beside one frame."""

    title: str
    t: int
    horizon: int
    phase: str
    phases: Sequence[str]
    display: Sequence[float]  # the channels as observed
    shown: int  # the number that they stand for, −1 where dark
    required: float  # bits
    most: float  # bits, the longest bar
    code: int | None
    note: str


class Spectator:
    """Nobody: the expert acts, and nothing is carried."""

    runs, pixels = 1, False

    def __init__(self, actions: int) -> None:
        self._actions = actions

    def begin(self, episodes: int) -> None:
        self._episodes = episodes

    def step(
        self, seen: Floats, previous: Floats | None, symbols: Ints | None, frames: NDArray[np.uint8] | None
    ) -> tuple[Ints, Floats]:
        return np.full((1, self._episodes), -1), np.zeros((1, self._episodes, self._actions), np.float32)


def film(
    task: Task,
    player: Player | None = None,
    binner: Binner | None = None,
    latents: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Iterator[Frame]:
    """One episode of the expert, or of a player with one policy, frame by frame."""
    design = Design.of(task)
    batch = task.batch(1, seed, threads=1)
    hidden = None if latents is None else {name: np.array([value]) for name, value in latents.items()}
    takeover = task.horizon if player is None else 0
    title = task.title.partition(" ")[0] + ("" if player is None else ", a policy")
    phases, probe = tuple(dict.fromkeys(task.phases)), slice(*task.convention.probe_columns)

    def shot(panel: Panel) -> Frame:
        return np.concatenate([batch.picture(HEIGHT, WIDTH), draw_panel(panel)], axis=1)

    try:
        panel = None
        for moment in Loop(task, batch, player or Spectator(len(task.action_names)), hidden, binner, takeover):
            t, shown = moment.t, int(task.displayed(moment.t, batch.latents)[0])
            note = f"decides the {design.decides[t]}" if design.decides[t] else ""
            code = None if player is None else int(moment.codes[0, 0])
            display = moment.seen[0, 0, probe].tolist()
            need, most = design.required[t], max(*design.required, 1.0)
            panel = Panel(title, t + 1, task.horizon, task.phases[t], phases, display, shown, need, most, code, note)
            yield shot(panel)
        assert panel is not None
        note = "success" if batch.outcome()["success"][0] else "failure"
        last = shot(panel._replace(display=[0.0] * len(panel.display), shown=-1, required=0.0, note=note))
        for _ in range(LAST):
            yield last
    finally:
        batch.close()


class Design(NamedTuple):
    """A task as it is designed, every latent configuration equally likely."""

    required: tuple[float, ...]  # H(Γ_t | Ō_t)
    decides: tuple[str | None, ...]  # the class on which the expert's action depends

    @staticmethod
    def of(task: Task) -> "Design":
        strata = task.convention.strata
        hidden = {name: np.zeros(prod(strata.values()), np.int64) for name in task.latents}
        hidden |= dict(zip(strata, np.array(list(product(*map(range, strata.values())))).T, strict=True))
        acted, choices = task.symbolic_actions(hidden)[0], task.choices(hidden)
        classes = {name: choices[name] for name in task.decisions}
        required = Classes.of(task.symbolic_observations(hidden)[0], acted).required
        return Design(required, tuple(_cause(row, classes) for row in acted))


def _cause(actions: Ints, classes: Mapping[str, Ints]) -> str | None:
    """The class that decides the actions, of several that with the fewest values; none where they are all alike."""
    if actions.min() == actions.max():
        return None
    fitting = {name: len(np.unique(values)) for name, values in classes.items() if _determines(values, actions)}
    return min(fitting, key=lambda name: fitting[name], default=None)


def _determines(cause: Ints, effect: Ints) -> bool:
    return len(np.unique(np.stack([cause, effect]), axis=1).T) == len(np.unique(cause))


def write_film(frames: Iterator[Frame] | Sequence[Frame], path: Path) -> None:
    """Write as .gif or .mp4, by atomic rename."""
    writers = {".gif": _write_gif, ".mp4": _write_mp4}
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise UserError(str(path), f"films are written as {' or '.join(writers)}; give one of these suffixes")
    shown = list(frames)
    make_folder(path.parent)
    with path_atomic(path) as partial:
        writer(shown, partial)


def draw_panel(panel: Panel) -> Frame:
    """The panel as a picture (height, panel, 3)."""
    image = Image.new("RGB", (PANEL, HEIGHT), "white")
    draw, font, bold = ImageDraw.Draw(image), ImageFont.load_default(12), ImageFont.load_default(14)
    draw.text((10, 8), panel.title, _DARK, bold)
    draw.text((10, 28), f"step {panel.t} of {panel.horizon}", _GREY, font)
    for k, name in enumerate(panel.phases):
        now = name == panel.phase
        draw.text((10 + 84 * (k // 3), 48 + 16 * (k % 3)), name, _DARK if now else _LIGHT, bold if now else font)
    shown = "dark" if panel.shown < 0 else f"shows {panel.shown}"
    draw.text((10, 104), f"display {shown}", _DARK, font)
    for k, level in enumerate(panel.display):
        colour = _LIGHT if abs(level) < 1e-9 else _AMBER if level > 0 else _BLUE
        draw.rectangle((10 + 17 * k, 122, 22 + 17 * k, 132), colour)
    draw.text((10, 142), f"required {panel.required:.2f} bits", _DARK, font)
    draw.rectangle((10, 160, PANEL - 10, 168), _LIGHT)
    if panel.required > 0:
        draw.rectangle((10, 160, 10 + round((PANEL - 20) * panel.required / panel.most), 168), _AMBER)
    if panel.code is not None:
        draw.text((10, 178), f"code {panel.code}", _DARK, font)
        draw.rectangle((70, 180, PANEL - 10, 190), _CODES[panel.code % len(_CODES)])
    draw.text((10, 208), panel.note, _DARK, bold)
    return np.asarray(image)


def _write_gif(frames: list[Frame], path: Path) -> None:
    palette = _palette([frames[0], frames[len(frames) // 2], frames[-1]])
    pictures = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    duration = 1000 // PER_SECOND
    pictures[0].save(path, "GIF", save_all=True, append_images=pictures[1:], duration=duration, loop=0, optimize=True)


def _palette(frames: list[Frame]) -> Image.Image:
    """Colours of some frames and all of the panel's, which those frames need not hold."""
    palette = Image.fromarray(np.concatenate(frames)).quantize(96)
    own = [ImageColor.getrgb(colour) for colour in ("white", _DARK, _GREY, _LIGHT, _BLUE, _AMBER, *_CODES)]
    palette.putpalette([*(palette.getpalette() or [])[: 3 * 96], *(part for colour in own for part in colour)])
    return palette


def _write_mp4(frames: list[Frame], path: Path) -> None:
    av: Any = import_optional("av", "report")
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=PER_SECOND)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
