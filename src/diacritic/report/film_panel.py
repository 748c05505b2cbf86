"""What stands under and over the pictures of a film: required bits, the growing code strip, and a headline."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from diacritic.report.colours import colour, ink_on
from diacritic.report.design import Design
from diacritic.report.labels import stretches
from diacritic.report.takes import Colours, Take
from diacritic.tasks.protocol import Task

Frame = NDArray[np.uint8]
SCENE = 0.75  # share of the height that the picture takes
INK, SOFT, PALE, AMBER, MARK = "#16202b", "#4a5664", "#e6eaee", "#e0a63c", "#d55e00"


@dataclass(frozen=True)
class Format:
    """Size of a film and its frames per second; both sizes are even, as video codecs want them."""

    height: int = 720
    width: int = 1280
    rate: int = 30

    @property
    def scene(self) -> int:
        """Height of the picture."""
        return round(self.height * SCENE / 2) * 2

    def frames(self, seconds: float) -> int:
        return max(1, round(seconds * self.rate))


class Now(NamedTuple):
    """Where a film stands: a step from 0, how far into it, and what is said of each take."""

    t: int
    share: float
    notes: Sequence[str]
    bright: bool = False  # the decision


def compose(form: Format, pictures: Sequence[Frame], takes: Sequence[Take], now: Now, story: "Story") -> Frame:
    """One frame: pictures side by side, each with its headline, bits and code strip."""
    sheet = Image.new("RGB", (form.width, form.height), "white")
    draw, scale, wide = ImageDraw.Draw(sheet), form.height / 720, form.width // len(pictures)
    for k, (picture, take) in enumerate(zip(pictures, takes, strict=True)):
        sheet.paste(Image.fromarray(_banded(picture, round(92 * scale))), (k * wide, 0))
        _headline(draw, k * wide, scale, take.title, now.notes[k])
        if now.bright:
            box = (k * wide + 2, 2, k * wide + picture.shape[1] - 3, form.scene - 3)
            draw.rectangle(box, outline=MARK, width=max(2, round(6 * scale)))
        _Strip(draw, k * wide, form.scene, wide, scale, story).draw(take, now)
    return np.asarray(sheet)


@dataclass(frozen=True)
class Story:
    """What is the same for every take: the task, its design, and what codes stand for."""

    task: Task
    design: Design
    colours: Colours


@dataclass(frozen=True)
class _Strip:
    """The part below one picture."""

    draw_on: Any
    left: int
    top: int
    wide: int
    scale: float
    story: Story

    def draw(self, take: Take, now: Now) -> None:
        self._phases()
        self._bits()
        if take.codes is not None:
            self._codes(take, now)
        x = self._x(now.t + now.share)
        self.draw_on.line((x, self._y(8), x, self._y(132)), INK, max(1, round(2 * self.scale)))

    def _x(self, t: float) -> float:
        gutter = 92 * self.scale
        return self.left + gutter + (self.wide - gutter - 16 * self.scale) * t / self.story.task.horizon

    def _y(self, pixels: float) -> float:
        return self.top + pixels * self.scale

    def _text(self, x: float, y: float, text: str, size: int = 15, fill: str = SOFT) -> None:
        self.draw_on.text((x, self._y(y)), text, fill, _font(round(size * self.scale)))

    def _phases(self) -> None:
        for at, length, name in stretches(self.story.task.phases):
            x, end = self._x(at), self._x(at + length)
            self.draw_on.rectangle((x, self._y(8), end - 2, self._y(28)), PALE)
            if end - x > 8.5 * self.scale * len(name):
                self._text(x + 5 * self.scale, 9, name, 14)

    def _bits(self) -> None:
        required = self.story.design.required
        most = max(*required, 1.0)
        self._text(self.left + 8 * self.scale, 44, "required")
        self._text(self.left + 8 * self.scale, 60, "bits")
        for t, bits in enumerate(required):
            if bits > 0:
                box = (self._x(t), self._y(82 - 46 * bits / most), self._x(t + 1), self._y(82))
                self.draw_on.rectangle(box, AMBER)
        for at, length, bits in stretches(round(value, 2) for value in required):
            if bits > 0 and self._x(at + length) - self._x(at) > 16 * self.scale:
                self._text(self._x(at) + 4 * self.scale, 66, f"{bits:g}", 14, INK)

    def _codes(self, take: Take, now: Now) -> None:
        assert take.codes is not None
        colours, codes = self.story.colours, take.codes[: now.t + 1].tolist()
        self._text(self.left + 8 * self.scale, 98, "code")
        for at, length, (code, look) in stretches((code, colours.look(t, code)) for t, code in enumerate(codes)):
            end = min(at + length, now.t + now.share) if at + length > now.t else at + length
            fill = "#d7dce1" if look is None or look.number < 0 else colour(look.number)
            box = (self._x(at), self._y(94), max(self._x(at), self._x(end) - 1), self._y(122))
            self.draw_on.rectangle(box, fill)
            if look is not None and look.second:
                self._hatch(box)
            if self._x(end) - self._x(at) > 9 * self.scale * len(str(code)) + 3:
                self._text(self._x(at) + 4 * self.scale, 99, str(code), 15, ink_on(fill))
        look = colours.look(now.t, codes[-1])
        if look is not None and look.number >= 0:
            self._text(self._x(0), 140, f"code {codes[-1]}: {colours.names[look.number]}", 20, INK)
        else:
            self._text(self._x(0), 140, f"code {codes[-1]}", 20, INK)

    def _hatch(self, box: tuple[float, float, float, float]) -> None:
        left, top, right, bottom = box
        high, step = bottom - top, 9 * self.scale
        x = left
        while x + high < right:
            self.draw_on.line((x, bottom, x + high, top), "white", max(1, round(2 * self.scale)))
            x += step


def _banded(picture: Frame, high: int) -> Frame:
    """The picture with a pale band behind the headline."""
    banded = picture.copy()
    banded[:high] = 191 + banded[:high] // 4
    return banded


def _headline(draw: Any, left: int, scale: float, title: str, note: str) -> None:
    x = left + 24 * scale
    draw.text((x, 16 * scale), title, SOFT, _font(round(22 * scale)))
    draw.text((x, 44 * scale), note, INK, _font(round(32 * scale)))


@cache
def _font(size: int) -> Any:
    return ImageFont.load_default(max(6, size))
