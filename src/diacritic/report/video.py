"""Short films of the Franka tasks: the scene, and beside it what is told, carried and required at every step."""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageDraw, ImageFont

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.demos.binner import Binner
from diacritic.demos.franka import FrankaRecorder
from diacritic.measure.recorded import Classes
from diacritic.rollout.franka import Loop
from diacritic.rollout.paired_episodes import SharedEpisodes
from diacritic.rollout.policies import Floats, Ints, Player
from diacritic.tasks.franka.observation import SLICES
from diacritic.tasks.franka.pixels import Camera, Cameras, states
from diacritic.tasks.franka.task import Task
from diacritic.tasks.franka.tasks import known_name
from diacritic.tasks.franka.timeline import PHASES

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
    display: Sequence[float]  # the channels as observed
    shown: int  # the number that they stand for, −1 where dark
    required: float  # bits
    most: float  # bits, the longest bar
    code: int | None
    note: str


class Spectator:
    """Nobody: the expert acts, and nothing is carried."""

    runs, pixels = 1, False

    def begin(self, episodes: int) -> None:
        self._episodes = episodes

    def step(
        self, seen: Floats, previous: Floats | None, symbols: Ints | None, frames: NDArray[np.uint8] | None
    ) -> tuple[Ints, Floats]:
        return np.full((1, self._episodes), -1), np.zeros((1, self._episodes, 4), np.float32)


def film(
    task: Task,
    player: Player | None = None,
    binner: Binner | None = None,
    latents: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Iterator[Frame]:
    """One episode of the expert, or of a player with one policy, frame by frame."""
    required, most = _bits(task)
    core = SharedEpisodes(task, 1, 1, seed, threads=1)
    cameras = Cameras(core) if player is not None and player.pixels else None
    camera = Camera(task.physical, task.slots, "side", HEIGHT, WIDTH)
    hidden = None if latents is None else {name: np.array([value]) for name, value in latents.items()}
    takeover = task.horizon if player is None else 0
    title = known_name(task) + ("" if player is None else ", a policy")

    def shot(panel: Panel) -> Frame:
        return np.concatenate([camera.frame(states(core)[0]), draw_panel(panel)], axis=1)

    try:
        panel = None
        for moment in Loop(core, player or Spectator(), hidden, binner, takeover, cameras):
            t, step = moment.t, task.steps[moment.t]
            seen, shown = moment.seen[0, 0], int(task.probe_value(t, core.latents)[0])
            phase = PHASES[int(seen[SLICES["phase"]].argmax())]
            note = "" if step.decides is None or task.levels(step.decides) == 1 else f"decides the {step.decides}"
            code = None if player is None else int(moment.codes[0, 0])
            display = seen[SLICES["display"]].tolist()
            panel = Panel(title, t + 1, task.horizon, phase, display, shown, required[t], most, code, note)
            yield shot(panel)
        assert panel is not None
        note = "success" if core.outcome()["success"][0] else "failure"
        last = shot(panel._replace(display=[0.0] * len(panel.display), shown=-1, required=0.0, note=note))
        for _ in range(LAST):
            yield last
    finally:
        camera.close()
        if cameras is not None:
            cameras.close()


def required_bits(task: Task) -> tuple[float, ...]:
    """H(Γ_t | Ō_t) of the task as it is designed, every latent configuration equally likely."""
    strata = FrankaRecorder(task).convention.strata
    episodes = [dict(zip(strata, values, strict=True)) for values in product(*map(range, strata.values()))]
    nuisances = dict.fromkeys(task.latents, 0)
    hidden = [nuisances | episode for episode in episodes]
    classes = [
        {name: int(v[0]) for name, v in task.choices({k: np.array([x]) for k, x in h.items()}).items()} for h in hidden
    ]
    steps = range(task.horizon)
    seen = _numbered([[task.symbolic_observation(t, h) for h in hidden] for t in steps])
    acted = _numbered([[task.symbolic_action(t, c) for c in classes] for t in steps])
    return Classes.of(seen, acted).required


def write_film(frames: Iterator[Frame] | Sequence[Frame], path: Path) -> None:
    """Write as .gif or .mp4, by atomic rename."""
    writers = {".gif": _write_gif, ".mp4": _write_mp4}
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise UserError(str(path), f"films are written as {' or '.join(writers)}; give one of these suffixes")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix.lower()}")
    try:
        writer(list(frames), partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def draw_panel(panel: Panel) -> Frame:
    """The panel as a picture (height, panel, 3)."""
    image = Image.new("RGB", (PANEL, HEIGHT), "white")
    draw, font, bold = ImageDraw.Draw(image), ImageFont.load_default(12), ImageFont.load_default(14)
    draw.text((10, 8), panel.title, _DARK, bold)
    draw.text((10, 28), f"step {panel.t} of {panel.horizon}", _GREY, font)
    for k, name in enumerate(PHASES):
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


def _bits(task: Task) -> tuple[tuple[float, ...], float]:
    required = required_bits(task)
    return required, max(*required, 1.0)


def _numbered(table: list[list[str]]) -> Ints:
    """Names as numbers, equal where they are equal, [T, N]."""
    names: dict[str, int] = {}
    return np.array([[names.setdefault(name, len(names)) for name in row] for row in table])


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
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=PER_SECOND)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
