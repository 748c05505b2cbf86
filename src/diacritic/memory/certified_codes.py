"""The certified classes of a model as the codes of one stationary machine."""

from dataclasses import dataclass

from certify import Model, certify
from certify.core.codes import verify_codes
from certify.core.exact import Ints
from certify.core.graph import Graph
from certify.core.requirement import Requirement
from certify.machines.merging import Coded, Merger, States, coded, persist


@dataclass(frozen=True)
class Labels:
    """A stationary machine that carries R_t bits at every step, if `minimal`."""

    machine: Coded
    graph: Graph  # the model's, or its unfolded tree
    nodes: list[Ints]  # of each level: the code of every node
    minimal: bool


def certified_labels(model: Model, requirement: Requirement | None = None) -> Labels:
    """Codes of the certified classes, each kept for as many steps as possible.

    Where compatibility is transitive the classes are Γ_t; elsewhere they are the best single machine that `certify`
    finds, which need not attain every step's minimum.
    """
    requirement = requirement or Requirement.of(model)
    graph, cells, minimal = model.graph, [relation.kind for relation in requirement.relations], True
    if not all(relation.transitive for relation in requirement.relations):
        answer = certify(model)
        graph, cells, minimal = answer.joint.graph, answer.joint.cells, answer.simultaneous is True
    states = States.of_graph(graph, cells)
    merger = Merger(states)
    persist(merger)
    coding = coded(merger)
    nodes = [coding.of_state[row] for row in states.nodes]
    wrong = verify_codes(graph, [row.tolist() for row in nodes], stationary=True)
    if wrong is not None:
        raise AssertionError(f"merging keeps a machine a machine: {wrong}")
    return Labels(coding, graph, nodes, minimal)
