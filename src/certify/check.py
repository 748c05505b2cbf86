"""Check a certificate: ``python -m certify.check CERTIFICATE.json MODEL.json [--limit N]``.

This file alone has to be trusted. It shares no code with the solver and takes only hints from the certificate: it reads
the model again, numbers its histories itself and proves every claim, as docs/certificate.md specifies. Masses are
integers and logarithms are enclosed between integers, so that no rounding error can tip a verdict. In short:
* upper end: `cells` are sets of histories of one observation whose members, followed along every common continuation to
  the horizon, always have one action law. Some machine has these memory states at step t, so H(cells | O_t) suffices.
* lower end: `words` are continuations. Two histories of one observation that can both follow a word and then have
  different laws must be kept apart, so no memory has less entropy than the best partition without such conflicts.
"""

import hashlib
import json
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, groupby
from typing import Any, NamedTuple

LIMIT = 100_000_000  # units of work, of roughly a microsecond
READING = 2  # units that a byte of either file costs
MAX_BYTES = 128 * 2**20  # of either file
MAX_BITS = 14_000  # of a common denominator, fewer than the 4300 digits that Python is willing to write
BITS = 200  # logarithms are enclosed between multiples of 2^-BITS
GRID = 1_024  # costs are bounded by chords between multiples of 1/GRID
MODEL, GRAPH, CERTIFICATE = "certify-model/1", "certify-graph/1", "certify-certificate/1"


# ---- refusals


class Rejected(Exception):
    status, title = 1, "rejected"  # well formed, but a claim or its evidence is wrong


class Malformed(Exception):
    status, title = 2, "malformed"  # not a certificate, or not a model

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.way: list[str | int] = []  # the keys that lead to the place, the last one first

    def __str__(self) -> str:
        where = ".".join(str(key)[:40] for key in reversed(self.way[-8:]))
        return f"{where!a}: {self.args[0]}" if where else str(self.args[0])


class LimitReached(Exception):
    status, title = 3, "limit reached"  # neither verified nor rejected


def require(holds: object, reason: str, error: type[Exception] = Rejected) -> None:
    if not holds:
        raise error(reason)


class Number(str):
    """A JSON number, kept as its digits."""


def parse(source: str, what: str, formats: Iterable[str], default: str) -> tuple[str, Any]:
    """The format of a JSON text and its value. An object with a repeated key becomes a number that nothing accepts."""
    hooks: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), lru_cache(1 << 16)(Number))
    hooks["object_pairs_hook"] = lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else Number("repeated key")
    try:
        value = json.loads(source, **hooks)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"{what}: not JSON, {error}") from None
    title = value.get("format", default) if type(value) is dict else ""
    require(type(title) is str and title in formats, f"{what}: not of the format {' or '.join(formats)}", Malformed)
    return title, value


def read(value: Any, form: Any, key: str | int) -> Any:
    """Convert a value by the description of its form; an error learns on its way out under which keys it was.

    [x] is a list, (x, y) a list of two, {"a": x, "b?": y} an object whose key b may be missing, {...: x} an object with
    any names as keys, and a function reads a single value.
    """
    try:
        if isinstance(form, list):
            require(type(value) is list, "expected a list", Malformed)
            for k, item in enumerate(value):
                value[k] = read(item, form[0], k)  # in place, since lists may be long
            return value
        if isinstance(form, tuple):
            require(type(value) is list and len(value) == len(form), f"expected a list of {len(form)}", Malformed)
            return [read(item, part, k) for k, (item, part) in enumerate(zip(value, form, strict=True))]
        if not isinstance(form, dict):
            return form(value)
        require(type(value) is dict, "expected an object", Malformed)
        if ... in form:
            return {text(name): read(item, form[...], name) for name, item in value.items()}
        parts = {name.removesuffix("?"): part for name, part in form.items()}
        missing = [name for name in form if not name.endswith("?") and name not in value]
        require(not missing, f"the key {missing[:1]} is missing", Malformed)
        unknown = [name for name in value if name not in parts]
        require(not unknown, f"the key {ascii(unknown[:1])[:60]} is unknown", Malformed)
        return {name: read(item, parts[name], name) for name, item in value.items()}
    except Malformed as error:
        error.way.append(key)
        raise


def single(expected: str, types: tuple[type, ...], pattern: str, convert: Callable[[Any], Any] = str) -> Any:
    """The form of values of these types whose text matches the pattern."""
    matches, reason = re.compile(pattern).fullmatch, f"expected {expected}"

    def convert_single(value: Any) -> Any:
        require(type(value) in types and matches(str(value)), reason, Malformed)
        return convert(value)

    return convert_single


# ---- the formats

