"""The checker for every horizon: its corpus, attacks by mutation, and its command line."""

import ast
import copy
import json
import random
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, integers
from posterior_processes import PROCESSES, WITH_COLUMNS, drifting, random_rounds
from stationary_corpus import FOLDER, QUICK, correct
from stationary_twin import random_process

from certify.check_stationary import LimitReached, Malformed, Rejected, check, main
from certify.errors import UserError
from certify.stationary.answer import StationaryAnswer, certify_forever
from certify.stationary.certificate import certificate
from certify.stationary.machine import StationaryMachine, right_for_ever
from certify.stationary.zoo import build

SOURCE = Path(__file__).parents[2] / "src" / "certify" / "check_stationary.py"
CASES = {verdict: sorted((FOLDER / verdict).iterdir()) for verdict in ("correct", "incorrect", "malformed")}
STATUS = {"correct": 0, "incorrect": 1, "malformed": 2}


def texts(folder: Path) -> tuple[str, str]:
    return (folder / "certificate.json").read_text("utf-8"), (folder / "process.json").read_text("utf-8")


def test_the_corpus_is_large_enough():
    assert len(CASES["correct"]) >= 100
    assert len(CASES["incorrect"]) + len(CASES["malformed"]) >= 200
    grains = Counter(json.loads(texts(folder)[0])["grain"] for folder in CASES["correct"])
    assert grains["posteriors"] >= 15
    assert grains["windows"] >= 5


def test_correct_certificates_are_verified():
    for folder in CASES["correct"]:
        assert check(*texts(folder)), folder.name


def test_lies_are_rejected():
    for folder in CASES["incorrect"]:
        with pytest.raises(Rejected):
            check(*texts(folder))


def test_what_is_not_a_certificate_is_malformed():
    for folder in CASES["malformed"]:
        with pytest.raises(Malformed):
            check(*texts(folder))


def test_the_corpus_is_what_the_writer_writes():
    for name, process, claims in correct():
        text = json.dumps(claims, ensure_ascii=False, separators=(",", ":")) + "\n"
        assert texts(FOLDER / "correct" / name) == (text, process.to_json()), name


@pytest.mark.parametrize("verdict", CASES)
def test_the_command_line_says_why(verdict: str, capsys: pytest.CaptureFixture[str]):
    folder = CASES[verdict][0]
    assert main([str(folder / "certificate.json"), str(folder / "process.json")]) == STATUS[verdict]
    out, err = capsys.readouterr()
    assert len((out + err).splitlines()) == 1
    assert (out if verdict == "correct" else err).startswith(
        {"correct": "verified: ", "incorrect": "rejected: ", "malformed": "malformed: "}[verdict]
    )


def test_bad_arguments_and_small_limits(capsys: pytest.CaptureFixture[str]):
    folder = CASES["correct"][0]
    paths = [str(folder / "certificate.json"), str(folder / "process.json")]
    assert main(paths[:1]) == 2
    assert main([*paths, "--limit", "x"]) == 2
    assert main(["nowhere.json", "nothing.json"]) == 2
    assert main([*paths, "--limit", "10"]) == 3
    assert "limit reached" in capsys.readouterr().err
    with pytest.raises(LimitReached):
        check(*texts(folder), 100)


def test_numbers_without_end_reach_the_limit():
    """Denominators that have nothing in common would grow for ever."""
    primes = [p for p in range(2, 60_000) if all(p % q for q in range(2, int(p**0.5) + 1))]
    law = {f"a{p}": f"1/{p}" for p in primes}
    process = {"format": "certify-process/1", "states": [{"obs": "o", "law": law}], "start": [[0, "1"]]}
    claims = {"format": "certify-certificate/2", "process_sha256": "0" * 64, "grain": "supports"}
    with pytest.raises(LimitReached):
        check(json.dumps(claims), json.dumps(process))


def test_a_machine_with_countless_codes_costs_nothing():
    process = build("counter")
    claims = certificate(certify_forever(process, QUICK))
    claims["machine"]["codes"] = 999_999_999
    tracemalloc.start()
    check(json.dumps(claims), process.to_json())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


def test_posteriors_that_repeat_only_in_what_they_predict():
    process = drifting()
    answer = certify_forever(process, QUICK)
    assert answer.regime == 2
    claims = certificate(answer)
    assert claims["columns"], "the plain posteriors never repeat"
    assert check(json.dumps(claims), process.to_json())
    with pytest.raises(LimitReached):
        check(json.dumps({key: value for key, value in claims.items() if key != "columns"}), process.to_json(), 10**5)
    for lie in ([[1] * process.size], [], [[0, 0, 1, 1], [1, 0, 0, 0]]):
        with pytest.raises(Rejected, match="columns"):
            check(json.dumps(claims | {"columns": lie}), process.to_json())
    for broken in ([[1]], "none", [["x"] * process.size]):
        with pytest.raises(Malformed):
            check(json.dumps(claims | {"columns": broken}), process.to_json())
    with pytest.raises(Malformed, match="grain posteriors"):
        check(json.dumps(claims | {"grain": "supports"}), process.to_json())


