"""Exports: other programs can read them, and they say what the machine says."""

import json
import re
from fractions import Fraction
from xml.etree import ElementTree

import pytest

from certify import Model
from certify.core.relations import compatibility
from certify.machines.exports import EXPORTS, law_text, to_dot, to_json, to_kiss2, to_svg
from certify.machines.machine import Machine
from certify.zoo import build

SVG = "{http://www.w3.org/2000/svg}"
AWKWARD = "<&\"'\\ é\n"


def classes_machine(model: Model) -> Machine:
    return Machine.from_cells(model.graph, [relation.kind for relation in compatibility(model.graph)])


@pytest.fixture(params=["reveal", "gap", "stochastic-expert", "signpost-corridor", "running-parity"])
def machine(request: pytest.FixtureRequest) -> Machine:
    return classes_machine(build(request.param))


@pytest.fixture
def awkward() -> Machine:
    """Names that every format must escape."""
    law = {AWKWARD: "1/3", "b": "2/3"}
    episodes = [
        {
            "weight": p,
            "steps": [
                {"obs": AWKWARD, "action_law": law, "action": action},
                {"obs": "]]>" + AWKWARD, "action_law": {"b": 1}, "action": "b"},
            ],
        }
        for action, p in law.items()
    ]
    return classes_machine(Model.from_episodes({"horizon": 2, "episodes": episodes}))


def count(machine: Machine) -> tuple[int, int]:
    """States, and pairs of states joined by a move."""
    arrows = sum(len({(k, j) for (k, _, _), j in moves.items()}) for moves in machine.moves)
    return sum(map(len, machine.states)), arrows


def test_every_ending_has_an_export() -> None:
    assert set(EXPORTS) == {".dot", ".svg", ".json", ".kiss2"}


def test_svg_is_well_formed_and_complete(machine: Machine) -> None:
    root = ElementTree.fromstring(to_svg(machine))
    states, arrows = count(machine)
    assert root.tag == f"{SVG}svg"
    assert len(root.findall(f"{SVG}g")) == states
    assert len(root.findall(f"{SVG}path")) == arrows
    width, height = (float(root.attrib[key]) for key in ("width", "height"))
    for box in root.findall(f"{SVG}g/{SVG}rect"):
        assert 0 <= float(box.attrib["x"]) <= width - float(box.attrib["width"])
        assert 0 <= float(box.attrib["y"]) <= height - float(box.attrib["height"])
    titles = [title.text for title in root.findall(f"{SVG}g/{SVG}title")]
    assert titles == [
        f"{s.name}: {law_text(s.law)}, probability {s.probability}" for level in machine.states for s in level
    ]


def test_svg_escapes_names(awkward: Machine) -> None:
    root = ElementTree.fromstring(to_svg(awkward))
    texts = [text.text for text in root.findall(f"{SVG}g/{SVG}text")]
    assert AWKWARD in texts


def test_svg_shows_control_characters_as_text() -> None:
    """A name may hold any character of JSON, but XML has no way to write an escape or a null."""
    step = {"obs": "\x1b[31m\x00\ufffe", "action_law": {"\x07": 1}, "action": "\x07"}
    root = ElementTree.fromstring(to_svg(classes_machine(Model.from_episodes([{"weight": 1, "steps": [step]}]))))
    assert [text.text for text in root.findall(f"{SVG}g/{SVG}text")] == ["\\x1b[31m\\x00\\ufffe", "\\x07"]


def test_dot_has_one_line_a_state_and_an_arrow(machine: Machine) -> None:
    text = to_dot(machine)
    states, arrows = count(machine)
    assert text.startswith("digraph machine {\n")
    assert text.endswith("}\n")
    assert len(re.findall(r"^    s\d+_\d+ \[label=", text, re.M)) == states
    assert len(re.findall(r"^  s\d+_\d+ -> s\d+_\d+ \[label=", text, re.M)) == arrows
    assert text.count("{") == text.count("}")


def test_dot_quotes_names(awkward: Machine) -> None:
    """Outside strings no quote is left over: strings are quotes with escaped characters between."""
    text = to_dot(awkward)
    bare = re.sub(r'"(\\.|[^"\\])*"', "", text, flags=re.S)
    assert '"' not in bare
    assert "\\" not in bare
    labels = re.findall(r'label="((?:\\.|[^"\\])*)"', text, re.S)
    assert any("<&\\\"'\\\\\\\\ é" in label or "<&\\\"'\\\\ é" in label for label in labels)