text = single("text", (str,), "[^\ud800-\udfff]*", sys.intern)  # equal names are one object: comparing them is quick
flag = single("true or false", (bool,), ".*", bool)
whole = single("a whole number below a billion", (Number,), "[0-9]{1,9}", int)
RATIONAL = r"(?!.{4001})\s*[+-]?([0-9]+/0*[1-9][0-9]*|([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?)\s*"
rational = single("a rational such as 1/4 or 0.25", (str, Number), RATIONAL, Fraction)
price = single("a rational such as 1/4", (str,), "(?!.{4001})-?[0-9]+(/0*[1-9][0-9]*)?", Fraction)
digest = single("64 hexadecimal digits", (str,), "[0-9a-f]{64}")
decimal = single("a number with 15 decimals", (str,), r"-?[0-9]{1,9}\.[0-9]{15}")
INTERVAL = (decimal, decimal)
TITLE = {"format?": text, "horizon": rational, "name?": text, "notes?": lambda value: value}
LAW = {...: rational}
ROW = {"obs": text, "action": text, "action_law?": LAW}
EPISODE = {"weight": rational, "steps": [ROW], "latent?": lambda value: value, "notes?": lambda value: value}
NODE = {"obs": text, "laws": [(rational, LAW)], "edges": [(text, whole, rational)], "mass?": rational}
MODELS = {MODEL: {**TITLE, "empirical?": flag, "episodes": [EPISODE]}, GRAPH: {**TITLE, "levels": [{"nodes": [NODE]}]}}
# the word [] compares laws now; [action, observation, k] goes on with the k-th word of that observation one step later
WORD = lambda value: read(value, (text, text, whole) if value else (), "word")  # noqa: E731
CELLS = [[whole]]
STEP = {"t": whole, "rate?": INTERVAL, "lower?": INTERVAL, "upper?": INTERVAL, "cells": CELLS}
STEP |= {"words": {...: [WORD]}, "prices?": {...: [[price]]}}
CODE = {"count": whole, "labels": [[whole]], "clique": [(whole, whole)]}
CLAIMS = {"format": text, "model_sha256": digest, "horizon": whole, "observational": flag, "steps": [STEP]}
CLAIMS |= {"machine?": [CELLS], "simultaneous?": flag, "joint_sum?": INTERVAL}
CLAIMS |= {"codes?": {"time_indexed?": CODE, "stationary?": CODE}}
compact = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str).encode


# ---- exact numbers

Terms = list[tuple[Fraction, int]]  # (c, b), …: the number Σ c·log2(b)


