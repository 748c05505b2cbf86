"""Writes tests/certificates_stationary: ``PYTHONPATH=src:tests python tests/stationary_corpus.py``.

Correct certificates come from the writer; every incorrect one is a correct one with a single lie, which the name says.
"""

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from posterior_processes import PROCESSES, random_rounds
from stationary_twin import random_process

from certify.errors import UserError
from certify.stationary.answer import Effort, certify_forever
from certify.stationary.certificate import certificate
from certify.stationary.machine import StationaryMachine, right_for_ever
from certify.stationary.process import Process
from certify.stationary.zoo import TASKS, build

FOLDER = Path(__file__).parent / "certificates_stationary"
QUICK = Effort(horizon=0, posteriors=100, window=0, steps=1, seconds=0.0)
Document = dict[str, Any]
PARAMETERS: dict[str, list[dict[str, int]]] = {
    "counter": [{"modulus": 3}, {"modulus": 5}],
    "n-back": [{"lag": 1}, {"lag": 3}],
    "delayed-cue": [{"mean": 3}, {"cues": 3, "mean": 7}],
    "blinker": [{"period": 4}],
    "tiger": [{"lead": 3}],
}
LATER = ("memory-chain", "signpost-corridor")  # at the end, so that the lies about the others stay theirs
NUMBER_OF_RANDOM = 90
WINDOWED = Effort(horizon=0, posteriors=1, window=3, steps=1, seconds=0.0)
OF_WINDOWS = (284, 302, 317, 347, 350, 356, 362, 386)  # seeds of processes whose law some last labels fix


def sources() -> Iterator[tuple[str, Process]]:
    for task in TASKS:
        for parameters in PARAMETERS.get(task, [{}]) if task not in LATER else ():
            yield "-".join([task, *(f"{key}-{value}" for key, value in parameters.items())]), build(task, **parameters)
    for seed in range(NUMBER_OF_RANDOM):
        yield f"random-{seed}", random_process(seed, privileged=seed % 3 == 2)
    for task in LATER:
        yield task, build(task)


def correct() -> Iterator[tuple[str, Process, Document]]:
    for name, process in sources():
        answer = certify_forever(process, QUICK)
        try:
            yield name, process, certificate(answer)
        except UserError:  # a bracket: nothing to certify
            continue
    for seed in OF_WINDOWS:
        process = random_process(seed, privileged=True)
        yield f"windows-{seed}", process, certificate(certify_forever(process, WINDOWED))
    posteriors = {name: make() for name, make in PROCESSES.items()}
    posteriors |= {f"rounds-{seed}": random_rounds(seed, drift=seed % 2 == 1) for seed in range(8)}
    for name, process in posteriors.items():
        yield f"posteriors-{name}", process, certificate(certify_forever(process, QUICK))


def _shifted(value: list[str], by: int) -> list[str]:
    return [str(Fraction(end) + Fraction(by, 1000)) for end in value]


def _decimal(value: list[str]) -> list[str]:
    return [f"{float(Fraction(end)):.15f}" for end in value]


def more_bits(claims: Document) -> bool:
    key = "rate" if "rate" in claims else "lower"
    if key in claims:
        claims[key] = _decimal(_shifted(claims[key], 1))
    return key in claims


def fewer_bits(claims: Document) -> bool:
    key = "rate" if "rate" in claims else "upper"
    if key in claims:
        claims[key] = _decimal(_shifted(claims[key], -1))
    return key in claims


def no_words(claims: Document) -> bool:
    claims["words"] = []
    return float(claims.get("rate", ["0"])[0]) > 0


def mean_moved(claims: Document) -> bool:
    rows = claims.get("long_run", [])
    if len(rows) < 2 or rows[0][2] == rows[1][2]:
        return False
    rows[0][2], rows[1][2] = rows[1][2], rows[0][2]
    return True


def no_potential(claims: Document) -> bool:
    rows = claims.get("long_run", [])
    started_elsewhere = any(row[3] != "0" for row in rows)
    for row in rows:
        row[3] = "0"  # as if the start were the mean already
    return started_elsewhere


def row_missing(claims: Document) -> bool:
    rows = claims.get("long_run", [])
    return bool(rows) and rows.pop() is not None


def another_process(claims: Document) -> bool:
    claims["process_sha256"] = "0" * 64
    return True


def clique_of_one_history(claims: Document) -> bool:
    clique = claims.get("codes", {}).get("clique", [])
    if len(clique) < 2:
        return False
    clique[0] = clique[1]
    return True


def fewer_codes(claims: Document) -> bool:
    codes = claims.get("codes", {})
    if codes.get("count", 0) < 2:
        return False
    codes["count"] -= 1
    codes["clique"].pop()
    return True