def test_json_says_everything(machine: Machine) -> None:
    document = json.loads(to_json(machine))
    assert document["format"] == "certify-machine/1"
    assert document["horizon"] == machine.horizon
    assert document["start"] == machine.start
    assert [
        [
            (s["name"], s["observation"], {a: Fraction(p) for a, p in s["law"].items()}, Fraction(s["probability"]))
            for s in level
        ]
        for level in document["states"]
    ] == [[(s.name, s.observation, s.law, s.probability) for s in level] for level in machine.states]
    moves = [{(k, a, o): j for k, a, o, j in level} for level in document["moves"]]
    assert moves == list(machine.moves)


def test_json_keeps_names(awkward: Machine) -> None:
    document = json.loads(to_json(awkward))
    assert document["states"][0][0]["law"] == {AWKWARD: "1/3", "b": "2/3"}


def parse_kiss2(text: str) -> tuple[dict[str, str], list[list[str]], dict[str, str]]:
    """Header, terms and legend; refuses anything that is not KISS2."""
    header: dict[str, str] = {}
    legend: dict[str, str] = {}
    terms: list[list[str]] = []
    lines = text.splitlines()
    assert lines[-1] == ".e"
    for line in lines[:-1]:
        if line.startswith("# "):
            code, _, meaning = line[2:].partition(": ")
            legend[code] = meaning
        elif line.startswith("."):
            key, value = line.split()
            header[key] = value
        else:
            terms.append(line.split())
            assert len(terms[-1]) == 4
    return header, terms, legend


def test_kiss2_counts_and_codes(machine: Machine) -> None:
    header, terms, legend = parse_kiss2(to_kiss2(machine))
    states, _ = count(machine)
    assert header.keys() == {".i", ".o", ".p", ".s", ".r"}
    assert int(header[".p"]) == len(terms) == len(machine.start) + sum(map(len, machine.moves))
    assert int(header[".s"]) == len({name for _, now, then, _ in terms for name in (now, then)}) == states + 1
    assert header[".r"] == "start"
    assert all(re.fullmatch(r"[01]+", i) and len(i) == int(header[".i"]) for i, _, _, _ in terms)
    assert all(re.fullmatch(r"[01]+", o) and len(o) == int(header[".o"]) for _, _, _, o in terms)
    assert len({(i, now) for i, now, _, _ in terms}) == len(terms), "deterministic"
    assert {f"input {i}" for i, _, _, _ in terms} | {f"output {o}" for _, _, _, o in terms} == legend.keys()


def test_kiss2_runs_like_the_machine(machine: Machine) -> None:
    """The step is in the state's name, and following codes gives the law of the state."""
    _, terms, meaning = parse_kiss2(to_kiss2(machine))
    table = {(now, meaning[f"input {i}"]): (then, json.loads(meaning[f"output {o}"])) for i, now, then, o in terms}
    for observation, k in machine.start.items():
        then, law = table["start", f"{json.dumps(observation)} after nothing"]
        assert (then, law) == (f"t1_{k}", law_text(machine.states[0][k].law))
    for t, moves in enumerate(machine.moves):
        for (k, action, observation), j in moves.items():
            then, law = table[f"t{t + 1}_{k}", f"{json.dumps(observation)} after {json.dumps(action)}"]
            assert (then, law) == (f"t{t + 2}_{j}", law_text(machine.states[t + 1][j].law))


def test_kiss2_keeps_names_on_one_line(awkward: Machine) -> None:
    header, terms, _ = parse_kiss2(to_kiss2(awkward))
    assert int(header[".p"]) == len(terms) == 3


def test_kiss2_of_the_smallest_machine_by_hand() -> None:
    model = Model.from_episodes([{"weight": 1, "steps": [{"obs": "o", "action_law": {"a": 1}, "action": "a"}]}])
    assert to_kiss2(classes_machine(model)) == (
        '# input 0: "o" after nothing\n# output 0: "a"\n.i 1\n.o 1\n.p 1\n.s 2\n.r start\n0 start t1_0 0\n.e\n'
    )


def test_laws_in_words() -> None:
    assert law_text({"left": Fraction(1)}) == "left"
    assert law_text({"left": Fraction(7, 10), "right": Fraction(3, 10)}) == "left 7/10, right 3/10"
