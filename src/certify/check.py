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
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, groupby
from typing import Any

LIMIT = 100_000_000  # units of work, of roughly a microsecond
MAX_BYTES = 128 * 2**20  # of either file
MAX_BITS = 14_000  # of a common denominator, fewer than the 4300 digits that Python is willing to write
BITS, GRID = 200, 1_024  # logarithms are enclosed between multiples of 2^-BITS, costs bounded by chords over 1/GRID
MODEL, GRAPH, CERTIFICATE = "certify-model/1", "certify-graph/1", "certify-certificate/1"
Terms = list[tuple[Fraction, int]]  # (c, b), …: the number Σ c·log2(b)
Outcomes = list[tuple[str | None, ...]]  # per history: the law after each word, None where it cannot follow the word


class Rejected(Exception):
    status = 1  # well-formed, but a claim or its evidence is wrong


class Malformed(Exception):
    status = 2  # not a certificate, or not a model


class LimitReached(Exception):
    status = 3  # neither verified nor rejected


def require(holds: object, reason: str, error: type[Exception] = Rejected) -> None:
    if not holds:
        raise error(reason)


def classes(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """The values of each key."""
    result = defaultdict(list)
    for key, value in pairs:
        result[key].append(value)
    return result


class Number(str):
    """A JSON number, kept as its digits."""


def kind(types: list[type], pattern: str, convert: Callable[[Any], Any] = str) -> Callable[[Any], Any]:
    return lambda value: convert(value) if type(value) in types and re.fullmatch(pattern, str(value)) else None


RATIONAL = r"(?!.{4001})\s*[+-]?([0-9]+/0*[1-9][0-9]*|([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?)\s*"
text, flag, whole = kind([str], "[^\ud800-\udfff]*"), kind([bool], ".*", bool), kind([Number], "[0-9]{1,9}", int)
rational, price = kind([str, Number], RATIONAL, Fraction), kind([str], "(?!.{4001})-?[0-9]+(/0*[1-9][0-9]*)?", Fraction)
digest, ends = kind([str], "[0-9a-f]{64}"), (kind([str], r"-?[0-9]{1,9}\.[0-9]{15}"),) * 2
# descriptions of JSON: [x] is a list, (x, y) a list of two, {text: x} maps names, type is anything; keys to leave out:
OPTIONAL = {"name", "notes", "latent", "empirical", "mass", "rate", "lower", "upper", "prices", "format", "machine"}
OPTIONAL |= {"simultaneous", "joint_sum", "codes", "time_indexed", "stationary"}
TITLE, LAW = {"format": text, "horizon": rational, "name": text, "notes": type}, {text: rational}
ROW = [{"obs": text, "action": text, "action_law": LAW}]
EPISODE = {"weight": rational, "steps": ROW, "latent": type, "notes": type}
NODE = {"obs": text, "laws": [(rational, LAW)], "edges": [(text, whole, rational)], "mass": rational}
MODELS = {MODEL: TITLE | {"empirical": flag, "episodes": [EPISODE]}, GRAPH: TITLE | {"levels": [{"nodes": [NODE]}]}}
# the word [] compares laws now; [action, observation, k] goes on with the k-th word of that observation one step later
WORDS = {text: [lambda value: shape(value, (text, text, whole) if value else (), "word")]}
STEP = {"t": whole, "rate": ends, "lower": ends, "upper": ends, "cells": [[whole]], "words": WORDS}
CODE = {"count": whole, "labels": [[whole]], "clique": [(whole, whole)]}
JOINT = {"machine": [[[whole]]], "simultaneous": flag, "joint_sum": ends}
CLAIMS = {"format": text, "model_sha256": digest, "horizon": whole, "observational": flag, **JOINT}
CLAIMS |= {"steps": [STEP | {"prices": {text: [[price]]}}], "codes": {"time_indexed": CODE, "stationary": CODE}}
compact = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str).encode