@pytest.mark.parametrize("name", PROCESSES)
def test_posteriors_that_repeat_are_certified(name: str):
    """Structurally different worlds of the second regime: exact, verified, and refused as supports."""
    process = PROCESSES[name]()
    answer = certify_forever(process, QUICK)
    assert answer.regime == 2
    assert answer.certified
    claims = certificate(answer)
    assert claims["grain"] == "posteriors"
    assert ("columns" in claims) == (name in WITH_COLUMNS)
    said = check(json.dumps(claims), process.to_json())
    assert any("the long run requires bits" in line for line in said)
    plain = {key: value for key, value in claims.items() if key != "columns"}
    with pytest.raises(Rejected, match="two laws"):
        check(json.dumps(plain | {"grain": "supports"}), process.to_json())


@settings(max_examples=20)
@given(seed=integers(0, 10**9), drift=booleans(), chance=integers(0, 10**9))
def test_random_posteriors_that_repeat_are_certified(seed: int, drift: bool, chance: int):
    process = random_rounds(seed, drift)
    answer = certify_forever(process, QUICK)
    assert answer.regime == 2
    original = certificate(answer)
    assert check(json.dumps(original), process.to_json())
    rng = random.Random(chance)
    for _ in range(3):
        claims = mutated(original, rng)
        try:
            check(json.dumps(claims), process.to_json(), 50_000)
        except (Rejected, Malformed, LimitReached):
            continue
        assert true_claims(claims, answer, original), claims


def test_the_checker_stands_alone():
    tree = ast.parse(SOURCE.read_text("utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} == {
        *("collections", "decimal", "fractions", "hashlib", "json", "math", "re", "sys", "typing")
    }
    assert len(SOURCE.read_text("utf-8").splitlines()) <= 760


def json_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every leaf of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = [inner_path for key, item in items for inner_path in json_paths(item, (*path, key))]
    return inner or [path]


def mutated(document: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """One leaf changed, dropped, doubled or exchanged with another."""
    result = copy.deepcopy(document)
    path = rng.choice([option for option in json_paths(result) if option])
    holder: Any = result
    for key in path[:-1]:
        holder = holder[key]
    value = holder[path[-1]]
    kind = rng.randrange(4)
    if kind == 0 and isinstance(value, int) and not isinstance(value, bool):
        holder[path[-1]] = max(0, value + rng.choice([-1, 1]))
    elif kind == 1 and isinstance(value, str):
        other = rng.choice([option for option in json_paths(result) if option])
        source: Any = result
        for key in other:
            source = source[key]
        holder[path[-1]] = source
    elif kind == 2 and isinstance(holder, list):
        holder.pop(path[-1])
    elif isinstance(holder, list):
        holder.insert(path[-1], copy.deepcopy(rng.choice(holder)))
    else:
        del holder[path[-1]]
    return result


def true_claims(claims: dict[str, Any], answer: StationaryAnswer, original: dict[str, Any]) -> bool:
    """Whether every claim that a certificate still makes is true."""
    for key in ("rate", "process_sha256"):
        if key in claims and claims[key] != original.get(key):
            return False
    floor: list[str] = original.get("lower") or original.get("rate") or ["0", "0"]
    if "lower" in claims and float(claims["lower"][0]) > float(floor[1]):
        return False
    if "upper" in claims and float(claims["upper"][1]) < float(floor[0]):
        return False
    if claims.get("codes", {}).get("count", answer.codes and answer.codes.low) != (answer.codes and answer.codes.low):
        return False
    machine = claims.get("machine")
    if machine is not None:
        moves = {tuple(row[:3]): row[3] for row in machine["moves"]}
        laws: dict[tuple[str, int], Any] = {}
        observer = answer.relation.observer
        waiting = [(node, machine["first"][observer.observations[o]]) for o, node in observer.first.items()]
        seen = set(waiting)
        for node, code in waiting:
            shown = observer.observations[observer.observation[node]]
            laws[shown, code] = {observer.actions[a]: p for a, p in observer.laws[observer.law[node]]}
            for label, target in observer.moves[node].items():
                pair = (target, moves[(code, *observer.words(label))])
                if pair not in seen:
                    seen.add(pair)
                    waiting.append(pair)
        if not right_for_ever(StationaryMachine(machine["codes"], machine["first"], moves, laws), answer.process).right:
            return False
    claimed = {(claim["actions"], claim.get("k")) for claim in original.get("frames", [])}
    return all((claim["actions"], claim.get("k")) in claimed for claim in claims.get("frames", []))


@pytest.mark.parametrize("block", range(4))
def test_no_mutation_that_asserts_something_false_is_accepted(block: int):
    accepted = refused = 0
    for seed in range(block * 15, (block + 1) * 15):
        process = random_process(seed, privileged=seed % 4 == 3)
        answer = certify_forever(process, QUICK)
        try:
            original = certificate(answer)
        except UserError:
            continue
        rng = random.Random(seed)
        for _ in range(40):
            claims = mutated(original, rng)
            try:
                check(json.dumps(claims), process.to_json(), 10_000_000)
            except (Rejected, Malformed, LimitReached):
                refused += 1
            else:
                accepted += 1
                assert true_claims(claims, answer, original), claims
    assert refused > 3 * accepted
