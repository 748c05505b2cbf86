"""The solver before anything is learned: hand-derived profiles, brackets, refusals, and rate–distortion of the toys."""

from fractions import Fraction
from functools import partial

from certify import certify
from certify.zoo import build
from diacritic.studies.tasks import model_of, task, windows
from reproduction.catalogue._figures import measured, study
from reproduction.distortion.frontier import Source, closed_form, deterministic_frontier, rate
from reproduction.reference import figure
from reproduction.verdicts import Profile, Range, Value, value

_ROUNDED = 0.005  # the paper prints two digits
_EXACT = 1e-9


def _profile(name: str, quantity: str = "upper", first: int = 0, last: int | None = None) -> Value:
    """One quantity of the answer at some steps of an instance."""
    return Profile(tuple(getattr(step, quantity) for step in certify(build(name)).steps[first:last]))


def _learned_toy() -> Value:
    """H(Γ|O) of the re-reveal toy in the middle of its first and of its second gap."""
    instance = task("re-reveal")
    steps, gaps = certify(model_of(instance)).steps, windows(instance).values()
    return Profile(tuple(steps[gap[len(gap) // 2] - 1].upper for gap in gaps))


def _refuses() -> Value:
    """1 where no classes are built at the step at which compatibility is not transitive."""
    step = certify(build("three-histories")).steps[1]
    return value(step.classes is None and not step.transitive)


def _decision(modes: int) -> tuple[Source, Source]:
    graph = build("reveal", modes=modes).graph
    return Source.of_classes(graph, graph.horizon - 1), Source.of_histories(graph, graph.horizon - 1)


def _deterministic() -> Value:
    return Profile(tuple(point.rate for point in deterministic_frontier(_decision(8)[0])))


def _stochastic() -> Value:
    return Profile(tuple(rate(_decision(8)[0], d) for d in figure("rate_distortion", "D")))


def _against_form() -> Value:
    """Largest departure of Blahut–Arimoto from the closed form, over a grid of distortions."""
    grid = [Fraction(k, 20) for k in range(16)]
    gaps = [abs(rate(_decision(modes)[0], d) - closed_form(4, d)) for modes in (4, 8, 16) for d in grid]
    return Range(max(gaps), max(gaps))


def _histories() -> Value:
    """Largest difference between compressing histories and compressing classes."""
    grid = [Fraction(k, 20) for k in range(16)]
    pairs = [_decision(modes) for modes in figure("certify.numerical_agreement", "history_source_M")]
    gaps = [abs(rate(classes, d) - rate(histories, d)) for classes, histories in pairs for d in grid]
    return Range(max(gaps), max(gaps))


def _middle(*names: str) -> Value:
    step = certify(build("three-histories")).steps[1]
    return Profile(tuple(getattr(step, name) for name in names))


STUDY = study(
    "t0",
    (),
    {
        "reveal toy: required bits": partial(_profile, "reveal"),
        "gap toy: required bits": partial(_profile, "gap"),
        "re-reveal: required bits fall": partial(_profile, "re-reveal-t0", "upper", 1, 4),
        "re-reveal: required bits where the bracket is strict": partial(_profile, "re-reveal-t0", "upper", 2, 3),
        "re-reveal: strong bits where the bracket is strict": partial(_profile, "re-reveal-t0", "strong", 2, 3),
        "re-reveal for learning: first gap, and after the first decision": _learned_toy,
        "lost cue: observational bits": partial(_profile, "lost-cue"),
        "three histories: lower end, minimum, upper end": partial(_middle, "instantaneous", "upper", "strong"),
        "largest departure from the closed form, bits": _against_form,
        "largest difference between histories and classes, bits": _histories,
        "deterministic frontier of four classes, bits": _deterministic,
        "stochastic rates at the same distortions, bits": _stochastic,
    },
    (
        measured(
            "re-reveal: strong classes stay",
            "certify.toys.rereveal",
            value([figure("certify.toys.rereveal", "strong_bits")] * 3),
            partial(_profile, "re-reveal-t0", "strong", 1, 4),
            _EXACT,
        ),
        measured("classes are refused where they do not exist", "certify.toys.nontransitive", value(True), _refuses),
    ),
)