def clique_of_an_impossible_history(claims: Document) -> bool:
    clique = claims.get("codes", {}).get("clique", [])
    if clique:
        clique[0] = [*clique[0], "nothing", "nowhere"]
    return bool(clique)


def one_frame_less(claims: Document) -> bool:
    for claim in claims.get("frames", []):
        if claim.get("k", 0) > 0:
            claim["k"] -= 1
            return True
    return False


def one_frame_more(claims: Document) -> bool:
    for claim in claims.get("frames", []):
        if "k" in claim:
            claim["k"] += 1
            return True
    return False


def loop_of_one_history(claims: Document) -> bool:
    for claim in claims.get("frames", []):
        if "loop" in claim:
            claim["loop"] = {key: [value[0], value[0]] for key, value in claim["loop"].items()}
            return True
    return False


def frames_where_none_suffice(claims: Document) -> bool:
    for claim in claims.get("frames", []):
        if claim.pop("loop", None):
            claim["k"] = 3
            return True
    return False


def shorter_window(claims: Document) -> bool:
    if claims.get("window", 0) < 1:
        return False
    claims["window"] -= 1
    return True


def supports_for_windows(claims: Document) -> bool:
    claims["grain"] = "supports"
    return claims.pop("window", None) is not None


def supports_for_posteriors(claims: Document) -> bool:
    posteriors = claims["grain"] == "posteriors"
    claims["grain"] = "supports"
    claims.pop("columns", None)
    return posteriors


def fewer_columns(claims: Document) -> bool:
    columns = claims.get("columns", [])
    return bool(columns) and columns.pop() is not None


def columns_of_nothing(claims: Document) -> bool:
    columns = claims.get("columns", [])
    claims["columns"] = [[0] * len(column) for column in columns]
    return bool(columns)


def nothing(claims: Document) -> bool:
    for key in set(claims) - {"format", "process_sha256", "grain", "window", "columns"}:
        del claims[key]
    return True


LIES: list[Callable[[Document], bool]] = [
    more_bits,
    fewer_bits,
    no_words,
    mean_moved,
    no_potential,
    row_missing,
    another_process,
    clique_of_one_history,
    fewer_codes,
    clique_of_an_impossible_history,
    one_frame_less,
    one_frame_more,
    loop_of_one_history,
    frames_where_none_suffice,
    nothing,
    shorter_window,
    supports_for_windows,
]
OF_POSTERIORS = [supports_for_posteriors, fewer_columns, columns_of_nothing]


def wrong_moves(process: Process, claims: Document) -> Iterator[Document]:
    """Machines with one move redirected, as far as they are wrong."""
    machine = claims["machine"]
    laws = {}
    for k in range(min(3, len(machine["moves"]))):
        for other in range(machine["codes"]):
            changed = copy.deepcopy(claims)
            changed["machine"]["moves"][k][3] = other
            moves = {tuple(row[:3]): row[3] for row in changed["machine"]["moves"]}
            laws = laws or _laws(process, machine)
            if not right_for_ever(StationaryMachine(machine["codes"], machine["first"], moves, laws), process).right:
                yield changed
                break


def _laws(process: Process, machine: Document) -> dict[tuple[str, int], dict[str, Fraction]]:
    """What each (observation, code) of a correct machine plays."""
    answer = certify_forever(process, QUICK)
    observer = answer.relation.observer
    moves = {tuple(row[:3]): row[3] for row in machine["moves"]}
    waiting = [(node, machine["first"][observer.observations[o]]) for o, node in observer.first.items()]
    seen, laws = set(waiting), {}
    for node, code in waiting:
        shown = observer.observations[observer.observation[node]]
        laws[shown, code] = {observer.actions[a]: p for a, p in observer.laws[observer.law[node]]}
        for label, target in observer.moves[node].items():
            pair = (target, moves[(code, *observer.words(label))])
            if pair not in seen:
                seen.add(pair)
                waiting.append(pair)
    return laws


def incorrect() -> Iterator[tuple[str, Process, Document]]:
    for number, (name, process, claims) in enumerate(correct()):
        posteriors = name.startswith("posteriors-")
        for k, lie in enumerate([*LIES, *OF_POSTERIORS] if posteriors else LIES):
            changed = copy.deepcopy(claims)
            if ((number + k) % 4 == 0 or "window" in claims or posteriors) and lie(changed):
                yield f"{lie.__name__.replace('_', '-')}-{name}", process, changed
        if number % 5 == 0 or posteriors:
            for k, changed in enumerate(wrong_moves(process, claims)):
                yield f"wrong-move-{k}-{name}", process, changed


