"""Check a certificate for every horizon: ``python -m certify.check_stationary CERTIFICATE PROCESS [--limit N]``.

This file alone has to be trusted. It shares no code with the solver and takes only hints from the certificate, as
docs/certificate_stationary.md specifies. It builds the observer of the process itself: an automaton whose nodes are
what a history determines, with the law that the expert follows there. Then, in short:
* a machine is right for ever if no pair (node, code) that can be reached has two laws for one observation and code;
* the law of a long run is proved by two identities on the pairs (hidden state, code);
* histories that a word distinguishes can share no memory state, so that the entropy of what cannot be distinguished is
  needed by every machine.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import gcd, lcm
from typing import Any, NoReturn

LIMIT = 100_000_000  # units of work, of roughly a microsecond
MAX_BYTES = 128 * 2**20
PROCESS, CERTIFICATE = "certify-process/1", "certify-certificate/2"
RATIONAL = re.compile(r"-?[0-9]{1,4000}(/0{0,9}[1-9][0-9]{0,3999}|\.[0-9]{1,4000})?")
DECIMAL = re.compile(r"-?[0-9]{1,9}\.[0-9]{15}")
MAX_BITS = 40_000  # of a common denominator
MARGIN, GRID, DIGITS = Decimal("1e-30"), Decimal("1e-15"), 120
MOST_TYPES = 11  # of histories in one component whose partitions are all looked at
Label = tuple[str, str]  # action, next observation
Cell = tuple[str, int]  # observation, code
Word = tuple[Label, int] | None  # a label and the number of an earlier word; None asks for the law now


class Rejected(Exception):
    status = 1  # well formed, but a claim or its evidence is wrong


class Malformed(Exception):
    status = 2  # not a certificate, or not a process


class LimitReached(Exception):
    status = 3  # neither verified nor rejected


class Number(str):
    """A JSON number, kept as its digits."""


def require(holds: object, reason: str) -> None:
    if not holds:
        raise Rejected(reason)


def malformed(where: str, reason: str) -> NoReturn:
    raise Malformed(f"{where[:80]}: {reason}")


def parse(source: str, what: str) -> Any:
    if len(source) > MAX_BYTES:
        raise LimitReached(f"{what}: larger than {MAX_BYTES} bytes")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(items)) < len(items):
            malformed(what, "a key is given twice")
        return dict(items)

    try:
        return json.loads(source, parse_int=Number, parse_float=Number, parse_constant=Number, object_pairs_hook=pairs)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"{what}: not JSON, {str(error)[:80]}") from None


def obj(value: Any, where: str, needed: Iterable[str] = (), optional: Iterable[str] | None = None) -> dict[str, Any]:
    """An object with known keys; any keys where `optional` is None."""
    if not isinstance(value, dict):
        malformed(where, "expected an object")
    for key in needed:
        if key not in value:
            malformed(where, f"the key {key!r} is missing")
    for key in value:
        if optional is not None and key not in optional and key not in needed:
            malformed(where, f"unknown key {key[:40]!r}")
    return value


def array(value: Any, where: str, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        malformed(where, "expected a list" if length is None else f"expected a list of {length}")
    return value


def name(value: Any, where: str) -> str:
    if type(value) is not str or re.search("[\ud800-\udfff]", value):
        malformed(where, "expected text")
    return value


def whole(value: Any, where: str) -> int:
    if type(value) is not Number or not re.fullmatch("[0-9]{1,9}", value):
        malformed(where, "expected a whole number")
    return int(value)


def rational(value: Any, where: str) -> Fraction:
    if type(value) not in (str, Number) or not RATIONAL.fullmatch(value):
        malformed(where, 'expected a rational such as "1/4"')
    return Fraction(value)


def common(values: Iterable[Fraction], where: str) -> int:
    """The least common denominator, while it is of a size that can be worked with."""
    result = 1
    for value in values:
        result = lcm(result, value.denominator)
        if result.bit_length() > MAX_BITS:
            raise LimitReached(f"{where}: a common denominator of more than {MAX_BITS} bits")
    return result


def ends(value: Any, where: str) -> tuple[str, str]:
    low, high = array(value, where, 2)
    if not all(type(end) is str and DECIMAL.fullmatch(end) for end in (low, high)):
        malformed(where, "expected two decimals of 15 digits")
    return low, high


class Process:
    """States with an observation, a law and moves; who starts. A missing move ends the episode, which starts again."""

    def __init__(self, source: str) -> None:
        document = obj(parse(source, "process"), "process", ("format", "states", "start"), ("name", "notes"))
        if document["format"] != PROCESS:
            malformed("process", f"not of the format {PROCESS}")
        states = array(document["states"], "states")
        self.shown: list[str] = []
        self.law: list[dict[str, Fraction]] = []
        self.moves: list[dict[str, dict[int, Fraction]]] = []
        for k, state in enumerate(states):
            where = f"states[{k}]"
            obj(state, where, ("obs", "law"), ("moves",))
            self.shown.append(name(state["obs"], where))
            law = {name(a, where): rational(p, where) for a, p in obj(state["law"], where).items()}
            self.law.append(self.distribution(law, where))
            moves = obj(state.get("moves", {}), where)
            if not moves.keys() <= self.law[-1].keys():
                malformed(where, "moves by an action that the law does not take")
            self.moves.append({a: self.row(row, where, len(states)) for a, row in moves.items()})
        self.start = self.row(document["start"], "start", len(states))
        self.sha256 = hashlib.sha256(self.canonical()).hexdigest()

    @staticmethod
    def distribution(law: dict[Any, Fraction], where: str) -> dict[Any, Fraction]:
        common(law.values(), where)
        if sum(law.values()) != 1 or min(law.values()) < 0:
            malformed(where, "not a distribution")
        return {key: p for key, p in law.items() if p}

    def row(self, value: Any, where: str, size: int) -> dict[int, Fraction]:
        row: dict[int, Fraction] = {}
        for entry in array(value, where):
            state, p = array(entry, where, 2)
            x = whole(state, where)
            if x >= size or x in row:
                malformed(where, "a state that does not exist, or is listed twice")
            row[x] = rational(p, where)
        return self.distribution(row, where)

    def canonical(self) -> bytes:
        """States in their order, lowest terms, sorted keys, no spaces."""
        states = [
            {
                "obs": shown,
                "law": {a: str(p) for a, p in law.items()},
                "moves": {a: [[x, str(p)] for x, p in sorted(row.items())] for a, row in moves.items()},
            }
            for shown, law, moves in zip(self.shown, self.law, self.moves, strict=True)
        ]
        start = [[x, str(p)] for x, p in sorted(self.start.items())]
        document = {"format": PROCESS, "states": states, "start": start}
        return json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


Posterior = tuple[tuple[int, Fraction], ...]
Node = tuple[Posterior, bool, tuple[Label, ...]]  # what was known, whether as a posterior, and the labels since


class Checker:
    def __init__(self, certificate: str, process: str, limit: int) -> None:
        self.left = limit
        self.spend((len(certificate) + len(process)) // 8)
        self.process = Process(process)
        claims = obj(parse(certificate, "certificate"), "certificate", ("format", "process_sha256", "grain"), OPTIONAL)
        if claims["format"] != CERTIFICATE:
            malformed("certificate", f"not of the format {CERTIFICATE}")
        if type(claims["process_sha256"]) is not str or claims["grain"] not in ("supports", "posteriors", "windows"):
            malformed("certificate", "process_sha256 is not text, or grain is not supports, posteriors or windows")
        if ("window" in claims) != (claims["grain"] == "windows"):
            malformed("certificate", "window belongs to the grain windows, which needs it")
        if "columns" in claims and claims["grain"] != "posteriors":
            malformed("certificate", "columns belong to the grain posteriors")
        self.claims = claims
        require(claims["process_sha256"] == self.process.sha256, "the certificate is about another process")

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise LimitReached("more work than the limit allows; raise it with --limit")

    def run(self) -> list[str]:
        """Verify every claim; each verified one is a sentence."""
        self.observe()
        said, claims = [], self.claims
        if ("long_run" in claims) != ("words" in claims) or ("long_run" in claims and "machine" not in claims):
            malformed("certificate", "machine, long_run and words belong together")
        if "long_run" not in claims and {"rate", "lower", "upper", "merged"} & claims.keys():
            malformed("certificate", "bits need the law of the long run")
        if "machine" in claims:
            machine = self.machine(claims["machine"], "machine")
            cells = self.right(machine, "machine")
            said.append(f"a machine with {machine[0]} codes is right at every horizon")
            if "long_run" in claims:
                said.append(self.bits(machine, cells))
        if "codes" in claims:
            said.append(self.codes(obj(claims["codes"], "codes", ("count", "machine", "clique"), ())))
        for k, claim in enumerate(array(claims.get("frames", []), "frames")):
            said.append(self.frames(obj(claim, f"frames[{k}]", ("actions",), ("k", "loop"))))
        require(said, "the certificate claims nothing")
        return said

    # The observer. A node is what was known once, and the labels since. What was known is a posterior, or the states
    # that were possible: then the posterior now is a mixture of rays, what each of these states alone has become.

    def observe(self) -> None:
        """Breadth-first search over supports, exact posteriors, or the last labels; every node has one law."""
        exact = self.claims["grain"] != "supports"
        self.columns = self.predictive() if "columns" in self.claims else None
        self.most = whole(self.claims.get("window", Number(0)), "window")
        self.seen: list[str] = []
        self.law: list[dict[str, Fraction]] = []
        self.after: list[dict[Label, int]] = []
        self.first = {shown: k for k, shown in enumerate(sorted({self.process.shown[x] for x in self.process.start}))}
        nodes: list[Node] = []
        for shown in self.first:
            weights = {x: p for x, p in self.process.start.items() if self.process.shown[x] == shown}
            nodes.append((self.posterior(weights, exact), exact, ()))
        numbers = {self.key(node): k for k, node in enumerate(nodes)}
        for node in nodes:
            rays = self.rays(node)
            self.seen.append(self.process.shown[next(iter(rays[0]))])
            self.law.append(self.average(rays[0]))
            same = all(self.average(ray) == self.law[-1] for ray in rays)
            require(same, "a history allows two laws: (A2) fails, or the window is too short")
            self.after.append({})
            moved = [self.steps(ray) for ray in rays]
            for label in sorted({label for after in moved for label in after}):
                target = self.following(node, label, [after[label] for after in moved if label in after])
                self.spend(2 * len(target[0]))
                if (key := self.key(target)) not in numbers:
                    numbers[key] = len(nodes)
                    nodes.append(target)
                self.after[-1][label] = numbers[key]

    def key(self, node: Node) -> Any:
        """What tells nodes apart: everything, or the observation and the mean of each column."""
        if self.columns is None:
            return node
        self.spend(len(node[0]) * len(self.columns))
        means = [sum(p * column[x] for x, p in node[0]) for column in self.columns]
        return self.process.shown[node[0][0][0]], *means

    def predictive(self) -> list[list[Fraction]]:
        """Columns whose means decide the law and the means after every label: their span holds all that is asked."""
        size = len(self.process.shown)
        given = [array(column, "columns", size) for column in array(self.claims["columns"], "columns")]
        columns = [[rational(value, "columns") for value in column] for column in given]
        basis: list[tuple[int, list[Fraction]]] = []

        def rest(vector: list[Fraction]) -> list[Fraction]:
            self.spend(size * len(basis))
            for pivot, row in basis:
                if factor := vector[pivot]:
                    vector = [v - factor * r for v, r in zip(vector, row, strict=True)]
            return vector

        for column in columns:
            vector = rest(column)
            pivot = next((x for x in range(size) if vector[x]), None)
            if pivot is not None:
                basis.append((pivot, [v / vector[pivot] for v in vector]))
        actions = {action for law in self.process.law for action in law}
        asked = [[Fraction(1)] * size]
        asked += [[law.get(action, Fraction(0)) for law in self.process.law] for action in sorted(actions)]
        for column in columns:
            ahead: dict[Label, list[Fraction]] = {}
            for x in range(size):
                for label, weights in self.steps({x: Fraction(1)}).items():
                    means = ahead.setdefault(label, [Fraction(0)] * size)
                    means[x] = sum((p * column[y] for y, p in weights.items()), Fraction(0))
            asked += ahead.values()
        require(not any(any(rest(vector)) for vector in asked), "columns: they do not decide what follows")
        return columns

    def posterior(self, weights: dict[int, Fraction], exact: bool) -> Posterior:
        total = sum(weights.values())
        return tuple(sorted((x, p / total if exact else Fraction(1)) for x, p in weights.items()))

    def following(self, node: Node, label: Label, rays: list[dict[int, Fraction]]) -> Node:
        """The node after a label and its rays; the oldest label is taken into what is known when there are too many."""
        origin, exact, labels = node
        longer = (*labels, label)
        if len(longer) <= self.most:
            return origin, exact, longer
        first = self.rays((origin, exact, longer[:1])) if labels else rays
        weights = {x: p for ray in first for x, p in ray.items()}
        exact = self.claims["grain"] == "posteriors"  # then there is one ray
        return self.posterior(weights, exact), exact, longer[1:]

    def rays(self, node: Node) -> list[dict[int, Fraction]]:
        origin, exact, labels = node
        rays = [dict(origin)] if exact else [{x: p} for x, p in origin]
        for label in labels:
            rays = [after for ray in rays if (after := self.steps(ray).get(label))]
        return rays

    def steps(self, ray: dict[int, Fraction]) -> dict[Label, dict[int, Fraction]]:
        """The weights after each label that can follow."""
        reached: dict[Label, dict[int, Fraction]] = {}
        for x, weight in ray.items():
            for action, row in self.process.moves[x].items():
                for y, p in row.items():
                    self.spend(4)
                    part = reached.setdefault((action, self.process.shown[y]), {})
                    part[y] = part.get(y, Fraction(0)) + weight * self.process.law[x][action] * p
        return reached

    def average(self, ray: dict[int, Fraction]) -> dict[str, Fraction]:
        """P(A | history) for a posterior up to its scale."""
        total: dict[str, Fraction] = {}
        for x, weight in ray.items():
            for action, p in self.process.law[x].items():
                total[action] = total.get(action, Fraction(0)) + weight * p
        return {action: p / sum(ray.values()) for action, p in total.items()}

    def machine(self, value: Any, where: str) -> tuple[int, dict[str, int], dict[tuple[int, str, str], int]]:
        """(number of codes, first codes by observation, moves by code, action and observation)."""
        obj(value, where, ("codes", "first", "moves"), ())
        count = whole(value["codes"], where)

        def code(given: Any) -> int:
            parsed = whole(given, where)
            require(parsed < count, f"{where}: a code that is not below {count}")
            return parsed

        first = {name(o, where): code(c) for o, c in obj(value["first"], where).items()}
        moves: dict[tuple[int, str, str], int] = {}
        for entry in array(value["moves"], where):
            c, a, o, d = array(entry, where, 4)
            key = (code(c), name(a, where), name(o, where))
            if key in moves:
                malformed(where, "a move is given twice")
            moves[key] = code(d)
        return count, first, moves

    def right(self, machine: Any, where: str) -> set[tuple[int, int]]:
        """Every (node, code) that can be reached; one law for each observation and code."""
        _, first, moves = machine
        require(self.first.keys() <= first.keys(), f"{where}: a first observation has no code")
        waiting = [(node, first[shown]) for shown, node in self.first.items()]
        reached = set(waiting)
        played: dict[tuple[str, int], dict[str, Fraction]] = {}
        for node, code in waiting:
            law = played.setdefault((self.seen[node], code), self.law[node])
            require(law == self.law[node], f"{where}: code {code} means two laws under {self.seen[node]!a}")
            for label, target in self.after[node].items():
                self.spend(2)
                require((code, *label) in moves, f"{where}: no move from code {code} after {label!a}")
                pair = (target, moves[code, *label])
                if pair not in reached:
                    reached.add(pair)
                    waiting.append(pair)
        return reached

    def long_run(self, machine: Any) -> dict[tuple[str, int], Fraction]:
        """The long-run mass of each (observation, code): mean = mean·P and start − mean = potential·(I − P)."""
        mean: dict[tuple[int, int], Fraction] = {}
        potential: dict[tuple[int, int], Fraction] = {}
        for entry in array(self.claims["long_run"], "long_run"):
            x, c, m, y = array(entry, "long_run", 4)
            pair = (whole(x, "long_run"), whole(c, "long_run"))
            if pair in mean:
                malformed("long_run", "a pair is given twice")
            mean[pair], potential[pair] = rational(m, "long_run"), rational(y, "long_run")
        start, rows = self.pairs(machine)
        require(mean.keys() == rows.keys(), "long_run: not one entry for every pair of hidden state and code")
        require(min(mean.values()) >= 0, "long_run: a negative mean")
        size = common([*mean.values(), *potential.values()], "long_run").bit_length()
        moved, pushed = dict.fromkeys(rows, Fraction(0)), dict.fromkeys(rows, Fraction(0))
        for pair, row in rows.items():
            for target, p in row.items():
                self.spend(20 + size // 32)
                moved[target] += mean[pair] * p
                pushed[target] += potential[pair] * p
        require(moved == mean, "long_run: a step changes the mean")
        for pair in rows:
            left = start.get(pair, Fraction(0)) - mean[pair]
            require(left == potential[pair] - pushed[pair], "long_run: the start does not lead to the mean")
        mass: dict[tuple[str, int], Fraction] = {}
        for (x, c), m in mean.items():
            key = (self.process.shown[x], c)
            mass[key] = mass.get(key, Fraction(0)) + m
        return mass

    def pairs(self, machine: Any) -> tuple[dict[Any, Fraction], dict[Any, dict[Any, Fraction]]]:
        """The Markov chain of (hidden state, code); an episode that ends starts again, memory and all."""
        _, first, moves = machine
        process = self.process
        start = {(x, first[process.shown[x]]): p for x, p in process.start.items()}
        rows: dict[Any, dict[Any, Fraction]] = {}
        waiting = list(start)
        while waiting:
            pair = waiting.pop()
            if pair in rows:
                continue
            row: dict[Any, Fraction] = {}
            rows[pair] = row
            x, code = pair
            for action, p in process.law[x].items():
                following = {
                    (y, moves[code, action, process.shown[y]]): q for y, q in process.moves[x].get(action, {}).items()
                }
                for target, q in (following or start).items():
                    self.spend(4)
                    row[target] = row.get(target, Fraction(0)) + p * q
                    waiting.append(target)
        return start, rows

    def bits(self, machine: Any, cells: set[tuple[int, int]]) -> str:
        """Upper end: H(code | O), after merging codes if the certificate says how. Lower end: of the best partition of
        the codes into sets that the words do not distinguish."""
        mass = {cell: m for cell, m in self.long_run(machine).items() if m}
        best = self.best_partition(mass, self.conflicts(cells))
        merged = self.merged(machine) if "merged" in self.claims else {c: c for _, c in mass}
        low, high = (self.interval(self.grouped(mass, part)) for part in (best, {c: merged[c[1]] for c in mass}))
        if "rate" in self.claims:
            if {"lower", "upper", "merged"} & self.claims.keys():
                malformed("rate", "stands beside lower, upper or merged")
            require(
                len(set(best.values())) == len(mass), "rate: the words do not distinguish all codes of an observation"
            )
            require(ends(self.claims["rate"], "rate") == high, f"rate: the bits are in {high}")
            return f"the long run requires bits in [{high[0]}, {high[1]}]"
        if not {"lower", "upper"} <= self.claims.keys():
            malformed("certificate", "a long run needs rate, or lower and upper")
        require(ends(self.claims["lower"], "lower") == low, f"lower: the words prove {low}")
        require(ends(self.claims["upper"], "upper") == high, f"upper: the machine holds {high}")
        return f"the long run requires bits between [{low[0]}, {low[1]}] and [{high[0]}, {high[1]}]"

    def merged(self, machine: Any) -> dict[int, int]:
        """The new code of each code; what results must be a machine that is right for ever."""
        count, first, moves = machine
        new = [whole(value, "merged") for value in array(self.claims["merged"], "merged", count)]
        joined: dict[tuple[int, str, str], int] = {}
        for (c, a, o), d in moves.items():
            require(joined.setdefault((new[c], a, o), new[d]) == new[d], "merged: one code would have two moves")
        self.right((max(new) + 1, {o: new[c] for o, c in first.items()}, joined), "merged")
        return dict(enumerate(new))

    @staticmethod
    def grouped(mass: dict[Cell, Fraction], part: dict[Cell, int]) -> dict[Cell, Fraction]:
        """The mass of each part of each observation."""
        result: dict[Cell, Fraction] = {}
        for cell, m in mass.items():
            key = (cell[0], part[cell])
            result[key] = result.get(key, Fraction(0)) + m
        return result

    def conflicts(self, cells: set[tuple[int, int]]) -> dict[Cell, set[Cell]]:
        """Codes of one observation of which any two histories are distinguished by a word."""
        vectors = self.outcomes([self.word(value, k) for k, value in enumerate(array(self.claims["words"], "words"))])
        types: dict[Cell, set[tuple[Any, ...]]] = {}
        for node, code in cells:
            types.setdefault((self.seen[node], code), set()).add(vectors[node])
        fibers: dict[str, list[Cell]] = {}
        for cell in types:
            fibers.setdefault(cell[0], []).append(cell)
        result: dict[Cell, set[Cell]] = {cell: set() for cell in types}
        for fiber in fibers.values():
            for k, first in enumerate(fiber):
                for second in fiber[:k]:
                    if all(self.apart(a, b) for a in types[first] for b in types[second]):
                        result[first].add(second)
                        result[second].add(first)
        return result

    def best_partition(self, mass: dict[Cell, Fraction], conflicts: dict[Cell, set[Cell]]) -> dict[Cell, int]:
        """Of each cell: its part in a partition of least entropy into sets without a conflict.

        Cells with the same conflicts stay together. A part never leaves a component of cells without conflicts between
        them; a component of more than MOST_TYPES kinds is left whole, which bounds the entropy from below as well.
        """
        scale = common(mass.values(), "long_run")
        twins: dict[tuple[str, frozenset[Cell]], list[Cell]] = {}
        for cell in sorted(mass):
            self.spend(1 + len(conflicts[cell]))
            twins.setdefault((cell[0], frozenset(conflicts[cell] & mass.keys())), []).append(cell)
        kinds = list(twins.values())
        apart = [{k for k, other in enumerate(kinds) if other[0] in conflicts[kind[0]]} for kind in kinds]
        part: dict[Cell, int] = {}
        waiting = set(range(len(kinds)))
        while waiting:
            component = [min(waiting)]
            waiting -= set(component)
            for k in component:
                self.spend(len(waiting))
                near = {j for j in waiting if j not in apart[k] and kinds[j][0][0] == kinds[k][0][0]}
                component += sorted(near)
                waiting -= near
            weights = [int(sum(mass[cell] for cell in kinds[k]) * scale) for k in component]
            masks = [sum(1 << i for i, j in enumerate(component) if j in apart[k]) for k in component]
            for chosen in self.least_entropy(weights, masks):
                number = len(set(part.values()))
                members = [cell for i, k in enumerate(component) if chosen >> i & 1 for cell in kinds[k]]
                part |= dict.fromkeys(members, number)
        return part

    def least_entropy(self, weights: list[int], apart: list[int]) -> list[int]:
        """The sets of a partition without conflicts that has the largest Σ m·log m, by all subsets."""
        everything = (1 << len(weights)) - 1
        if len(weights) > MOST_TYPES:
            return [everything]
        self.spend(3 ** len(weights) + 100 * (everything + 1))
        context = Context(prec=DIGITS)
        worth: list[Decimal | None] = [Decimal(0)]
        for chosen in range(1, everything + 1):
            low = chosen.bit_length() - 1
            rest = chosen ^ 1 << low
            total = sum(w for k, w in enumerate(weights) if chosen >> k & 1)
            good = worth[rest] is not None and not apart[low] & rest
            worth.append(context.multiply(total, context.ln(total)) if good else None)
        best: list[tuple[Decimal, int]] = [(Decimal(0), 0)]
        for chosen in range(1, everything + 1):
            top, optimum = 1 << chosen.bit_length() - 1, (Decimal("-Infinity"), 0)
            others = subset = chosen ^ top
            while True:
                value = worth[subset | top]
                if value is not None:
                    optimum = max(optimum, (context.add(value, best[others ^ subset][0]), subset | top))
                if not subset:
                    break
                subset = (subset - 1) & others
            best.append(optimum)
        result, left = [], everything
        while left:
            result.append(best[left][1])
            left ^= best[left][1]
        return result

    def apart(self, first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
        """Whether some word can follow both and ends in two laws."""
        self.spend(1 + len(first) // 8)
        return any(a is not None and b is not None and a != b for a, b in zip(first, second, strict=True))

    def word(self, value: Any, position: int) -> Word:
        parts = array(value, "words")
        if not parts:
            return None
        action, shown, k = array(parts, "words", 3)
        if whole(k, "words") >= position:
            malformed("words", "a word goes on with a later one")
        return (name(action, "words"), name(shown, "words")), int(k)

    def outcomes(self, words: list[Word]) -> list[tuple[int | None, ...]]:
        """Of each node: the law after every word, as a number; None where the word cannot follow."""
        numbers: dict[Any, int] = {}
        laws = [numbers.setdefault(tuple(sorted(law.items())), len(numbers)) for law in self.law]
        columns: list[list[int | None]] = []
        for word in words:
            self.spend(len(laws))
            if word is None:
                columns.append(list(laws))
            else:
                label, k = word
                targets = [after.get(label) for after in self.after]
                columns.append([None if target is None else columns[k][target] for target in targets])
        return list(zip(*columns, strict=True)) if columns else [()] * len(laws)

    def codes(self, claim: dict[str, Any]) -> str:
        """A machine with so many codes, and as many histories of which no two can share a code."""
        machine = self.machine(claim["machine"], "codes.machine")
        self.right(machine, "codes.machine")
        count = whole(claim["count"], "codes.count")
        require(count == machine[0], "codes: the machine has another number of codes")
        nodes = [self.follow(history, "codes.clique") for history in array(claim["clique"], "codes.clique")]
        require(len(nodes) == count, "codes: not as many histories as codes")
        for k, first in enumerate(nodes):
            for second in nodes[:k]:
                require(self.conflict(first, second), "codes: two histories of the clique can share a code")
        return f"no machine that is right for ever has fewer than {count} codes"

    def follow(self, history: Any, where: str) -> int:
        """The node that a history leads to."""
        words = [name(word, where) for word in array(history, where)]
        if len(words) % 2 == 0:
            malformed(where, "a history begins and ends with an observation")
        require(words[0] in self.first, f"{where}: the observation {words[0]!a} never comes first")
        return self.walk(self.first[words[0]], list(zip(words[1::2], words[2::2], strict=True)), where)

    def walk(self, node: int, labels: list[Label], where: str) -> int:
        for label in labels:
            self.spend(1)
            require(label in self.after[node], f"{where}: {label!a} cannot follow")
            node = self.after[node][label]
        return node

    def conflict(self, first: int, second: int) -> bool:
        """Whether a code shared by two histories would come to mean two laws under one observation."""
        waiting, met = [(first, second)], {(first, second)}
        for a, b in waiting:
            if self.seen[a] == self.seen[b] and self.law[a] != self.law[b]:
                return True
            for label in self.after[a].keys() & self.after[b].keys():
                self.spend(2)
                pair = (self.after[a][label], self.after[b][label])
                if pair not in met:
                    met.add(pair)
                    waiting.append(pair)
        return False

    def frames(self, claim: dict[str, Any]) -> str:
        """The least number of past steps that fix the law, or two histories that no number distinguishes."""
        if type(claim["actions"]) is not bool or ("k" in claim) == ("loop" in claim):
            malformed("frames", "expected actions, and either k or a loop")
        actions = claim["actions"]
        kind = "observations and actions" if actions else "observations"
        if "loop" in claim:
            self.loop(obj(claim["loop"], "loop", ("start", "loop", "tail"), ()), actions)
            return f"no finite stack of {kind} fixes the law"
        k = whole(claim["k"], "frames.k")
        self.spend(len(self.seen) ** 2)
        pairs = {(a, b) for a in range(len(self.seen)) for b in range(len(self.seen)) if self.seen[a] == self.seen[b]}
        for step in range(k + 1):
            self.spend(len(pairs))
            bad = any(self.law[a] != self.law[b] for a, b in pairs)
            require(bad == (step < k), f"frames: {step} past steps {'do not' if bad else 'already'} fix the law")
            pairs = {pair for a, b in pairs for pair in self.alike(a, b, actions)} if step < k else pairs
            pairs |= {(node, node) for node in self.first.values()}  # before the first step everything looks alike
        return f"{k} past steps of {kind} fix the law, and no fewer do"

    def alike(self, first: int, second: int, actions: bool) -> list[tuple[int, int]]:
        """The pairs that follow by steps that a stack shows alike."""
        self.spend(len(self.after[first]) * (1 if actions else len(self.after[second])))
        if actions:
            both = self.after[first].keys() & self.after[second].keys()
            return [(self.after[first][label], self.after[second][label]) for label in both]
        return [(x, y) for u, x in self.after[first].items() for v, y in self.after[second].items() if u[1] == v[1]]

    def loop(self, claim: dict[str, Any], actions: bool) -> None:
        """Two histories start·loopⁱ·tail that look alike after `start` and end in two laws, for every i."""
        words: dict[str, list[list[Label]]] = {}
        for key in ("loop", "tail"):
            words[key] = [
                [(name((step := array(pair, key, 2))[0], key), name(step[1], key)) for pair in array(word, key)]
                for word in array(claim[key], key, 2)
            ]
            one, other = words[key]
            same = one == other if actions else [o for _, o in one] == [o for _, o in other]
            require(same, f"loop: the two {key}s do not look alike")
        require(words["loop"][0], "loop: it is empty")
        one, other = (self.follow(history, "loop.start") for history in array(claim["start"], "loop.start", 2))
        require(self.seen[one] == self.seen[other], "loop: the two starts end in different observations")
        met: set[tuple[int, int]] = set()
        while (one, other) not in met:  # once a pair of nodes is met again, everything repeats
            met.add((one, other))
            laws = [self.law[self.walk(node, words["tail"][k], "loop")] for k, node in enumerate((one, other))]
            require(laws[0] != laws[1], "loop: the two histories have one law")
            one, other = (self.walk(node, words["loop"][k], "loop") for k, node in enumerate((one, other)))

    def interval(self, mass: dict[tuple[str, int], Fraction]) -> tuple[str, str]:
        """H(second | first) in bits with 15 decimals, rounded outward after a margin of 10⁻³⁰."""
        parts = {key: m for key, m in mass.items() if m}
        scale = lcm(*(m.denominator for m in parts.values()))
        terms: dict[int, int] = {}  # base → coefficient of its logarithm, over the scale
        fibers: dict[str, int] = {}
        for (shown, _), m in parts.items():
            weight = m.numerator * (scale // m.denominator)
            terms[weight] = terms.get(weight, 0) - weight
            fibers[shown] = fibers.get(shown, 0) + weight
        for weight in fibers.values():
            terms[weight] = terms.get(weight, 0) + weight
        common = gcd(scale, *terms.values())
        low, high = self.sum({base: c // common for base, c in terms.items() if c}, scale // common)
        with_margin = Context(prec=3 * DIGITS)
        texts = []
        for rounding, end, margin in ((ROUND_FLOOR, (low, high), -MARGIN), (ROUND_CEILING, (high, low), MARGIN)):
            values = [with_margin.add(value, margin).quantize(GRID, rounding, with_margin) for value in end]
            if values[0] != values[1]:
                raise LimitReached("the bits are too close to the grid of 15 decimals")
            texts.append(f"{values[0]:f}")
        return texts[0], texts[1]

    def sum(self, terms: dict[int, int], scale: int) -> tuple[Decimal, Decimal]:
        """Bounds of Σ c·log₂(base) / scale, every rounding outward."""
        down, up = Context(prec=DIGITS, rounding=ROUND_FLOOR), Context(prec=DIGITS, rounding=ROUND_CEILING)
        self.spend(100 * len(terms))
        low = high = Decimal(0)
        for base, c in terms.items():
            near = down.ln(Decimal(base))
            below, above = down.next_minus(near), up.next_plus(near)
            small, large = (below, above) if c > 0 else (above, below)
            low, high = down.add(low, down.multiply(c, small)), up.add(high, up.multiply(c, large))
        two = down.ln(Decimal(2))
        unit_low, unit_high = down.multiply(scale, down.next_minus(two)), up.multiply(scale, up.next_plus(two))
        return (
            down.divide(low, unit_high if low > 0 else unit_low),
            up.divide(high, unit_low if high > 0 else unit_high),
        )


OPTIONAL = ("window", "columns", "machine", "long_run", "words", "merged", "rate", "lower", "upper", "codes", "frames")


def check(certificate: str, process: str, limit: int = LIMIT) -> list[str]:
    """The verified claims; raises Rejected, Malformed or LimitReached."""
    return Checker(certificate, process, limit).run()


def main(arguments: list[str]) -> int:
    """Exit status 0 verified, 1 rejected, 2 malformed, 3 limit reached."""
    texts = []
    paths, options = arguments[:2], arguments[2:] or ["--limit", str(LIMIT)]
    try:
        if len(paths) != 2 or options[0] != "--limit" or not re.fullmatch("[0-9]{1,18}", " ".join(options[1:])):
            raise Malformed("expected CERTIFICATE.json PROCESS.json [--limit N]")
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
