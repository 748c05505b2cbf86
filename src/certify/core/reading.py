"""Read the model format `certify-model/1`: strict, exact, and every refusal names its place."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from certify.core.exact import as_masses, brief, common_denominator
from certify.core.graph import Episodes, Laws
from certify.errors import UserError

K = TypeVar("K")
Rational = Fraction | int | str
FORMAT = "certify-model/1"
MAX_BYTES = 128 * 2**20
_RATIONAL = re.compile(r"[+-]?\d+(/\d+|(\.\d*)?([eE][+-]?\d{1,3})?)|[+-]?\.\d+([eE][+-]?\d{1,3})?", re.ASCII)
_ZERO_DENOMINATOR = re.compile(r"/0+$")
_MAX_DIGITS = 4000
_MAX_BITS = 14_000  # of a common denominator, as in the checker
_MODEL_KEYS = {"format", "name", "notes", "horizon", "episodes", "empirical"}
_EPISODE_KEYS = {"weight", "latent", "notes", "steps"}
_STEP_KEYS = {"obs", "action_law", "action"}


class _Object(dict[str, Any]):
    """A JSON object that remembers the first key that was given twice."""

    duplicate: str | None = None


class _Number(str):
    """A JSON number kept as its own digits, so that decimals are read exactly."""


def load_document(path: Path) -> Any:
    """Parse a JSON file into plain values, refusing what is too large, too deep or not UTF-8."""
    return parse_document(read_bytes(path, "", MAX_BYTES, "; give large models as npz arrays"))


def read_bytes(path: Path, where: str = "", most: int | None = None, remedy: str = "") -> bytes:
    """A whole file, refused where it cannot be read or is larger than `most` bytes."""
    try:
        if most is not None and (size := path.stat().st_size) > most:
            raise UserError(where, f"the file has {size:,} bytes, more than {most:,}{remedy}")
        return path.read_bytes()
    except OSError as error:
        raise UserError(where, f"cannot be read: {error.strerror}") from None


def read_text(path: Path, where: str = "", most: int | None = None) -> str:
    """A whole text file."""
    try:
        return read_bytes(path, where, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(where, f"not UTF-8 text (byte {error.start}); save the file as UTF-8") from None


def parse_document(raw: bytes | str) -> Any:
    """JSON text to plain values; duplicate keys are remembered for the walk that knows their path."""
    try:
        return json.loads(
            raw if isinstance(raw, str) else raw.decode("utf-8-sig"),
            object_pairs_hook=_object,
            parse_float=_Number,
            parse_int=_Number,
            parse_constant=_Number,
        )
    except UnicodeDecodeError as error:
        raise UserError("", f"not UTF-8 text (byte {error.start}); save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise UserError("", f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise UserError("", "nested too deeply to be a model; a model has five levels") from None


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    result = _Object(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        result.duplicate = next(key for key, _ in pairs if key in seen or seen.add(key))
    return result


def rational(value: Any, where: str) -> Fraction:
    """An exact rational: an integer, a Fraction, or text such as ``1/4``, ``0.25`` or ``1e-3``."""
    if isinstance(value, bool) or not isinstance(value, str | int | Fraction):
        kind = "a float, which is not exact" if isinstance(value, float) else f"{_shown(value)}"
        raise UserError(where, f'expected a rational such as "1/4" or "0.25", not {kind}')
    if isinstance(value, str):
        digits = value.strip()
        if len(digits) > _MAX_DIGITS or not _RATIONAL.fullmatch(digits) or _ZERO_DENOMINATOR.search(digits):
            raise UserError(where, f'expected a rational such as "1/4" or "0.25", not {_shown(value)}')
        return Fraction(digits)
    return Fraction(value)


def total(values: Iterable[Fraction], where: str | Callable[[], str]) -> Fraction:
    """The exact sum of numbers from a file, whose common denominator may not grow without bound."""
    top, bottom = 0, 1
    for value in values:
        wider = math.lcm(bottom, value.denominator)
        check_digits(wider, where)
        top = top * (wider // bottom) + value.numerator * (wider // value.denominator)
        bottom = wider
    return Fraction(top, bottom)


def check_digits(denominator: int, where: str | Callable[[], str]) -> None:
    """Refuse a denominator that no certificate could be checked with."""
    if denominator.bit_length() > _MAX_BITS:
        raise UserError(
            where if isinstance(where, str) else where(),
            f"the common denominator has more than {_MAX_BITS:,} bits; write fewer digits",
        )


def read_name(document: Mapping[str, Any]) -> str:
    """The name of a model: text, or nothing."""
    return text(document.get("name", ""), "name")


def read_episodes(document: Any) -> Episodes:
    """Validate a whole model and turn it into arrays."""
    model = mapping(document, "", _MODEL_KEYS, {"horizon", "episodes"})
    if model.get("format", FORMAT) != FORMAT:
        raise UserError("format", f'expected "{FORMAT}", not {_shown(model["format"])}')
    read_name(model)
    empirical = model.get("empirical", False)
    if not isinstance(empirical, bool):
        raise UserError("empirical", f"expected true or false, not {_shown(empirical)}")
    horizon = rational(model["horizon"], "horizon")
    if horizon.denominator != 1 or horizon < 1:
        raise UserError("horizon", f"expected a whole number of steps, at least 1, not {brief(horizon)}")
    if not isinstance(model["episodes"], list) or not model["episodes"]:
        raise UserError("episodes", "expected a list with at least one episode")
    return _Reader(int(horizon), empirical).read(model["episodes"])


class Numbers:
    """The numbers of observations, actions and laws, each given when it is first met."""

    def __init__(self) -> None:
        self.observations: dict[str, int] = {}
        self.actions: dict[str, int] = {}
        self.laws = Laws()
        self._denominator = 1  # of all laws together

    def law(self, given: Mapping[str, Any], where: Callable[[], str]) -> tuple[int, dict[str, Fraction]]:
        """The number of a law over the names of actions, and the law without zeros."""
        for name in given:
            text(name, where())
        law = exact_law(given, where)
        self._denominator = math.lcm(self._denominator, *(p.denominator for p in law.values()))
        check_digits(self._denominator, where)
        return self.laws.intern({index_name(self.actions, name): p for name, p in law.items()}), law


def exact_law(given: Mapping[K, Any], where: Callable[[], str]) -> dict[K, Fraction]:
    """A distribution with exact probabilities, without zeros."""
    law: dict[K, Fraction] = {}
    for key, p in given.items():
        law[key] = p if type(p) is Fraction else rational(p, f"{where()}[{_shown(key)}]")
        if law[key] < 0:
            raise UserError(f"{where()}[{_shown(key)}]", f"the probability {brief(law[key])} is negative")
    whole = total(law.values(), where)
    if whole != 1:
        raise UserError(where(), f"the probabilities sum to {brief(whole)}, not to 1")
    return {key: p for key, p in law.items() if p}


class _Reader(Numbers):
    def __init__(self, horizon: int, empirical: bool) -> None:
        super().__init__()
        self.horizon, self.empirical = horizon, empirical
        self.read_laws: dict[tuple[tuple[str, Any], ...], tuple[int, frozenset[str]]] = {}

    def read(self, items: list[Any]) -> Episodes:
        weights: list[Fraction] = []
        rows: list[list[tuple[int, int, int]]] = []
        for index, item in enumerate(items):
            where = f"episodes[{index}]"
            episode = mapping(item, where, _EPISODE_KEYS, {"weight", "steps"})
            weight = rational(episode["weight"], f"{where}.weight")
            if weight < 0:
                raise UserError(f"{where}.weight", f"the weight {brief(weight)} is negative")
            weights.append(weight)
            rows.append(self.steps(episode["steps"], f"{where}.steps"))
        whole = total(weights, "episodes")
        if whole != 1:
            raise UserError("episodes", f"the weights sum to {brief(whole)}, not to 1")
        kept = [index for index, weight in enumerate(weights) if weight]
        table = np.array([rows[index] for index in kept], np.int64).reshape(len(kept), self.horizon, 3)
        return Episodes(
            table[:, :, 0],
            table[:, :, 1],
            table[:, :, 2],
            as_masses(common_denominator([weights[index] for index in kept])[0]),
            tuple(self.observations),
            tuple(self.actions),
            self.laws,
            np.array(kept, np.int64),
            self.empirical,
        )

    def steps(self, steps: Any, where: str) -> list[tuple[int, int, int]]:
        if not isinstance(steps, list):
            raise UserError(where, f"expected a list of steps, not {_shown(steps)}")
        if len(steps) != self.horizon:
            wanted = brief(self.horizon)
            raise UserError(where, f"{len(steps)} steps, but the horizon is {wanted}; pad or cut every episode to it")
        row: list[tuple[int, int, int]] = []
        for t, item in enumerate(steps):
            # a plain dict of the right keys, the common case, needs no place; errors look it up again
            if type(item) is not _Object or item.duplicate or item.keys() != _STEP_KEYS:
                mapping(item, f"{where}[{t}]", _STEP_KEYS, {"obs", "action"})
            obs, action = item["obs"], item["action"]
            if type(obs) is not str or type(action) is not str:
                text(obs, f"{where}[{t}].obs")
                text(action, f"{where}[{t}].action")
            law, support = self.action_law(item.get("action_law", {action: 1}), lambda t=t: f"{where}[{t}].action_law")
            if action not in support:
                listed = ", ".join(map(_shown, sorted(support)[:8])) + (", …" if len(support) > 8 else "")
                raise UserError(
                    f"{where}[{t}].action", f"{_shown(action)} is outside the support of its action_law ({listed})"
                )
            row.append((index_name(self.observations, obs), index_name(self.actions, action), law))
        return row

    def action_law(self, value: Any, where: Callable[[], str]) -> tuple[int, frozenset[str]]:
        if not isinstance(value, Mapping) or getattr(value, "duplicate", None) or not value:
            mapping(value, where(), None, set())
            raise UserError(where(), "the law is empty; give each action its probability")
        try:
            key = tuple(value.items())
            if key in self.read_laws:
                return self.read_laws[key]
        except TypeError:
            key = None
        number, law = self.law(value, where)
        result = number, frozenset(law)
        if key is not None:
            self.read_laws[key] = result
        return result


def text(value: Any, where: str) -> str:
    """A name: any text, but not a number."""
    if not isinstance(value, str) or isinstance(value, _Number):
        raise UserError(where, f"expected text, not {_shown(value)}")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise UserError(where, f"{_shown(value)} holds half a surrogate pair, which is not text")
    return value


def index_name(names: dict[str, int], name: str) -> int:
    """The number of a name; a new one gets the next."""
    if name not in names:
        names[text(name, "")] = len(names)
    return names[name]


def mapping(value: Any, where: str, allowed: Iterable[str] | None, required: Iterable[str]) -> Mapping[str, Any]:
    """An object with the right keys, each given once."""
    if not isinstance(value, Mapping):
        raise UserError(where, f"expected an object, not {_shown(value)}")
    duplicate = getattr(value, "duplicate", None)
    if duplicate is not None:
        raise UserError(where, f"the key {_shown(duplicate)} is given twice")
    unknown = [key for key in value if allowed is not None and key not in allowed]
    if unknown:
        raise UserError(where, f"unknown key {_shown(unknown[0])}; expected {', '.join(sorted(allowed or ()))}")
    missing = sorted(key for key in required if key not in value)
    if missing:
        raise UserError(where, f'the key "{missing[0]}" is missing')
    return value


def listed(value: Any, where: str, size: int | None = None) -> list[Any]:
    """A list, of so many entries where that is given."""
    if not isinstance(value, list) or (size is not None and len(value) != size):
        raise UserError(where, "expected a list" if size is None else f"expected a list of {size}")
    return value


def _shown(value: Any) -> str:
    """A value as one short piece of text."""
    if isinstance(value, Mapping | list):
        return "an object" if isinstance(value, Mapping) else "a list"
    shown = value if isinstance(value, _Number) else json.dumps(value, ensure_ascii=True, default=repr)
    return shown if len(shown) <= 60 else shown[:57] + "…"
