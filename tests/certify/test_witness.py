"""What is shown as a reason really is one."""

from itertools import combinations

import pytest
from certify_twin import Document, History, Twin, documents, loose_models, node_histories
from hypothesis import given, settings

from certify import Model, certify
from certify.core.relations import compatibility
from certify.machines.exports import to_dot
from certify.show import show
from certify.witness import (
    a2_witness,
    a4_witness,
    distinguish,
    history_text,
    successors,
    transitivity_witness,
    word_text,
)
from certify.zoo import build


def read(text: str) -> History:
    """A history from its printed line; the random models have no arrows in their names."""
    words: list[str] = []
    for part in text.split("-> "):
        observation, _, action = part.partition(" -")
        words += [observation, *([action] if action else [])]
    return tuple(words)


@settings(max_examples=200)
@given(documents())
def test_a_continuation_that_tells_two_histories_apart(document: Document) -> None:
    """For every conflicting pair of one observation: the word is open to both, and the laws after it differ."""
    twin, graph = Twin(document), Model.from_episodes(document).graph
    relations = compatibility(graph)
    for t, level in enumerate(graph.levels):
        histories = node_histories(graph, t)
        for i, j in combinations(range(level.size), 2):
            if level.observation[i] == level.observation[j] and relations[t].in_conflict(i, j):
                word, first, second = distinguish(graph, relations, t, i, j)
                names = [name for a, o in word for name in (graph.actions[a], graph.observations[o])]
                after = t + len(word)
                laws = [twin.levels[after][(*histories[k], *names)].law for k in (i, j)]
                assert laws[0] != laws[1]
                assert laws == [frozenset((graph.actions[a], p) for a, p in graph.laws[law]) for law in (first, second)]


@settings(max_examples=200)
@given(documents())
def test_witnesses_of_the_assumptions(document: Document) -> None:
    twin, graph = Twin(document), Model.from_episodes(document).graph
    for t in range(twin.horizon):
        a2, a4 = a2_witness(graph, t), a4_witness(graph, t)
        assert (a2 is None) == twin.a2(t)
        assert (a4 is None) == twin.a4(t)
        if a2 is not None:
            assert (a2.claim, a2.t) == ("A2", t + 1)
            assert len(twin.levels[t][read(a2.histories[0])].privileged) > 1
        if a4 is not None:
            has, lacks = (twin.levels[t][read(text)] for text in a4.histories)
            assert (a4.claim, a4.t) == ("A4", t + 1)
            assert has.law == lacks.law
            assert has.support - lacks.support
            assert a4.histories[0].split("-> ")[-1] == a4.histories[1].split("-> ")[-1] or t == 0


def test_witnesses_of_intransitivity() -> None:
    for document, twin in loose_models(5, 60):
        graph = Model.from_episodes(document).graph
        relations = compatibility(graph)
        for t in range(twin.horizon):
            witness = transitivity_witness(graph, relations, t)
            assert (witness is None) == twin.transitive(t)
            if witness is not None:
                a, b, c = map(read, witness.histories)
                assert {(a, b), (b, c)} <= twin.compatible[t]
                assert (a, c) not in twin.compatible[t]
                assert "\n" not in witness.text


def test_the_three_histories_in_words() -> None:
    graph = build("three-histories").graph
    witness = transitivity_witness(graph, compatibility(graph), 1)
    assert witness is not None
    assert witness.t == 2
    assert witness.histories == ("h1 -wait-> same", "h2 -wait-> same", "h3 -wait-> same")
    assert witness.text == (
        "(h2 -wait-> same) may share a memory state with (h1 -wait-> same) and with (h3 -wait-> same), "
        "but those two may not: after -wait-> u the expert does do h1 or do h3"
    )


def test_a_violation_of_a2_in_words() -> None:
    witness = a2_witness(build("lost-cue").graph, 3)
    assert witness is not None
    assert witness.text == (
        "after start z=0 -wait-> b1 lost -wait-> b2=0 -wait-> decide the expert's law is not known: "
        "(go 00) with 1/2; (go 10) with 1/2"
    )


def test_a_violation_of_a4_in_words() -> None:
    graph = build("re-reveal").graph
    assert a4_witness(graph, 7) is None
    witness = a4_witness(graph, 8)
    assert witness is not None
    before = "start z=0 -wait-> cue1=0 -wait-> cue2={} -wait-> wait -wait-> wait -wait-> wait"
    waits = f"{before} -wait-> decide1 -take 0-> wait -wait-> wait"
    has, lacks = witness.histories
    assert {has, lacks} == {waits.format(0), waits.format(1)}
    shown = has.partition("cue2=")[2][0]
    assert witness.text == f"{has} can go on with -wait-> cue2={shown}, {lacks} cannot"


def test_strange_names_are_printed_on_one_line() -> None:
    step = {"obs": "two\nlines", "action_law": {"\x1b[31m": 1}, "action": "\x1b[31m"}
    graph = Model.from_episodes([{"weight": 1, "steps": [step, {**step, "obs": "é"}]}]).graph
    assert history_text(graph, 1, 0) == "two\\nlines -\\x1b[31m-> é"
    assert word_text(graph, ((0, 0),)) == "-\\x1b[31m-> two\\nlines"
    assert word_text(graph, ()) == "the present"


def test_the_last_step_leads_nowhere() -> None:
    graph = build("reveal").graph
    assert successors(graph, 3, 0) == {}
    assert len(successors(graph, 0, 0)) == 2


def test_long_observations_have_short_names_and_a_legend(capsys: pytest.CaptureFixture[str]) -> None:
    """Images that a history shows once: witnesses and drawings fit a terminal, and the answer says what is what."""
    images = [" ".join(str((k * n) % 7) for n in range(200)) for k in range(4)]

    def step(latent: int, actions: tuple[str, ...]) -> tuple[str, str]:
        if not actions:
            return images[latent], "wait"
        return ("hall", "wait") if len(actions) < 40 else ("fork" if latent < 3 else "end", f"turn {latent % 2}")

    answer = certify(Model.from_latents(41, dict.fromkeys(range(4), "1/4"), step))
    numbers = answer.model.observation_index
    assert answer.to_dict()["legend"] == {f"obs#{numbers[image]}": image for image in images}
    (witness,) = [w for w in answer.witnesses if w.claim == "A4"]
    assert witness.histories[0] == f"obs#{numbers[images[0]]} -wait-> hall ×39"
    show(answer)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) < 250
    assert any(line.startswith("obs#0: 0 0 0 0") and line.endswith("letters)") for line in lines)
    assert images[1] not in to_dot(answer.machine)
    assert "legend" not in certify(build("gap")).to_dict()
