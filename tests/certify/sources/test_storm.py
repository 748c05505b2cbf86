"""PRISM and JANI models through Storm, and machines that Storm values as their experts."""

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from certify.errors import UserError
from certify.sources.drn import Explicit
from certify.sources.experts import read_fsc
from certify.sources.storm import load_storm
from certify.stationary.answer import certify_forever
from certify.stationary.exports import to_drn, to_fsc
from certify.stationary.machine import StationaryMachine
from certify.stationary.process import Process
from certify.stationary.world import Controller
from reproduction.random_controllers import available, random_controller

MAZE = """pomdp
observables
  wall
endobservables
const int length;
module corridor
  x : [0..length] init 0;
  sign : [0..2] init 0;
  wall : [0..3] init 0;
  [look] wall=0 -> 1/3 : (sign'=1)&(wall'=1) + 2/3 : (sign'=2)&(wall'=2);
  [walk] wall=1 | wall=2 -> (wall'=3)&(x'=1);
  [walk] wall=3 & x<length -> (x'=x+1);
  [rest] wall=3 & x<length -> true;
  [walk] wall=3 & x=length & sign=1 -> 0.9 : (x'=0)&(wall'=0)&(sign'=0) + 0.1 : true;
  [rest] wall=3 & x=length & sign=1 -> true;
  [walk] wall=3 & x=length & sign=2 -> true;
  [rest] wall=3 & x=length & sign=2 -> (x'=0)&(wall'=0)&(sign'=0);
endmodule
label "inside" = x>0;
rewards "steps"
  true : 1;
endrewards
"""


@pytest.fixture
def maze(tmp_path: Path) -> Path:
    path = tmp_path / "maze.prism"
    path.write_text(MAZE, encoding="utf-8")
    return path


def valued(text: str, formula: str, folder: Path) -> str:
    storm: Any = pytest.importorskip("stormpy")
    path = folder / "chain.drn"
    path.write_text(text, encoding="utf-8")
    model = storm.build_model_from_drn[storm.Rational](str(path))
    result = storm.model_checking(model, storm.parse_property(formula))
    return str(result.get_value(model.initial_states[0]))


def chain(explicit: Explicit, process: Process, machine: StationaryMachine) -> str:
    gains = {"steps": lambda x: explicit.reward_of("steps", process, x)}
    return to_drn(machine, process, lambda x: explicit.labels_of(process, x), gains)


def test_a_prism_model_becomes_a_world(maze: Path):
    pytest.importorskip("stormpy")
    world = load_storm(maze, "length=2").world
    assert sorted(world.observations) == ["wall=0", "wall=1", "wall=2", "wall=3"]
    assert available(world)["wall=3"] == ["walk", "rest"]
    assert world.transitions[0][next(iter(world.start))] != {}


@pytest.mark.parametrize("seed", range(4))
def test_an_imported_machine_has_the_same_value_in_storm(seed: int, maze: Path, tmp_path: Path):
    """A random controller, its smallest machine, and that machine read back from PAYNT's format."""
    pytest.importorskip("stormpy")
    explicit = load_storm(maze, "length=3")
    process = explicit.world.process(random_controller(explicit.world, 3, seed))
    answer = certify_forever(process)
    back = explicit.world.process(read_fsc(to_fsc(answer.machine), explicit.world))
    again = certify_forever(back)
    assert answer.rates is not None
    assert again.rates is not None
    assert again.rates.mean.upper == answer.rates.mean.upper
    strong = StationaryMachine.from_labels(answer.observer, answer.relation.state)  # nothing merged but equal futures
    for formula in ('R{"steps"}=? [C<=9]', 'P=? [F<=7 "inside"]', 'P=? [F "inside"]'):
        values = {
            valued(chain(explicit, process, strong), formula, tmp_path),
            valued(chain(explicit, process, answer.machine), formula, tmp_path),
            valued(chain(explicit, back, again.machine), formula, tmp_path),
        }
        assert len(values) == 1


def test_a_value_that_is_known(maze: Path, tmp_path: Path):
    """Always walking: the sign is left behind with probability 1/3, after a geometric while."""
    pytest.importorskip("stormpy")
    explicit = load_storm(maze, "length=1")
    table = {o: next(a for a in acts if a != "rest") for o, acts in available(explicit.world).items()}
    process = explicit.world.process(Controller.table(table))
    text = chain(explicit, process, certify_forever(process).machine)
    assert Fraction(valued(text, 'P=? [F<=3 "inside"]', tmp_path)) == 1
    assert Fraction(valued(text, 'R{"steps"}=? [C<=4]', tmp_path)) == 3  # the chain starts one step before the process


def test_constants_that_are_left_open_and_files_that_storm_refuses(maze: Path, tmp_path: Path):
    pytest.importorskip("stormpy")
    with pytest.raises(UserError, match=r"Storm refuses it: .*undefined constants"):
        load_storm(maze)
    wrong = tmp_path / "wrong.prism"
    wrong.write_text("pomdp\nmodule\n", encoding="utf-8")
    with pytest.raises(UserError, match="Storm refuses it"):
        load_storm(wrong)
    seen = tmp_path / "seen.prism"
    seen.write_text("mdp\nmodule m\n x : bool;\n [a] true -> true;\nendmodule\n", encoding="utf-8")
    with pytest.raises(UserError, match="is not a POMDP"):
        load_storm(seen)


def test_without_storm_one_line_names_the_extra(maze: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "stormpy", None)
    with pytest.raises(UserError, match="install the extra 'storm'"):
        load_storm(maze)


def jani(kind: str) -> str:
    """A variable that an action sets, in JANI."""
    destination = {"location": "here", "probability": {"exp": 1}, "assignments": [{"ref": "x", "value": 1}]}
    bounds = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 1}
    document = {
        "jani-version": 1,
        "name": "switch",
        "type": kind,
        "actions": [{"name": "go"}],
        "variables": [{"name": "x", "type": bounds, "initial-value": 0}],
        "automata": [
            {
                "name": "a",
                "locations": [{"name": "here"}],
                "initial-locations": ["here"],
                "edges": [{"location": "here", "action": "go", "destinations": [destination]}],
            }
        ],
        "system": {"elements": [{"automaton": "a"}], "syncs": [{"synchronise": ["go"], "result": "go"}]},
        "properties": [],
    }
    return json.dumps(document)


@pytest.mark.parametrize(
    ("kind", "reason"), [("mdp", "is not a POMDP"), ("pomdp", "Storm refuses it: .*Model type pomdp not recognized")]
)
def test_jani_files_say_nothing_of_what_is_seen(kind: str, reason: str, tmp_path: Path):
    pytest.importorskip("stormpy")
    path = tmp_path / "switch.jani"
    path.write_text(jani(kind), encoding="utf-8")
    with pytest.raises(UserError, match=reason):
        load_storm(path)