def parse(source: str, what: str, specs: dict[str, Any], default: str) -> tuple[str, Any]:
    """JSON of a known format; an object with a repeated key reads as a number that is none."""
    require(len(source) <= MAX_BYTES, f"{what}: larger than {MAX_BYTES} bytes", LimitReached)
    hooks: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), Number)
    hooks["object_pairs_hook"] = lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else Number("repeated key")
    try:
        value = json.loads(source, **hooks)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"{what}: not JSON, {error}") from None
    title = value.get("format", default) if isinstance(value, dict) else ""
    require(type(title) is str and title in specs, f"{what}: not of the format {' or '.join(specs)}", Malformed)
    return title, shape(value, specs[title], what)


def shape(value: Any, spec: Any, place: str) -> Any:
    """Convert a value by its description; functions return None for what is not of their kind."""
    if isinstance(spec, dict) and isinstance(value, dict):
        missing = sorted(spec.keys() - value.keys() - OPTIONAL - {text})
        require(not missing, f"{place[:200]!a}: the key {missing[:1]} is missing", Malformed)
        pairs = ((key, item, spec.get(key, spec.get(text))) for key, item in value.items())
        return {shape(key, text, place): shape(item, part, f"{place}.{key}") for key, item, part in pairs}
    if isinstance(spec, list | tuple) and isinstance(value, list):
        parts = spec if isinstance(spec, tuple) else spec * len(value)
        if len(parts) == len(value):
            return [shape(item, part, f"{place}.{k}") for k, (item, part) in enumerate(zip(value, parts, strict=True))]
    elif callable(spec) and (result := spec(value)) is not None:
        return result
    raise Malformed(f"{place[:200]!a}: not as the format requires")