@lru_cache(maxsize=1 << 16)
def log2_bounds(number: int, bits: int = BITS) -> tuple[int, int]:
    """Integers around 2^bits·log2(number): three operations are right to 15 digits more than are kept."""
    context = Context(prec=20 + bits * 302 // 1000)
    ratio = context.divide(context.ln(Decimal(number)), context.ln(Decimal(2)))
    scaled = math.floor(context.multiply(ratio, Decimal(2**bits)))
    return scaled - 1, scaled + 2


@lru_cache(maxsize=1 << 16)
def cost(mass: int, total: int) -> tuple[int, int]:
    """Bounds of (mass/total)·log2(total/mass), what a class adds to an entropy, in units of 2^-BITS."""
    low, high = log2_bounds(max(mass, 1))
    total_low, total_high = log2_bounds(total)
    return mass * (total_low - high) // total, -(mass * (low - total_high) // total)


def grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """The values of each key."""
    result = defaultdict(list)
    for key, value in pairs:
        result[key].append(value)
    return result


def members(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    return (k for k in range(mask.bit_length()) if mask >> k & 1)


# ---- the checker

Ints = list[int]
Group = tuple[tuple[int, int], ...]  # histories (t, number), sorted
Component = tuple[list[list[int]], list[int]]  # the histories of each type; the types it conflicts with, as bits
Prices = list[list[Fraction]]  # of each component: one price for each type, in bits
Outcomes = list[tuple[str | None, ...]]  # per history: the law after each word, None where it cannot follow the word


class Priced(NamedTuple):
    """A compatible set of types."""

    slack: int  # a lower bound of its cost less its price
    chosen: int  # its types, as bits
    mass: int


class Checker:
    """One certificate against one model; lists of histories are by step, from 0, and number."""

    def __init__(self, certificate_text: str, model_text: str, limit: int) -> None:
        self.left = limit  # units of work
        self.mixed = False  # whether (A2) fails: one history, several laws
        self.laws: dict[str, dict[str, Fraction]] = {}  # by their text
        self.compatible: set[Group] = set()  # groups that were found shareable
        for what, source in (("certificate", certificate_text), ("model", model_text)):
            require(len(source) <= MAX_BYTES, f"{what}: larger than {MAX_BYTES} bytes", LimitReached)
            self.spend(READING * len(source))
        claims = parse(certificate_text, "certificate", [CERTIFICATE], "")[1]
        self.read_model(*parse(model_text, "model", MODELS, MODEL))
        claimed = read(claims.get("model_sha256"), digest, "model_sha256")
        require(claimed == self.digest, "the certificate is of another model")  # before anything else is read in it
        self.claims = read(claims, CLAIMS, "certificate")
        self.steps = self.claims["steps"]

    def spend(self, units: int) -> None:
        self.left -= units
        require(self.left >= 0, "the work limit is reached; --limit raises it", LimitReached)

    def common(self, values: Iterable[Fraction]) -> tuple[list[int], int]:
        """Numerators over the least common denominator."""
        values, bottom = list(values), 1
        for value in values:
            bottom = math.lcm(bottom, value.denominator)
            require(bottom.bit_length() <= MAX_BITS, "a common denominator is too large", LimitReached)
            self.spend(1 + bottom.bit_length() // 256)
        return [value.numerator * (bottom // value.denominator) for value in values], bottom

    def sum(self, values: Iterable[Fraction]) -> Fraction:
        tops, bottom = self.common(values)
        return Fraction(sum(tops), bottom)

    def sums(self, pairs: Iterable[tuple[Any, Fraction]]) -> dict[Any, Fraction]:
        return {key: self.sum(values) for key, values in grouped(pairs).items()}

    def enclose(self, terms: Terms, bits: int = BITS) -> tuple[Fraction, Fraction]:
        """Rationals around 2^bits times the number."""
        self.spend(sum(10 + base.bit_length() // 64 for _, base in terms))
        low = self.sum(c * log2_bounds(base, bits)[1 if c < 0 else 0] for c, base in terms)
        return low, self.sum(c * log2_bounds(base, bits)[0 if c < 0 else 1] for c, base in terms)

    def interval(self, terms: Terms) -> list[str]:
        """The number widened by 1e-30 and rounded outward to 15 decimals."""
        low, high = (end * 10**15 / 2**BITS for end in self.enclose(terms))
        ends = math.floor(low - Fraction(1, 10**15)), math.ceil(high + Fraction(1, 10**15))
        return [f"{'-' if end < 0 else ''}{abs(end) // 10**15}.{abs(end) % 10**15:015d}" for end in ends]

    def sign(self, terms: Terms) -> int:
        """The exact sign of the number."""
        low, high = self.enclose(terms)
        if low <= 0 <= high:
            if not any(self.coprime(terms).values()):
                return 0  # and only then: logarithms of coprime numbers are independent over the rationals
            low, high = self.enclose(terms, 10 * BITS)
            require(low > 0 or high < 0, "two entropies are too close to compare", LimitReached)
        return 1 if low > 0 else -1

    def coprime(self, terms: Terms) -> dict[int, Fraction]:
        """The same number with bases that have no factor in common, and their coefficients."""
        result: dict[int, Fraction] = {}
        waiting = list(terms)
        while waiting:
            first, base = waiting.pop()
            self.spend((1 + len(result)) * (1 + base.bit_length() // 64))
            other = next((other for other in result if math.gcd(base, other) > 1), None)
            if other is not None:  # split both by what they share
                second, shared = result.pop(other), math.gcd(base, other)
                waiting += [(first + second, shared), (first, base // shared), (second, other // shared)]
            elif base > 1:
                result[base] = first
        return result

    def compare(self, first: Iterable[int], second: Iterable[int]) -> int:
        """Sign of Σ m·log2(m) over `first` less that over `second`: the larger sum is the smaller entropy."""
        count = Counter(first)
        count.subtract(second)
        return self.sign([(Fraction(mass * times), mass) for mass, times in count.items() if mass and times])

    # -- the model

    def read_model(self, kind: str, document: Any) -> None:
        """Number the histories and take the digest of the canonical text."""
        document = read(document, MODELS[kind], "model")
        canonical = self.read_episodes(document) if kind == MODEL else self.read_graph(document)
        self.digest = hashlib.sha256(canonical.encode()).hexdigest()
        self.horizon = len(self.law)

    def canonical(self, law: dict[str, Fraction]) -> str:
        """The text of a law without its zeros; equal laws have one text."""
        require(min(law.values(), default=-1) >= 0 and self.sum(law.values()) == 1, "model: an improper law", Malformed)
        positive = {action: p for action, p in law.items() if p}
        result = sys.intern(compact(positive))
        self.laws[result] = positive
        return result

    def read_episodes(self, document: dict[str, Any]) -> str:
        """Merge equal episodes and number histories in the order of their words; returns the text of the digest."""
        weights: list[tuple[str, Fraction]] = []
        rows: dict[str, list[tuple[str, str, str]]] = {}  # of the text of an episode: observation, action and law
        for k, episode in enumerate(document["episodes"]):
            row = [
                (step["obs"], step["action"], self.canonical(step.get("action_law", {step["action"]: Fraction(1)})))
                for step in episode["steps"]
            ]
            possible = len(row) == document["horizon"] > 0 and episode["weight"] >= 0
            possible = possible and all(action in self.laws[law] for _, action, law in row)
            require(possible, f"model.episodes.{k}: impossible steps or weight", Malformed)
            steps = ",".join(f'{{"action":{compact(a)},"action_law":{law},"obs":{compact(o)}}}' for o, a, law in row)
            weights.append((steps, episode["weight"]))
            rows[steps] = row
        kept = sorted((steps, weight) for steps, weight in self.sums(weights).items() if weight)
        levels = self.histories([(rows[steps], weight) for steps, weight in kept])
        self.read_levels(levels, document.get("empirical", False))
        body = ",".join(f'{{"steps":[{steps}],"weight":"{weight}"}}' for steps, weight in kept)
        opening = '{"empirical":true,' if document.get("empirical") else "{"
        return f'{opening}"episodes":[{body}],"format":"{MODEL}","horizon":{len(levels)}}}'

    def histories(self, episodes: list[tuple[list[tuple[str, str, str]], Fraction]]) -> list[list[dict[str, Any]]]:
        """The tree of histories, as the nodes of a graph."""
        levels: list[list[dict[str, Any]]] = []
        at = [0] * len(episodes)  # the history that each episode is in
        for t in range(len(episodes[0][0]) if episodes else 0):
            # by the history before, the action after it and what is seen now
            keys = [(h, row[t - 1][1] if t else "", row[t][0]) for h, (row, _) in zip(at, episodes, strict=True)]
            masses = self.sums(zip(keys, (weight for _, weight in episodes), strict=True))
            number = {key: k for k, key in enumerate(sorted(masses))}
            at = [number[key] for key in keys]
            nodes = [{"obs": key[2], "laws": [], "edges": [], "mass": masses[key]} for key in number]
            for history, (row, weight) in zip(at, episodes, strict=True):
                node = nodes[history]
                node["laws"].append((weight / node["mass"], self.laws[row[t][2]]))
            for (before, action, _), k in number.items() if t else ():
                node = levels[t - 1][before]
                node["edges"].append((action, k, nodes[k]["mass"] / node["mass"]))
            levels.append(nodes)
        return levels

    def read_graph(self, document: dict[str, Any]) -> str:
        """Nodes in their own order, edges sorted; returns the text of the digest."""
        levels = [level["nodes"] for level in document["levels"]]
        for node in chain(*levels):
            node["edges"].sort(key=lambda edge: edge[:2])
        first = [node["obs"] for node in chain(*levels[:1])]
        good = document["horizon"] == len(levels) and 0 < len(first) == len(set(first))
        good = good and all(("mass" in node) == (t == 0) for t, nodes in enumerate(levels) for node in nodes)
        require(good, "model: the levels are not those of a graph", Malformed)
        self.read_levels(levels, False)
        return compact({"format": GRAPH, "horizon": len(levels), "levels": document["levels"]})

    def read_levels(self, levels: list[list[dict[str, Any]]], empirical: bool) -> None:
        """Nodes to histories: their observations, laws, continuations and masses."""
        require(levels, "model, step 1: improper masses", Malformed)
        self.seen = [[node["obs"] for node in nodes] for nodes in levels]  # O_t
        self.law: list[list[str]] = [[] for _ in levels]  # P(A_t | H_t)
        self.after: list[list[dict[tuple[str, str], int]]] = [[] for _ in levels]  # (A_t, O_t+1) → history
        masses = [[node["mass"] for node in levels[0]]]
        for t, nodes in enumerate(levels):
            proper = min(masses[t], default=0) > 0 and self.sum(masses[t]) == 1
            require(proper, f"model, step {t + 1}: improper masses", Malformed)
            flow: list[tuple[int, Fraction]] = []
            for node, mass in zip(nodes, masses[t], strict=True):
                self.read_node(t, node, empirical)
                flow += [(child, p * mass) for _, child, p in node["edges"]]
            if t + 1 < len(levels):
                reached = self.sums(flow)
                masses.append([reached.get(k, Fraction(0)) for k in range(len(levels[t + 1]))])
        self.total = self.common(chain(*masses))[1]
        self.mass = [[int(mass * self.total) for mass in level] for level in masses]  # P(H_t)

    def read_node(self, t: int, node: dict[str, Any], empirical: bool) -> None:
        """One history: its law is the average of its laws, and its actions must be drawn by that average."""
        where, edges = f"model, step {t + 1}", node["edges"]
        following = self.seen[t + 1] if t + 1 < len(self.seen) else []
        shares = self.sums((self.canonical(law), share) for share, law in node["laws"])
        possible = min(shares.values(), default=0) > 0
        possible = possible and all(p > 0 and child < len(following) for _, child, p in edges)
        require(possible, f"{where}: impossible edges or laws", Malformed)
        node["laws"] = [(share, self.laws[law]) for law, share in shares.items()]
        mean = self.sums((action, share * p) for share, law in node["laws"] for action, p in law.items())
        self.law[t].append(self.canonical(mean))
        if following and not empirical:
            drawn = self.sums((action, p) for action, _, p in edges)
            require(drawn == mean, f"{where}: the actions are not drawn by the laws", Malformed)
        continuations = {(action, following[child]): child for action, child, _ in edges}
        require(len(continuations) == len(edges), f"{where}: two edges have one continuation", Malformed)
        self.after[t].append(continuations)
        self.mixed = self.mixed or len(shares) > 1

    # -- the claims

    def run(self) -> list[str]:
        """Every claim in words; raises at the first that does not hold."""
        claims = self.claims
        ends = [step.keys() & {"rate", "lower", "upper"} for step in self.steps]
        complete = all(keys in ({"rate"}, {"lower", "upper"}) for keys in ends)
        joint = claims.keys() & {"machine", "simultaneous", "joint_sum"}
        complete = complete and ("machine" in joint or not joint)
        require(complete, "a step or a joint claim is incomplete", Malformed)
        steps = [step["t"] for step in self.steps]
        ordered = claims["horizon"] == self.horizon and steps == [*range(1, self.horizon + 1)]
        require(ordered, f"not the steps 1 to {self.horizon} of the model, in order")
        require(claims["observational"] == self.mixed, f"observational is {self.mixed}")
        outcomes: Outcomes = []
        for t in reversed(range(self.horizon)):
            outcomes = self.check_step(t, outcomes)
        verified = self.rates_in_words()
        if joint:
            verified += self.check_machine(claims["machine"])
        return verified + [self.check_code(name, **code) for name, code in claims.get("codes", {}).items()]

    def rates_in_words(self) -> list[str]:
        """``R_1..3 in [low, high]``: neighbouring steps with equal ends in one."""
        ends = [step.get("rate") or [step["lower"][0], step["upper"][1]] for step in self.steps]
        runs = [(key, [t for t, _ in run]) for key, run in groupby(enumerate(ends, 1), lambda item: item[1])]
        spans = [f"{steps[0]}..{steps[-1]}" if len(steps) > 1 else f"{steps[0]}" for _, steps in runs]
        return [f"R_{span} in [{low}, {high}]" for span, ((low, high), _) in zip(spans, runs, strict=True)]

    def masses(self, t: int, cells: Iterable[Iterable[int]]) -> list[int]:
        return [sum(self.mass[t][history] for history in cell) for cell in cells]

    def entropy(self, t: int, cells: Iterable[Iterable[int]]) -> Terms:
        """H(cell | O_t) = Σ P(o)·log2(P(o)) over observations, less the same sum over cells."""
        fibers = map(sum, grouped(zip(self.seen[t], self.mass[t], strict=True)).values())
        terms = [(Fraction(mass, self.total), mass) for mass in fibers]
        return terms + [(Fraction(-mass, self.total), mass) for mass in self.masses(t, cells)]

    def check_step(self, t: int, after: Outcomes) -> Outcomes:
        """Both ends of one step; takes the outcomes of the next one and returns its own."""
        step, where = self.steps[t], f"step {t + 1}"
        cells, words, prices, exact = step["cells"], step["words"], step.get("prices", {}), "rate" in step
        home = self.labels(t, cells, where)
        upper = self.interval(self.entropy(t, cells))
        for cell in cells:
            require(self.shareable((t, history) for history in cell), f"{where}: a cell holds a conflict")
        require(step["rate" if exact else "upper"] == upper, f"{where}: the entropy of the cells is in {upper}")
        occurring = {*self.seen[t]}
        require(occurring >= prices.keys() and occurring >= words.keys(), f"{where}: an observation does not occur")
        outcomes = [tuple(self.follow(t, h, w, after) for w in words.get(o, ())) for h, o in enumerate(self.seen[t])]
        lower, blocks = Terms(), list[list[int]]()
        for observation, fiber in grouped((o, history) for history, o in enumerate(self.seen[t])).items():
            components = self.split(fiber, outcomes)
            charges = self.charges(prices.get(observation), components, where)
            for (types, conflicts), charge in zip(components, charges, strict=True):
                block = [*chain(*types)]
                inside = grouped((home[history], self.mass[t][history]) for history in block).values()
                self.prove(self.masses(t, types), conflicts, charge, [*map(sum, inside)] if exact else [], where)
                lower.append((Fraction(sum(self.masses(t, types)), self.total) * self.sum(charge), 2))
                blocks.append(block)
        if not exact:
            proved = self.interval(self.entropy(t, blocks) + lower)
            require(proved == step["lower"], f"{where}: the evidence proves {proved}")
        return outcomes

    def charges(self, given: Prices | None, components: list[Component], where: str) -> Prices:
        """The price of every type of every component; the certificate lists those of components of several types."""
        free = [[Fraction(0)] * len(types) for types, _ in components]
        several = [row for row in free if len(row) > 1]
        listed = several if given is None else given
        require([*map(len, listed)] == [*map(len, several)], f"{where}: not one price for every type")
        rows = iter(listed)
        return [next(rows) if len(row) > 1 else row for row in free]

    def follow(self, t: int, history: int, word: list[Any], after: Outcomes) -> str | None:
        """The law after a word, None where the history cannot follow it."""
        self.spend(1)
        if not word:
            return self.law[t][history]
        action, observation, k = word
        child = self.after[t][history].get((action, observation))
        return None if child is None or k >= len(after[child]) else after[child][k]

    def labels(self, t: int, cells: list[list[int]], where: str) -> list[int]:
        """The cell of each history, where cells partition the histories of a step and have one observation each."""
        require([] not in cells and cells == sorted(map(sorted, cells)), f"{where}: cells are not in order", Malformed)
        good = sorted(chain(*cells)) == [*range(len(self.seen[t]))]
        good = good and all(len({self.seen[t][history] for history in cell}) == 1 for cell in cells)
        require(good, f"{where}: the cells form no partition of the histories of each observation")
        return [k for _, k in sorted((history, k) for k, cell in enumerate(cells) for history in cell)]

    def shareable(self, group: Iterable[tuple[int, int]]) -> bool:
        """Whether histories may share a memory state: on every common continuation those that look alike act alike."""
        waiting, met = [tuple(sorted(group))], set[Group]()
        while waiting:
            group = waiting.pop()
            self.spend(1 + len(group))
            if len(group) == 1 or group in met or group in self.compatible:
                continue
            laws: dict[str, str] = {}
            if any(laws.setdefault(self.seen[t][h], self.law[t][h]) != self.law[t][h] for t, h in group):
                return False
            met.add(group)
            waiting += self.successors(group)
        self.compatible |= met
        return True

    def successors(self, group: Iterable[tuple[int, int]]) -> list[Group]:
        """Members that share a continuation stay together."""
        moves = [(u, (t + 1, child)) for t, history in group for u, child in self.after[t][history].items()]
        self.spend(2 * len(moves))
        return [tuple(sorted(set(children))) for children in grouped(moves).values()]

    def split(self, fiber: list[int], outcomes: Outcomes) -> list[Component]:
        """The components of compatibility under one observation; a type is histories with the same conflicts."""
        groups = grouped((outcomes[history], history) for history in fiber)
        conflicts = self.conflicts([*groups])
        twins = grouped(zip(conflicts, groups.values(), strict=True))  # the same conflicts: one type
        first = [conflicts.index(mask) for mask in twins]  # one group stands for its type
        components: dict[int, list[int]] = {}  # the groups of each, as bits and as a list
        for k in first:
            self.spend(len(twins) + k)
            friends = [mask for mask in components if mask & ~conflicts[k]]  # with somebody compatible with k
            near = sorted([k, *chain(*(components.pop(mask) for mask in friends))])
            components[sum(1 << j for j in near)] = near
        result: list[Component] = []
        for part in sorted(components.values()):
            self.spend(len(part) ** 2)
            types = [sorted(chain(*twins[conflicts[k]])) for k in part]
            masks = [sum(1 << j for j, other in enumerate(part) if conflicts[k] >> other & 1) for k in part]
            result.append((types, masks))
        return result

    def conflicts(self, outcomes: Outcomes) -> list[int]:
        """Whom each conflicts with, as bits: both can follow some word, and their laws differ after it."""
        result = [0] * len(outcomes)
        for column in zip(*outcomes, strict=True):
            self.spend(len(column) * (1 + len(column) // 512))
            alike: dict[str | None, int] = defaultdict(int)
            for k, law in enumerate(column):
                alike[law] |= 1 << k
            everyone = (1 << len(column)) - 1 ^ alike[None]  # all that can follow the word
            alike[None] = everyone  # who cannot has no conflict
            result = [mask | everyone ^ alike[law] for mask, law in zip(result, column, strict=True)]
        return result

    def prove(self, masses: Ints, apart: Ints, prices: list[Fraction], cells: Ints, where: str) -> None:
        """No compatible set of types is charged more than it costs; and, for an exact rate, no partition of the
        component into compatible sets has less entropy than the cells, whose masses in it are given.

        A partition's slacks, cost less price, add up to its entropy less the price of everything. So the sets of a
        better partition have slacks that add up to less than those of the cells: the budget.
        """
        paid = [math.ceil(y * 2**BITS) - 1 for y in prices]
        budget = max(-1, sum(cost(mass, sum(masses))[1] for mass in cells) - sum(paid)) if cells else -1
        sets = self.affordable(masses, apart, prices, budget, where)
        if cells:
            self.cover(masses, sets, budget, cells, where)

    def affordable(self, masses: Ints, apart: Ints, prices: list[Fraction], budget: int, where: str) -> list[Priced]:
        """Every compatible set whose slack may be within the budget; none may have a slack below zero."""
        total, paid, result = sum(masses), [math.ceil(y * 2**BITS) for y in prices], list[Priced]()
        waiting = [(0, 0, 0, (1 << len(masses)) - 1)]  # chosen types, their mass, their price, types that may follow
        while waiting:
            chosen, mass, charge, free = waiting.pop()
            self.spend(2)
            below, rest = divmod(mass * GRID, total)  # the cost is concave in the mass, so it lies above its chords
            chord = (cost(below, GRID)[0] * (total - rest) + cost(below + 1, GRID)[0] * rest) // total
            if chosen and chord - charge <= budget:
                self.spend(100)
                slack = cost(mass, total)[0] - charge
                if slack < 0:
                    y = self.sum(prices[k] for k in members(chosen))
                    exact = [(Fraction(mass, total), total), (Fraction(-mass, total), mass), (-y, 2)]
                    require(self.sign(exact) >= 0, f"{where}: the prices overcharge a compatible set")
                result.append(Priced(slack, chosen, mass))
            for k in members(free):
                free ^= 1 << k
                waiting.append((chosen | 1 << k, mass + masses[k], charge + paid[k], free & ~apart[k]))
        return result

    def cover(self, masses: Ints, sets: list[Priced], budget: int, cells: Ints, where: str) -> None:
        """Try every partition into sets whose slacks stay within the budget: none has less entropy than the cells."""
        total, none = sum(masses), tuple[int, ...]()
        # types left, types just taken, masses of the sets so far, sets, budget
        waiting = [((1 << len(masses)) - 1, 0, none, sets, budget)]
        while waiting:
            rest, taken, chosen, usable, left = waiting.pop()
            self.spend(1 + len(usable) * (1 + rest.bit_count()) // 128)
            usable = [item for item in usable if item.slack <= left and not item.chosen & taken]
            heaviest = max((item.mass for item in usable), default=1)
            full, remainder = divmod(total - sum(chosen), heaviest)
            filled = Counter(chosen) + Counter({heaviest: full}) + Counter([remainder])  # majorises all that may follow
            if (rest and not usable) or self.compare(filled, cells) <= 0:
                continue
            require(rest, f"{where}: the evidence allows a partition of less entropy than the cells")
            choices = {k: sum(item.chosen >> k & 1 for item in usable) for k in members(rest)}
            k = min(choices, key=choices.__getitem__)  # the type with the fewest sets to go into
            for item in usable:
                if item.chosen >> k & 1:
                    waiting.append((rest & ~item.chosen, item.chosen, (*chosen, item.mass), usable, left - item.slack))

    # -- machines and codes

    def check_machine(self, machine: list[list[list[int]]]) -> list[str]:
        """A closed compatible assignment, compared with the rates and, if it does not attain them, with all others."""
        complete = len(machine) == self.horizon and all("rate" in step for step in self.steps)
        require(complete, "machine: not one partition for every step, or a step without a rate")
        self.check_rules([self.labels(t, cells, "machine") for t, cells in enumerate(machine)], False, "machine")
        ours = [*chain(*(self.masses(t, cells) for t, cells in enumerate(machine)))]
        floors = [self.masses(t, step["cells"]) for t, step in enumerate(self.steps)]
        attained = self.compare(ours, chain(*floors)) == 0
        if not attained:
            self.search(ours, floors)
        bits = self.interval([*chain(*(self.entropy(t, cells) for t, cells in enumerate(machine)))])
        for key, value in (("simultaneous", attained), ("joint_sum", bits)):
            require(self.claims.get(key, value) == value, f"{key} is {value}")
        return [f"simultaneous {str(attained).lower()}", f"joint sum in [{', '.join(bits)}]"]

    def search(self, ours: list[int], floors: list[list[int]]) -> None:
        """No closed compatible assignment has less entropy: step by step, the best way to every set of forced units."""
        tree = all(sum(map(len, self.after[t])) == len(self.law[t + 1]) for t in range(self.horizon - 1))
        require(tree, "machine: only a tree of histories can be searched for a better one", LimitReached)
        # units are groups that must stay together; of each set of units, the cells' masses on the best way there
        states: dict[tuple[Group, ...], list[int]] = {tuple(((0, h),) for h in range(len(self.law[0]))): []}
        for t in range(self.horizon):
            following: dict[tuple[Group, ...], list[int]] = {}
            for units, masses in states.items():
                for cells in self.assignments(t, units):
                    reached = masses + self.masses(t, ([history for _, history in cell] for cell in cells))
                    if self.compare(chain(reached, *floors[t + 1 :]), ours) > 0:
                        key = tuple(sorted(chain(*map(self.successors, cells))))
                        if key not in following or self.compare(reached, following[key]) > 0:
                            following[key] = reached
            states = following
        require(not states, "machine: another one has less entropy")

    def assignments(self, t: int, units: tuple[Group, ...]) -> Iterator[list[Group]]:
        """Every way to put the units of a step into cells of one observation that are shareable."""
        waiting: list[tuple[tuple[Group, ...], list[Group]]] = [(units, [])]
        while waiting:
            left, cells = waiting.pop()
            self.spend(1 + len(cells))
            if not left:
                yield cells
                continue
            unit, observation = left[0], self.seen[t][left[0][0][1]]
            for j, cell in enumerate([*cells, ()]):  # the last is a new cell
                if (not cell or self.seen[t][cell[0][1]] == observation) and self.shareable(cell + unit):
                    waiting.append((left[1:], [*cells[:j], cell + unit, *cells[j + 1 :]]))

    def check_rules(self, labels: list[list[int]], stationary: bool, where: str) -> None:
        """Labels that a machine can keep: with an observation they decide the law, with a continuation the next one."""
        require([*map(len, labels)] == [*map(len, self.law)], f"{where}: not one label for every history")
        laws: dict[tuple[int, str, int], str] = {}
        moves: dict[tuple[int, tuple[str, str], int], int] = {}
        for t, row in enumerate(labels):
            clock = 0 if stationary else t
            for history, label in enumerate(row):
                self.spend(1 + len(self.after[t][history]))
                good = laws.setdefault((clock, self.seen[t][history], label), law := self.law[t][history]) == law
                for u, child in self.after[t][history].items():
                    good = good and moves.setdefault((clock, u, label), labels[t + 1][child]) == labels[t + 1][child]
                require(good, f"{where}: step {t + 1}: one label would need two laws or two next labels")

    def check_code(self, name: str, count: int, labels: list[list[int]], clique: list[list[int]]) -> str:
        """A machine with `count` labels, and as many histories of which no two can share a label."""
        self.check_rules(labels, name == "stationary", name)
        good = len(clique) == count and max(chain(*labels)) < count
        good = good and all(0 < t <= self.horizon and history < len(self.law[t - 1]) for t, history in clique)
        good = good and (name == "stationary" or len({t for t, _ in clique}) == 1)
        require(good, f"{name}: not as many histories or labels as counted")
        for pair in combinations([(t - 1, history) for t, history in clique], 2):
            require(not self.shareable(pair), f"{name}: two histories of the clique can share a label")
        return f"{name} codes {count}"


def check(certificate_text: str, model_text: str, limit: int = LIMIT) -> list[str]:
    """The verified claims; raises Rejected, Malformed or LimitReached."""
    return Checker(certificate_text, model_text, limit).run()


def main(arguments: list[str]) -> int:
    """Exit status 0 verified, 1 rejected, 2 malformed, 3 limit reached."""
    texts, paths, options = [], arguments[:2], arguments[2:] or ["--limit", str(LIMIT)]
    try:
        good = len(paths) == 2 and options[0] == "--limit" and re.fullmatch("[0-9]{1,18}", " ".join(options[1:]))
        require(good, "expected CERTIFICATE.json MODEL.json [--limit N]", Malformed)
        most = min(MAX_BYTES, int(options[1]) // READING)
        for path in paths:
            with open(path, "rb") as file:
                content = file.read(most + 1)
            require(len(content) <= most, f"{path!a}: larger than {most} bytes; --limit may raise it", LimitReached)
            texts.append(content.decode("utf-8-sig"))
        print("verified:", "; ".join(check(texts[0], texts[1], int(options[1]))))
        return 0
    except (OSError, ValueError) as error:
        refusal = Malformed(f"cannot be read: {str(error)[:200]!a}")
    except MemoryError:
        refusal = LimitReached("out of memory")
    except (Rejected, Malformed, LimitReached) as error:
        refusal = error
    print(f"{refusal.title}: {refusal}", file=sys.stderr)
    return refusal.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