def malformed() -> Iterator[tuple[str, str, str]]:
    process = build("repeated-cues")
    claims = certificate(certify_forever(process, QUICK))
    good = process.to_json()

    def edited(**changes: Any) -> str:
        return json.dumps({**claims, **changes})

    texts = {
        "not-json": "{",
        "a-list": "[]",
        "empty": "",
        "repeated-key": '{"format": "certify-certificate/2", "format": "certify-certificate/2"}',
        "unknown-key": edited(extra=1),
        "another-format": edited(format="certify-certificate/1"),
        "grain-of-sand": edited(grain="sand"),
        "window-of-supports": edited(window=1),
        "windows-without-length": edited(grain="windows"),
        "window-as-text": edited(grain="windows", window="1"),
        "columns-of-supports": edited(columns=[[1] * process.size]),
        "columns-too-short": edited(grain="posteriors", columns=[[1]]),
        "columns-as-text": edited(grain="posteriors", columns="none"),
        "columns-of-text": edited(grain="posteriors", columns=[["x"] * process.size]),
        "rate-as-number": edited(rate=[1, 2]),
        "rate-of-three": edited(rate=["0.000000000000001"] * 3),
        "rate-and-lower": edited(lower=claims["rate"]),
        "no-words": json.dumps({key: value for key, value in claims.items() if key != "words"}),
        "no-machine": json.dumps({key: value for key, value in claims.items() if key != "machine"}),
        "no-rate": json.dumps({key: value for key, value in claims.items() if key != "rate"}),
        "no-long-run": json.dumps({k: v for k, v in claims.items() if k not in ("long_run", "words")}),
        "word-of-two": edited(words=[[], ["walk", "ask"]]),
        "word-of-the-future": edited(words=[["walk", "ask", 0]]),
        "words-as-text": edited(words="[]"),
        "negative-code": edited(machine={**claims["machine"], "codes": -1}),
        "code-as-text": edited(machine={**claims["machine"], "codes": "6"}),
        "code-as-boolean": edited(machine={**claims["machine"], "codes": True}),
        "move-of-three": edited(machine={**claims["machine"], "moves": [[0, "walk", "ask"]]}),
        "move-given-twice": edited(machine={**claims["machine"], "moves": claims["machine"]["moves"] * 2}),
        "row-given-twice": edited(long_run=[*claims["long_run"], claims["long_run"][0]]),
        "mean-as-float": edited(long_run=[[0, 0, "1e5", "0"]]),
        "mean-over-zero": edited(long_run=[[0, 0, "1/0", "0"]]),
        "frames-of-both-kinds": edited(frames=[{"actions": True, "k": 1, "loop": {}}]),
        "frames-of-neither-kind": edited(frames=[{"actions": True}]),
        "frames-without-actions": edited(frames=[{"k": 1}]),
        "even-history": edited(codes={**claims["codes"], "clique": [["cue0", "walk"]]}),
        "nested": "[" * 100_000,
    }
    for name, text in texts.items():
        yield name, text, good
    document = json.loads(good)
    processes = {
        "process-not-json": "]",
        "process-of-another-format": json.dumps({**document, "format": "certify-model/1"}),
        "process-without-states": json.dumps({**document, "states": []}),
        "process-start-below-one": json.dumps({**document, "start": [[0, "1/2"]]}),
        "process-start-nowhere": json.dumps({**document, "start": [[99, "1"]]}),
        "process-with-unknown-key": json.dumps({**document, "horizon": 3}),
        "process-of-negative-law": json.dumps({**document, "states": [{"obs": "o", "law": {"a": "-1", "b": "2"}}]}),
        "process-moves-off-law": json.dumps(
            {**document, "states": [{"obs": "o", "law": {"a": "1"}, "moves": {"b": [[0, "1"]]}}], "start": [[0, "1"]]}
        ),
    }
    for name, text in processes.items():
        yield name, json.dumps(claims), text


def write() -> None:
    for verdict in ("correct", "incorrect", "malformed"):
        shutil.rmtree(FOLDER / verdict, ignore_errors=True)
    for verdict, cases in (("correct", correct()), ("incorrect", incorrect())):
        for name, process, claims in cases:
            text = json.dumps(claims, ensure_ascii=False, separators=(",", ":"))
            _case(verdict, name, text + "\n", process.to_json())
    for name, text, process in malformed():
        _case("malformed", name, text, process)


def _case(verdict: str, name: str, certificate_text: str, process_text: str) -> None:
    folder = FOLDER / verdict / name
    folder.mkdir(parents=True)
    (folder / "certificate.json").write_text(certificate_text, encoding="utf-8")
    (folder / "process.json").write_text(process_text, encoding="utf-8")


if __name__ == "__main__":
    write()
