"""The checker is the trust anchor: it verifies what is true, refuses every lie, and never falls over."""

import ast
import copy
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import pytest
from certify_corpus import CORPUS, documents, paths, verdict
from certify_exhaustive import Exhaustive
from certify_twin import Chain, Twin, chains, loose_models
from hypothesis import given, settings
from hypothesis import strategies as st

from certify import Model, check
from certify.answer import certify
from certify.certificate import certificate_json
from certify.zoo import build

STATUS = {"correct": 0, "incorrect": 1, "malformed": 2}
CASES = [(kind, folder.name) for kind in STATUS for folder in sorted((CORPUS / kind).iterdir()) if folder.is_dir()]

REASONS: dict[str, str] = json.loads((CORPUS / "incorrect" / "reasons.json").read_text(encoding="utf-8"))


# ---- the corpus


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_every_case_has_the_verdict_of_its_folder(kind: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = check.main(paths(kind, name))
    out, err = capsys.readouterr()
    said, silent = (out, err) if kind == "correct" else (err, out)
    assert (status, silent) == (STATUS[kind], "")
    assert said.endswith("\n")
    assert said.count("\n") == 1
    assert said.isascii()
    assert said.startswith({"correct": "verified: R_1", "incorrect": "rejected: ", "malformed": "malformed: "}[kind])
    assert REASONS.get(name, "") in said


def test_every_lie_has_its_reason() -> None:
    assert REASONS.keys() == {name for kind, name in CASES if kind == "incorrect"}


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (paths("correct", "three-histories"), 0),
        (paths("incorrect", "swapped-digest"), 1),
        (paths("malformed", "deep-nesting"), 2),
        (paths("malformed", "binary"), 2),
        ([*paths("correct", "three-histories"), "--limit", "10"], 3),
        ([*paths("correct", "three-histories"), "--limit", "-1"], 2),
        ([*paths("correct", "three-histories"), "--limit"], 2),
        ([*paths("correct", "three-histories"), "--quiet", "10"], 2),
        (paths("correct", "three-histories")[:1], 2),
        ([], 2),
        (["no such file", "nor this"], 2),
        ([str(CORPUS), str(CORPUS)], 2),
        (["nul\0byte", "x"], 2),
    ],
)
def test_the_command_ends_with_one_line_and_its_status(arguments: list[str], status: int) -> None:
    if any("\0" in word for word in arguments):  # no process can be given such a word
        assert check.main(arguments) == status
        return
    done = subprocess.run(
        [sys.executable, "-m", "certify.check", *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == status
    assert (done.stdout + done.stderr).count("\n") == 1
    assert (done.stdout == "") == (status != 0)


# ---- what the file itself promises


def test_it_is_one_small_file_of_the_standard_library() -> None:
    source = Path(str(check.__file__)).read_text(encoding="utf-8")
    assert source.count("\n") <= 700
    modules = set()
    for node in ast.walk(ast.parse(source)):
        modules |= {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
        modules |= {str(node.module)} if isinstance(node, ast.ImportFrom) else set()
    assert {name.split(".")[0] for name in modules} <= sys.stdlib_module_names


def test_running_it_loads_nothing_else_of_the_package() -> None:
    script = f"""
import runpy, sys
sys.argv = ["certify.check", *{paths("correct", "three-histories")!r}]
try:
    runpy.run_module("certify.check", run_name="__main__")
except SystemExit as end:
    assert end.code == 0
print(sorted(name for name in sys.modules if name.partition(".")[0] in ("certify", "numpy")))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "['certify']"


# ---- limits


def test_work_is_limited() -> None:
    certificate, model = documents("three-histories")
    checker = check.Checker(json.dumps(certificate), json.dumps(model), check.LIMIT)
    checker.run()
    used = check.LIMIT - checker.left
    assert verdict(certificate, model, used) == "verified"
    for limit in (0, 1, used // 2, used - 1):
        assert verdict(certificate, model, limit) == "LimitReached"


def test_sizes_are_limited(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(check, "MAX_BYTES", 100)
    assert check.main(paths("correct", "three-histories")) == 3
    assert "larger than 100 bytes" in capsys.readouterr().err


def test_denominators_are_limited() -> None:
    certificate, model = documents("three-histories")
    primes = [p for p in range(2, 20_000) if all(p % q for q in range(2, int(p**0.5) + 1))]
    model["episodes"] = [{**model["episodes"][0], "weight": f"1/{p}"} for p in primes]
    assert verdict(certificate, model) == "LimitReached"


def test_a_hard_proof_is_given_up_and_not_believed() -> None:
    """Two of every end conflict, so one history of each of 25 ends is a compatible set: there are 2^25 of them."""
    rows = [[(f"cue {k:02}", "go"), ("dark", "go"), (f"end {k // 2:02}", f"{k % 2}")] for k in range(50)]
    steps = [[{"obs": o, "action": a, "action_law": {a: "1"}} for o, a in row] for row in rows]
    model = {"horizon": 3, "episodes": [{"weight": "1/50", "steps": row} for row in steps]}
    none, one = ["-0.000000000000001", "0.000000000000001"], ["0.999999999999999", "1.000000000000001"]
    words = [{}, {"dark": [["go", f"end {k:02}", 0] for k in range(25)]}, {f"end {k:02}": [[]] for k in range(25)}]
    single = [[k] for k in range(50)]
    cells = [single, [list(range(0, 50, 2)), list(range(1, 50, 2))], single]
    certificate = {
        "format": "certify-certificate/1",
        "model_sha256": Model.from_episodes(model).digest,
        "horizon": 3,
        "observational": False,
        "steps": [{"t": t + 1, "rate": [none, one, one][t], "cells": cells[t], "words": words[t]} for t in range(3)],
    }
    assert verdict(certificate, model, 300_000) == "LimitReached"


def test_a_long_horizon_is_no_danger() -> None:
    """Nothing recurses over the steps."""
    node = {"obs": "o", "laws": [["1", {"a": "1"}]], "edges": [["a", 0, "1"]]}
    levels = [
        {"nodes": [{**node, "mass": "1"}]},
        *({"nodes": [node]} for _ in range(1998)),
        {"nodes": [{**node, "edges": []}]},
    ]
    model = {"format": "certify-graph/1", "horizon": 2000, "levels": levels}
    certificate = {
        "format": "certify-certificate/1",
        "model_sha256": Model.from_json(json.dumps(model)).digest,
        "horizon": 2000,
        "observational": False,
        "steps": [
            {
                "t": t,
                "rate": ["-0.000000000000001", "0.000000000000001"],
                "cells": [[0]],
                "words": {"o": [["a", "o", 0]]},
            }
            for t in range(1, 2001)
        ],
    }
    assert verdict(certificate, model) == "verified"


# ---- exact numbers


def exact() -> check.Checker:
    certificate, model = documents("three-histories")
    return check.Checker(json.dumps(certificate), json.dumps(model), check.LIMIT)


@given(st.integers(1, 10**40))
def test_logarithms_are_enclosed(number: int) -> None:
    low, high = check.log2_bounds(number)
    assert 0 < high - low <= 4
    with localcontext(prec=120):
        value = Decimal(number).ln() / Decimal(2).ln() * 2**check.BITS
        assert low <= value <= high


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_costs_are_enclosed(mass: int, more: int) -> None:
    low, high = check.cost(mass, mass + more)
    with localcontext(prec=120):
        share = Decimal(mass) / (mass + more)
        assert low <= -share * share.ln() / Decimal(2).ln() * 2**check.BITS <= high


def test_equal_entropies_of_different_masses_are_equal() -> None:
    checker = exact()
    assert checker.compare([4, 4, 4], [8, 1, 1, 1, 1]) == 0
    assert checker.compare([4, 4, 5], [8, 1, 1, 1, 1, 1]) != 0
    assert checker.compare([3] * 4, [6, 6]) == -1
    big = 10**60
    assert checker.compare([big + 1, big - 1], [big, big]) == 1
    assert checker.compare([6 * big, 6 * big], [4 * big, 4 * big, 4 * big]) == 1


@pytest.mark.parametrize(
    ("terms", "ends"),
    [
        ([], ["-0.000000000000001", "0.000000000000001"]),
        ([(Fraction(2), 2)], ["1.999999999999999", "2.000000000000001"]),
        ([(Fraction(-2), 2)], ["-2.000000000000001", "-1.999999999999999"]),
        ([(Fraction(1), 3), (Fraction(-2, 3), 2)], ["0.918295834054489", "0.918295834054490"]),
        ([(Fraction(1, 10**15), 2)], ["0.000000000000000", "0.000000000000002"]),
        ([(Fraction(1, 10**29), 2)], ["0.000000000000000", "0.000000000000001"]),
        ([(Fraction(1, 10**31), 2)], ["-0.000000000000001", "0.000000000000001"]),
    ],
)
def test_intervals_are_rounded_outward(terms: list[tuple[Fraction, int]], ends: list[str]) -> None:
    assert exact().interval(terms) == ends


# ---- what the solver writes is verified


@pytest.mark.parametrize("name", ["signpost-corridor", "cue-corridor", "passive-t-maze", "modulo-counter"])
def test_the_zoo_is_verified(name: str) -> None:
    model = build(name, **({"W": 3} if name == "signpost-corridor" else {}))
    answer = certify(model)
    claims = check.check(certificate_json(answer), model.to_json())
    steps = [claim.split()[0].removeprefix("R_").split("..") for claim in claims if claim.startswith("R_")]
    assert [t for ends in steps for t in range(int(ends[0]), int(ends[-1]) + 1)] == list(range(1, model.horizon + 1))


def test_random_models_are_verified_and_the_claims_are_true() -> None:
    joint = set()
    for document, twin in loose_models(5, 60):
        certificate = json.loads(certificate_json(certify(Model.from_episodes(document))))
        assert verdict(certificate, document) == "verified"
        assert truthful(certificate, certificate, twin, Exhaustive(twin))
        joint.add(certificate.get("simultaneous"))
    assert True in joint


@settings(max_examples=30)
@given(chains())
def test_merged_graphs_are_verified(chain: Chain) -> None:
    model = chain.model()
    assert verdict(json.loads(certificate_json(certify(model))), json.loads(model.to_json())) == "verified"


def test_worse_cells_are_never_a_rate() -> None:
    """Every compatible partition that is not the best, with its own entropy as the rate and all words, is refused."""
    tried = 0
    for document, twin in loose_models(11, 12):
        honest = json.loads(certificate_json(certify(Model.from_episodes(document))))
        for key in ("machine", "simultaneous", "joint_sum", "codes"):
            honest.pop(key, None)
        checker = check.Checker(json.dumps(honest), json.dumps(document), check.LIMIT)
        slow = Exhaustive(twin)
        for t, best in enumerate(slow.colouring_minima()):
            number = {history: k for k, history in enumerate(sorted(twin.levels[t]))}
            for partition, cost in list(zip(slow.partitions[t], slow.costs[t], strict=True))[:40]:
                cells = sorted(sorted(number[history] for history in cell) for cell in partition)
                lie = copy.deepcopy(honest)
                lie["steps"][t].update(cells=cells, rate=checker.interval(checker.entropy(t, cells)))
                assert verdict(lie, document) == ("verified" if cost == best else "Rejected")
                tried += cost != best
    assert tried >= 100


def test_cells_that_are_nearly_best_are_no_rate() -> None:
    """The middle history joins the lighter neighbour: a millionth of a bit too much, with the best prices."""
    _, model = documents("three-histories")
    for episode, weight in zip(model["episodes"], (10**6, 10**6, 2, 10**6 + 1, 10**6 + 1), strict=True):
        episode["weight"] = str(Fraction(weight, 4 * 10**6 + 4))
    honest = json.loads(certificate_json(certify(Model.from_episodes(model))))
    assert honest["steps"][1]["cells"] == [[0], [1, 2]]
    assert verdict(honest, model) == "verified"
    lie = {key: honest[key] for key in ("format", "model_sha256", "horizon", "observational", "steps")}
    checker = check.Checker(json.dumps(lie), json.dumps(model), check.LIMIT)
    lie["steps"][1].update(cells=[[0, 1], [2]], rate=checker.interval(checker.entropy(1, [[0, 1], [2]])))
    assert verdict(lie, model) == "Rejected"


@pytest.mark.parametrize(("seed", "position"), [(0, 14), (2, 33), (9, 8), (11, 28)])
def test_of_all_closed_machines_only_the_best_is_accepted(seed: int, position: int) -> None:
    """Models whose minima no machine attains together: every closed assignment is tried, with its own sum."""
    document, twin = list(loose_models(seed, position + 1, 5))[-1]
    slow = Exhaustive(twin)
    assert not slow.simultaneous()
    certificate = json.loads(certificate_json(certify(Model.from_episodes(document))))
    certificate.pop("codes")
    checker = check.Checker(json.dumps(certificate), json.dumps(document), check.LIMIT)
    best = slow.best(lambda t, cost, rest: cost * (1 if rest is None else rest))
    number = [{history: k for k, history in enumerate(sorted(level))} for level in twin.levels]
    verdicts = set()
    for route in _routes(slow):
        partitions = [slow.partitions[t][k] for t, k in enumerate(route)]
        machine = [sorted(sorted(number[t][h] for h in c) for c in cells) for t, cells in enumerate(partitions)]
        terms = [term for t, cells in enumerate(machine) for term in checker.entropy(t, cells)]
        cost = prod(slow.costs[t][k] for t, k in enumerate(route))
        said = verdict({**certificate, "machine": machine, "joint_sum": checker.interval(terms)}, document)
        assert said == ("verified" if cost == best else "Rejected")
        verdicts.add(said)
    assert verdicts == {"verified", "Rejected"}


def _routes(slow: Exhaustive) -> Iterator[list[int]]:
    """Every closed assignment, as the number of its partition at each step."""
    routes = [[k] for k in range(len(slow.partitions[0]))]
    for following in slow.following:
        routes = [[*route, k] for route in routes for k in following[route[-1]]]
    yield from routes


def test_on_a_merged_graph_a_machine_that_misses_the_rates_is_left_undecided() -> None:
    """Splitting a node by its past might help: only a tree of histories is searched."""
    law = [["1", {"a": "1"}]]
    first = [{"obs": o, "laws": law, "edges": [["a", k, "1"]], "mass": "1/2"} for k, o in enumerate("xy")]
    middle = [{"obs": "d", "laws": law, "edges": [["a", 0, "1"]]} for _ in range(2)]
    levels = [{"nodes": nodes} for nodes in (first, middle, [{"obs": "e", "laws": law, "edges": []}])]
    model = {"format": "certify-graph/1", "horizon": 3, "levels": levels}
    certificate = json.loads(certificate_json(certify(Model.from_json(json.dumps(model)))))
    assert certificate["machine"][1] == [[0, 1]]
    assert verdict(certificate, model) == "verified"
    split = {"machine": [[[0], [1]], [[0], [1]], [[0]]], "joint_sum": ["0.999999999999999", "1.000000000000001"]}
    assert verdict({**certificate, **split, "simultaneous": False}, model) == "LimitReached"


# ---- mutations
#
# A mutant may be accepted only if everything it says is still true, decided from the model's definitions by the literal
# twin: rates are the minima over all partitions into compatible cells, every partition shown is made of pairwise
# compatible histories, machines are closed, joint claims are those of an exhaustive search, labels and cliques satisfy
# the definitions. Words and prices are hints; they say nothing of their own, and a mutant with other hints that still
# prove the same claims (one more word, say) is a certificate like any other. Leaving out an optional claim is no lie.

BASES = (
    "three-histories",
    "no-single-machine",
    "one-cue-by-hand",
    "re-reveal-t0",
    "stochastic-expert",
    "lost-cue",
    "bracket",
    "bracket-with-simple-prices",
)
MUTANTS_PER_BASE = 100


@pytest.mark.parametrize("name", BASES)
def test_no_mutant_that_lies_is_accepted(name: str) -> None:
    certificate, model = documents(name)
    twin = Twin(model)
    slow = Exhaustive(twin)
    assert truthful(certificate, certificate, twin, slow)
    refused = 0
    for mutant in mutants(certificate, random.Random(name), MUTANTS_PER_BASE):
        if verdict(mutant, model) == "verified":
            assert truthful(mutant, certificate, twin, slow), mutant
        else:
            refused += 1
    assert refused >= 0.8 * MUTANTS_PER_BASE  # most mutations hit a claim


@pytest.mark.parametrize("name", ["three-histories", "lost-cue", "running-parity-short"])
def test_no_mutant_of_the_model_is_accepted_unless_it_is_the_same_model(name: str) -> None:
    certificate, model = documents(name)
    for mutant in mutants(model, random.Random(name), 60):
        if verdict(certificate, mutant) == "verified":
            assert Model.from_json(json.dumps(mutant)).digest == certificate["model_sha256"]


def mutants(document: Any, rng: random.Random, count: int) -> Iterator[Any]:
    """Copies with one field changed."""
    while count:
        mutant = copy.deepcopy(document)
        fields = list(_places(mutant))
        container, key = rng.choice(fields)
        _mutate(container, key, [box[at] for box, at in fields], rng)
        if json.dumps(mutant) != json.dumps(document):
            count -= 1
            yield mutant


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def _mutate(container: Any, key: Any, values: list[Any], rng: random.Random) -> None:
    """Change a number, a character or a truth value; drop, double, swap, move or borrow an element."""
    value = container[key]
    if rng.random() < 0.5 and type(value) in (int, str, bool):
        container[key] = _scalar(value, rng)
    elif isinstance(container, dict):
        match rng.randrange(3):
            case 0:
                del container[key]
            case 1:
                container[f"{key}s"] = container.pop(key)
            case _:
                container[key] = copy.deepcopy(rng.choice(values))
    else:
        other = rng.randrange(len(container))
        match rng.randrange(6):
            case 0:
                del container[key]
            case 1:
                container.insert(other, copy.deepcopy(value))
            case 2:
                container[key], container[other] = container[other], container[key]
            case 3:
                container[key] = copy.deepcopy(rng.choice(values))
            case 4 if isinstance(value, list) and isinstance(container[other], list) and value:
                container[other].append(value.pop(rng.randrange(len(value))))
                container[other].sort(key=repr)
            case _:
                container.reverse()


def _scalar(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return rng.choice((not value, int(value)))
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, rng.randrange(5), value + 0.5, str(value), 10**30, bool(value)))
    position = rng.randrange(len(value) + 1)
    return value[:position] + rng.choice("0123456789/-.eaf ") + value[position + rng.randrange(2) :]


def truthful(claims: dict[str, Any], honest: dict[str, Any], twin: Twin, slow: Exhaustive) -> bool:
    """Whether everything that a certificate says is true of the model; `honest` is a true certificate of it."""
    facts = ("format", "model_sha256", "horizon", "observational")
    if any(claims[key] != honest[key] for key in facts) or len(claims["steps"]) != twin.horizon:
        return False
    return (
        all(_true_step(t, claims["steps"][t], honest["steps"][t], twin, slow) for t in range(twin.horizon))
        and ("machine" not in claims or _true_machine(claims, honest, twin, slow))
        and all(
            code["count"] == honest["codes"][kind]["count"] and _true_code(code, kind == "stationary", twin)
            for kind, code in claims.get("codes", {}).items()
        )
    )


def _cells(t: int, cells: list[list[int]], twin: Twin) -> Any:
    """The numbered cells as a partition of histories; None if they are none, or not compatible."""
    histories = sorted(twin.levels[t])
    if sorted(k for cell in cells for k in cell) != list(range(len(histories))):
        return None
    pairs = [(histories[h], histories[k]) for cell in cells for h, k in combinations(cell, 2)]
    named = tuple(tuple(histories[k] for k in cell) for cell in cells)
    return named if all(pair in twin.compatible[t] for pair in pairs) else None


def _true_step(t: int, step: dict[str, Any], honest: dict[str, Any], twin: Twin, slow: Exhaustive) -> bool:
    partition = _cells(t, step["cells"], twin)
    if step["t"] != t + 1 or partition is None:
        return False
    cost, best = slow._cost(t, partition), slow.colouring_minima()[t]
    if "rate" in step:
        return cost == best and step["rate"] == honest.get("rate", honest.get("upper"))
    (low, _), (below, above) = step["lower"], step["upper"]
    doubt = 1e-12  # of the slow twin's logarithms
    return float(low) <= slow.bits(best) + doubt and float(below) - doubt <= slow.bits(cost) <= float(above) + doubt


def _true_machine(claims: dict[str, Any], honest: dict[str, Any], twin: Twin, slow: Exhaustive) -> bool:
    partitions = [_cells(t, cells, twin) for t, cells in enumerate(claims["machine"])]
    if len(partitions) != twin.horizon or None in partitions:
        return False
    forced = [slow._forced(t, partition) for t, partition in enumerate(partitions)]
    closed = all(forced[t] <= slow._together(partitions[t + 1]) for t in range(twin.horizon - 1))
    bits = sum(slow.bits(slow._cost(t, partition)) for t, partition in enumerate(partitions))
    low, high = map(float, honest["joint_sum"])
    best = abs(bits - slow.least_sum()) < 1e-12 and low - 1e-12 <= bits <= high + 1e-12
    joint_sum, simultaneous = (
        claims.get("joint_sum", honest["joint_sum"]),
        claims.get("simultaneous", honest["simultaneous"]),
    )
    return closed and best and joint_sum == honest["joint_sum"] and simultaneous is slow.simultaneous()


def _true_code(code: dict[str, Any], stationary: bool, twin: Twin) -> bool:
    label = {
        (t, history): code["labels"][t][k]
        for t in range(twin.horizon)
        for k, history in enumerate(sorted(twin.levels[t]))
    }
    for (t, h), (s, k) in combinations(label, 2):
        if label[t, h] == label[s, k] and (stationary or t == s):
            if h[-1] == k[-1] and twin.levels[t][h].law != twin.levels[s][k].law:
                return False
            for u in twin.levels[t][h].support & twin.levels[s][k].support:
                if label[t + 1, (*h, *u)] != label[s + 1, (*k, *u)]:
                    return False
    members = [(t - 1, sorted(twin.levels[t - 1])[k]) for t, k in code["clique"]]
    same_step = stationary or len({t for t, _ in members}) == 1
    sizes = max(label.values()) < code["count"] == len(members)
    return sizes and same_step and all(_apart(twin, *pair) for pair in combinations(members, 2))


def _apart(twin: Twin, first: tuple[int, Any], second: tuple[int, Any]) -> bool:
    """Whether two histories, perhaps of different steps, cannot share a label."""
    (t, h), (s, k) = first, second
    ours, theirs = twin.levels[t][h], twin.levels[s][k]
    if h[-1] == k[-1] and ours.law != theirs.law:
        return True
    return any(_apart(twin, (t + 1, (*h, *u)), (s + 1, (*k, *u))) for u in ours.support & theirs.support)