@lru_cache(maxsize=1 << 16)
def log2_bounds(number: int, bits: int = BITS) -> tuple[int, int]:
    """Integers around 2^bits·log2(number): three operations are right to 15 digits more than are kept."""
    context = Context(prec=20 + bits * 302 // 1000)
    ratio = context.divide(context.ln(Decimal(number)), context.ln(Decimal(2)))
    return (scaled := math.floor(context.multiply(ratio, Decimal(2**bits)))) - 1, scaled + 2


@lru_cache(maxsize=1 << 16)
def cost(mass: int, total: int) -> tuple[int, int]:
    """Bounds of (mass/total)·log2(total/mass), what a class adds to an entropy, in units of 2^-BITS."""
    (low, high), (whole_low, whole_high) = log2_bounds(max(mass, 1)), log2_bounds(total)
    return mass * (whole_low - high) // total, -(mass * (low - whole_high) // total)


class Checker:
    """One certificate against one model; lists of histories are by step, from 0, and number."""

    def __init__(self, certificate_text: str, model_text: str, limit: int) -> None:
        self.left, self.mixed, self.total = limit, False, 1  # work; whether (A2) fails; the mass of all histories
        self.laws, self.compatible = dict[str, dict[str, Fraction]](), set()  # laws by text; sets found shareable
        self.claims = parse(certificate_text, "certificate", {CERTIFICATE: CLAIMS}, "")[1]
        title, document = parse(model_text, "model", MODELS, MODEL)
        canonical = self.read_episodes(document) if title == MODEL else self.read_graph(document)
        self.digest = hashlib.sha256(canonical.encode()).hexdigest()
        self.steps, self.horizon = self.claims["steps"], len(self.law)

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
        return {key: self.sum(values) for key, values in classes(pairs).items()}

    def enclose(self, terms: Terms, bits: int = BITS) -> list[Fraction]:
        """Rationals around 2^bits times the number."""
        self.spend(sum(10 + base.bit_length() // 64 for _, base in terms))
        return [self.sum(c * log2_bounds(base, bits)[end ^ (c < 0)] for c, base in terms) for end in (0, 1)]

    def interval(self, terms: Terms) -> list[str]:
        """The number widened by 1e-30 and rounded outward to 15 decimals."""
        low, high = (end * 10**15 / 2**BITS for end in self.enclose(terms))
        rounded = math.floor(low - Fraction(1, 10**15)), math.ceil(high + Fraction(1, 10**15))
        return [re.sub(r"(.{15})$", r".\1", f"{end:0{16 + (end < 0)}d}") for end in rounded]

    def sign(self, terms: Terms) -> int:
        """The exact sign; where it is not clear, factors are split until the bases are coprime and logs independent."""
        low, high = self.enclose(terms)
        waiting, coprime = [] if low > 0 or high < 0 else list(terms), dict[int, Fraction]()
        while waiting:
            first, base = waiting.pop()
            self.spend((1 + len(coprime)) * (1 + base.bit_length() // 64))
            other = next((other for other in coprime if math.gcd(base, other) > 1), 1)
            shared, second = math.gcd(base, other), coprime.pop(other, Fraction(0))
            if shared > 1:
                waiting += [(first + second, shared), (first, base // shared), (second, other // shared)]
            elif base > 1:
                coprime[base] = first
        if any(coprime.values()):
            low, high = self.enclose(terms, 10 * BITS)
            require(low > 0 or high < 0, "two entropies are too close to compare", LimitReached)
        return (low > 0) - (high < 0)

    def compare(self, first: Iterable[int], second: Iterable[int]) -> int:
        """Sign of Σ m·log2(m) over `first` less that over `second`: the larger sum is the smaller entropy."""
        count = Counter(first)
        count.subtract(second)
        return self.sign([(Fraction(mass * times), mass) for mass, times in count.items() if mass and times])

    def canonical(self, law: dict[str, Fraction]) -> str:
        require(min(law.values(), default=-1) >= 0 and self.sum(law.values()) == 1, "model: an improper law", Malformed)
        kept = {action: p for action, p in law.items() if p}
        self.laws[result := compact(kept)] = kept
        return result

    def read_episodes(self, document: dict[str, Any]) -> str:
        """Merge equal episodes and number histories in the order of their words; returns the text of the digest."""
        pairs, rows, levels = [], {}, []
        for k, episode in enumerate(document["episodes"]):
            row = [(step["obs"], step["action"], self.canonical(step["action_law"])) for step in episode["steps"]]
            good = len(row) == document["horizon"] > 0 and all(action in self.laws[law] for _, action, law in row)
            require(good and episode["weight"] >= 0, f"model.episodes.{k}: impossible steps or weight", Malformed)
            steps = ",".join(f'{{"action":{compact(a)},"action_law":{law},"obs":{compact(o)}}}' for o, a, law in row)
            pairs.append((steps, episode["weight"]))
            rows[steps] = row
        kept = sorted((steps, weight) for steps, weight in self.sums(pairs).items() if weight)
        at = [0] * len(kept)  # the history that each episode is in
        for t in range(int(document["horizon"]) if kept else 0):
            keys = [(h, rows[s][t - 1][1] if t else "", rows[s][t][0]) for h, (s, _) in zip(at, kept, strict=True)]
            masses = self.sums(zip(keys, (weight for _, weight in kept), strict=True))
            number = {key: k for k, key in enumerate(sorted(masses))}
            at = [number[key] for key in keys]
            levels.append([{"obs": key[2], "laws": [], "edges": [], "mass": masses[key]} for key in number])
            for history, (steps, weight) in zip(at, kept, strict=True):
                (node := levels[t][history])["laws"].append((weight / node["mass"], self.laws[rows[steps][t][2]]))
            for key, k in number.items() if t else ():
                (node := levels[t - 1][key[0]])["edges"].append((key[1], k, masses[key] / node["mass"]))
        self.read_levels(levels, document.get("empirical", False))
        body = ",".join(f'{{"steps":[{steps}],"weight":"{weight}"}}' for steps, weight in kept)
        opening = '{"empirical":true,' if document.get("empirical") else "{"
        return f'{opening}"episodes":[{body}],"format":"{MODEL}","horizon":{len(levels)}}}'

    def read_graph(self, document: dict[str, Any]) -> str:
        """Nodes in their own order, edges sorted; returns the text of the digest."""
        levels = [level["nodes"] for level in document["levels"]]
        for node in chain(*levels):
            node["edges"].sort(key=lambda edge: edge[:2])
        good = all(("mass" in node) == (t == 0) for t, nodes in enumerate(levels) for node in nodes)
        good = good and max(Counter(node["obs"] for node in chain(*levels[:1])).values(), default=0) == 1
        require(good and document["horizon"] == len(levels), "model: the levels are not those of a graph", Malformed)
        self.read_levels(levels, False)
        return compact({"format": GRAPH, "horizon": len(levels), "levels": document["levels"]})

    def read_levels(self, levels: list[list[dict[str, Any]]], empirical: bool) -> None:
        """Nodes to histories: laws are averaged, and actions must be drawn by the average."""
        self.seen = [[node["obs"] for node in nodes] for nodes in levels]  # O_t
        self.law: list[list[str]] = [[] for _ in levels]  # P(A_t | H_t)
        self.after: list[list[dict[tuple[str, str], int]]] = [[] for _ in levels]  # (A_t, O_t+1) → history
        masses = [[node["mass"] for node in chain(*levels[:1])]]
        for t, nodes in enumerate(levels or [[]]):
            place, seen, flow = f"model, step {t + 1}", [*chain(*self.seen[t + 1 : t + 2])], []
            require(min(masses[t], default=0) > 0 and self.sum(masses[t]) == 1, f"{place}: improper masses", Malformed)
            for node, mass in zip(nodes, masses[t], strict=True):
                edges, shares = node["edges"], self.sums((self.canonical(law), share) for share, law in node["laws"])
                good = all(p > 0 and child < len(seen) for _, child, p in edges) and min(shares.values(), default=0) > 0
                require(good, f"{place}: impossible edges or laws", Malformed)
                node["laws"] = [(share, self.laws[law]) for law, share in shares.items()]
                mean = self.sums((action, share * p) for share, law in node["laws"] for action, p in law.items())
                drawn = self.sums((action, p) for action, _, p in edges) if seen and not empirical else mean
                self.law[t].append(self.canonical(mean))
                self.after[t].append({(action, seen[child]): child for action, child, _ in edges})
                require(drawn == mean, f"{place}: the actions are not drawn by the laws", Malformed)
                require(len(self.after[t][-1]) == len(edges), f"{place}: two edges have one continuation", Malformed)
                self.mixed = self.mixed or len(shares) > 1
                flow += [(child, p * mass) for _, child, p in edges]
            reached = self.sums(flow)
            masses.append([reached.get(k, Fraction(0)) for k in range(len(seen))])
        self.total = self.common(chain(*masses))[1]
        self.mass = [[int(mass * self.total) for mass in level] for level in masses]  # P(H_t)

    def run(self) -> list[str]:
        """Every claim in words; raises at the first that does not hold."""
        claims, joint = self.claims, self.claims.keys() & JOINT.keys()
        good = all(step.keys() & {"rate", "lower", "upper"} in ({"rate"}, {"lower", "upper"}) for step in self.steps)
        require(good and ("machine" in joint or not joint), "a step or a joint claim is incomplete", Malformed)
        require(claims["model_sha256"] == self.digest, "the certificate is of another model")
        good = [claims["horizon"], *(step["t"] for step in self.steps)] == [self.horizon, *range(1, self.horizon + 1)]
        require(good, f"not the steps 1 to {self.horizon} of the model, in order")
        require(claims["observational"] == self.mixed, f"observational is {self.mixed}")
        outcomes: Outcomes = []
        for t in reversed(range(self.horizon)):
            outcomes = self.check_step(t, outcomes)
        ends = [step.get("rate") or [step["lower"][0], step["upper"][1]] for step in self.steps]
        runs = [(key, [t for t, _ in run]) for key, run in groupby(enumerate(ends, 1), lambda item: item[1])]
        said = [f"R_{'..'.join(map(str, ts[:: len(ts) - 1 or 1]))} in [{low}, {high}]" for (low, high), ts in runs]
        said += self.check_machine(claims["machine"]) if joint else []
        return said + [self.check_code(name, **code) for name, code in claims.get("codes", {}).items()]

    def masses(self, t: int, cells: Iterable[Iterable[int]]) -> list[int]:
        return [sum(self.mass[t][history] for history in cell) for cell in cells]

    def entropy(self, t: int, cells: Iterable[Iterable[int]]) -> Terms:
        """H(cell | O_t)."""
        fibers = map(sum, classes(zip(self.seen[t], self.mass[t], strict=True)).values())
        return [(Fraction(mass, self.total), abs(mass)) for mass in chain(fibers, (-m for m in self.masses(t, cells)))]

    def check_step(self, t: int, after: Outcomes) -> Outcomes:
        """Both ends of one step; takes the outcomes of the next one and returns its own."""
        step, place, blocks, paid = self.steps[t], f"step {t + 1}", [], []
        cells, words, prices, exact = step["cells"], step["words"], step.get("prices", {}), "rate" in step
        home, upper = self.labels(t, cells, place), self.interval(self.entropy(t, cells))
        require(all(self.shareable((t, h) for h in cell) for cell in cells), f"{place}: a cell holds a conflict")
        require(step["rate" if exact else "upper"] == upper, f"{place}: the entropy of the cells is in {upper}")
        require({*self.seen[t]} >= prices.keys() | words.keys(), f"{place}: an observation does not occur")
        outcomes = [tuple(self.follow(t, h, w, after) for w in words.get(o, ())) for h, o in enumerate(self.seen[t])]
        for observation, fiber in classes((o, history) for history, o in enumerate(self.seen[t])).items():
            parts = self.split(fiber, outcomes)
            free = [[Fraction(0)] * len(types) for types, _ in parts if len(types) > 1]
            charges = prices.get(observation, free)
            require([*map(len, charges)] == [*map(len, free)], f"{place}: not one price for every type")
            for types, conflicts in parts:
                charge, block = charges.pop(0) if len(types) > 1 else [Fraction(0)], [*chain(*types)]
                inside = classes((home[history], self.mass[t][history]) for history in block).values()
                self.prove(self.masses(t, types), conflicts, charge, [*map(sum, inside)] if exact else [], place)
                paid.append((Fraction(sum(self.masses(t, types)), self.total) * self.sum(charge), 2))
                blocks.append(block)
        lower = step.get("lower") if exact else self.interval(self.entropy(t, blocks) + paid)
        require(lower == step.get("lower"), f"{place}: the evidence proves {lower}")
        return outcomes

    def follow(self, t: int, history: int, word: list[Any], after: Outcomes) -> str | None:
        self.spend(1)
        if not word:
            return self.law[t][history]
        child = self.after[t][history].get((word[0], word[1]))
        return None if child is None or word[2] >= len(after[child]) else after[child][word[2]]

    def labels(self, t: int, cells: list[list[int]], place: str) -> list[int]:
        """The cell of each history, where cells partition the histories of a step and have one observation each."""
        require([] not in cells and cells == sorted(map(sorted, cells)), f"{place}: cells are not in order", Malformed)
        good = sorted(chain(*cells)) == [*range(len(self.seen[t]))]
        good = good and all(len({self.seen[t][history] for history in cell}) == 1 for cell in cells)
        require(good, f"{place}: the cells are no partition of the histories of each observation")
        return [k for _, k in sorted((history, k) for k, cell in enumerate(cells) for history in cell)]

    def shareable(self, members: Iterable[tuple[int, int]]) -> bool:
        """Whether histories may share a memory state: on every common continuation those that look alike act alike."""
        waiting, seen = [tuple(sorted(members))], set()
        while waiting:
            group, laws = waiting.pop(), {}
            self.spend(1 + len(group))
            if len(group) > 1 and group not in seen and group not in self.compatible:
                if any(laws.setdefault(self.seen[t][h], self.law[t][h]) != self.law[t][h] for t, h in group):
                    return False
                seen.add(group)
                waiting += self.successors(group)
        self.compatible |= seen
        return True

    def successors(self, group: Iterable[tuple[int, int]]) -> list[tuple[tuple[int, int], ...]]:
        """Members that share a continuation stay together."""
        moves = [(u, (t + 1, child)) for t, history in group for u, child in self.after[t][history].items()]
        self.spend(2 * len(moves))
        return [tuple(sorted(set(children))) for children in classes(moves).values()]

    def split(self, fiber: list[int], outcomes: Outcomes) -> list[tuple[list[list[int]], list[int]]]:
        """Types (histories with the same conflicts) and the conflicts among them, by components of compatibility."""
        groups, parts, result = classes((outcomes[history], history) for history in fiber), {}, []
        conflicts = [0] * len(groups)
        for column in zip(*groups, strict=True):
            self.spend(len(column) * (1 + len(column) // 512))
            reached = defaultdict(int)
            for k, law in enumerate(column):
                reached[law] |= 1 << k
            everyone = reached[None] = (1 << len(column)) - 1 ^ reached[None]  # who cannot follow it has no conflict
            conflicts = [mask | everyone ^ reached[law] for mask, law in zip(conflicts, column, strict=True)]
        twins = classes(zip(conflicts, groups.values(), strict=True))
        for k in map(conflicts.index, twins):  # one vertex stands for its twins
            self.spend(len(twins) + k)
            near = sorted(chain([k], *(part for mask, part in parts.items() if mask & ~conflicts[k])))
            parts = {mask: part for mask, part in parts.items() if not mask & ~conflicts[k]}
            parts[sum(1 << j for j in near)] = near
        for part in sorted(parts.values()):
            self.spend(len(part) ** 2)
            masks = [sum(1 << j for j, other in enumerate(part) if conflicts[k] >> other & 1) for k in part]
            result.append(([sorted(chain(*twins[conflicts[k]])) for k in part], masks))
        return result

    def prove(self, masses: list[int], apart: list[int], prices: list[Fraction], cells: list[int], place: str) -> None:
        """Prices y with y(S) <= cost(S) for all compatible S; and no better partition than cells of these masses, whose
        slacks cost(S) - y(S) would add up to its entropy less y(everything), and so to less than those of the cells."""
        total, everything, paid = sum(masses), (1 << len(masses)) - 1, [math.ceil(y * 2**BITS) for y in prices]
        budget = max(-1, sum(cost(mass, total)[1] for mass in cells) - sum(paid) + len(paid)) if cells else -1
        sets, waiting = [], [(0, 0, 0, everything)]
        while waiting:
            chosen, mass, charge, free = waiting.pop()
            self.spend(2)
            near, rest = divmod(mass * GRID, total)  # the cost is concave in the mass, so that it lies above its chords
            chord = (cost(near, GRID)[0] * (total - rest) + cost(near + 1, GRID)[0] * rest) // total
            if chosen and chord - charge <= budget:
                self.spend(100)
                slack, y = cost(mass, total)[0] - charge, self.sum(y for k, y in enumerate(prices) if chosen >> k & 1)
                terms = [(Fraction(mass, total), total), (Fraction(-mass, total), mass), (-y, 2)]
                require(slack >= 0 or self.sign(terms) >= 0, f"{place}: the prices overcharge a compatible set")
                sets.append((slack, chosen, mass))
            for k in range(free.bit_length()):
                if free >> k & 1:
                    free ^= 1 << k
                    waiting.append((chosen | 1 << k, mass + masses[k], charge + paid[k], free & ~apart[k]))
        covers = [(everything, 0, (), sets, budget)] if cells else []
        while covers:
            rest, taken, chosen, usable, left = covers.pop()
            self.spend(1 + len(usable) * (1 + rest.bit_count()) // 128)
            usable = [entry for entry in usable if entry[0] <= left and not entry[1] & taken]
            full, remainder = divmod(total - sum(chosen), heaviest := max((m for *_, m in usable), default=1))
            filled = Counter(chosen) + Counter({heaviest: full}) + Counter([remainder])  # majorises all that may follow
            if (usable or not rest) and self.compare(filled, cells) > 0:
                require(rest, f"{place}: the evidence allows a partition of less entropy than the cells")
                counts = {k: sum(entry[1] >> k & 1 for entry in usable) for k in range(len(masses)) if rest >> k & 1}
                k = min(counts, key=counts.__getitem__)
                covers += [(rest & ~s, s, (*chosen, m), usable, left - slack) for slack, s, m in usable if s >> k & 1]

    def check_machine(self, machine: list[list[list[int]]]) -> list[str]:
        """A closed compatible assignment, compared with the rates and, if it does not attain them, with all others."""
        good = len(machine) == self.horizon and all("rate" in step for step in self.steps)
        require(good, "machine: not one partition for every step, or a step without a rate")
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
        states: dict[Any, list[int]] = {tuple(((0, history),) for history in range(len(self.law[0]))): []}
        for t, seen in enumerate(self.seen):
            waiting, following = [(units, [], masses) for units, masses in states.items()], {}
            while waiting:
                units, cells, masses = waiting.pop()
                self.spend(1 + len(cells))
                for j, cell in enumerate([*cells, ()] if units else []):
                    if (not cell or seen[cell[0][1]] == seen[units[0][0][1]]) and self.shareable(cell + units[0]):
                        waiting.append((units[1:], [*cells[:j], cell + units[0], *cells[j + 1 :]], masses))
                reached = masses + self.masses(t, ([history for _, history in cell] for cell in cells))
                if not units and self.compare(chain(reached, *floors[t + 1 :]), ours) > 0:
                    key = tuple(sorted(chain(*map(self.successors, cells))))
                    if key not in following or self.compare(reached, following[key]) > 0:
                        following[key] = reached
            states = following
        require(not states, "machine: another one has less entropy")

    def check_rules(self, labels: list[list[int]], stationary: bool, place: str) -> None:
        """Labels that a machine can keep: with an observation they decide the law, with a continuation the next one."""
        require([*map(len, labels)] == [*map(len, self.law)], f"{place}: not one label for every history")
        rules = {}
        for t, row in enumerate(labels):
            for history, label in enumerate(row):
                self.spend(1 + len(self.after[t][history]))
                facts = {(label, u): labels[t + 1][child] for u, child in self.after[t][history].items()}
                for fact, result in {**facts, (self.seen[t][history], label): self.law[t][history]}.items():
                    good = rules.setdefault((stationary or t, fact), result) == result
                    require(good, f"{place}: step {t + 1}: one label would need two laws or two next labels")

    def check_code(self, name: str, count: int, labels: list[list[int]], clique: list[list[int]]) -> str:
        """A machine with `count` labels, and as many histories of which no two can share a label."""
        self.check_rules(labels, name == "stationary", name)
        good = all(0 < t <= self.horizon and history < len(self.law[t - 1]) for t, history in clique)
        good = good and len(clique) == count and (name == "stationary" or len({t for t, _ in clique}) == 1)
        require(good and max(chain(*labels)) < count, f"{name}: not as many histories or labels as counted")
        pairs = combinations([(t - 1, history) for t, history in clique], 2)
        require(not any(map(self.shareable, pairs)), f"{name}: two histories of the clique can share a label")
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
        for path in paths:
            with open(path, "rb") as file:
                texts.append(file.read(MAX_BYTES + 1).decode("utf-8-sig"))
        print("verified:", "; ".join(check(texts[0], texts[1], int(options[1]))))
        return 0
    except (OSError, ValueError) as error:
        refusal = Malformed(f"cannot be read: {str(error)!a}")
    except MemoryError:
        refusal = LimitReached("out of memory")
    except (Rejected, Malformed, LimitReached) as error:
        refusal = error
    print(("rejected", "malformed", "limit reached")[refusal.status - 1], refusal, sep=": ", file=sys.stderr)
    return refusal.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
