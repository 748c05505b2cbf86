"""The solver before anything is learned: hand-derived profiles, brackets, refusals, and rate–distortion of the toys."""

from fractions import Fraction
from functools import partial

from certify import certify
from certify.core.frontier import Source, closed_form, deterministic_frontier, rate
from certify.zoo import build
from diacritic.studies.tasks import model_of, task, windows
from reproduction.catalogue._declare import range_of
from reproduction.figure import Figure
from reproduction.paper import PaperStudy
from reproduction.reference import figure
from reproduction.verdicts import Profile, Range, Value, value

_ROUNDED = 0.005  # the paper prints two digits
_EXACT = 1e-9


def _profile(name: str, quantity: str = "upper", first: int = 0, last: int | None = None) -> Value:
    """One quantity of the answer at some steps of an instance."""
    return Profile(tuple(getattr(step, quantity) for step in certify(build(name)).steps[first:last]))


def _learned_toy() -> Value:
    """H(Γ|O) of the re-reveal toy in the middle of its first and of its second gap."""
    place = task("re-reveal")
    steps, gaps = certify(model_of(place)).steps, windows(place).values()
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


STUDY = PaperStudy(
    "t0",
    "The solver before learning",
    "Profiles that a pencil gives, strict brackets, a refusal, a violated (A2), the rate–distortion of four classes.",
    inventory=(121,),
    blocks=(
        "certify.toys.reveal",
        "certify.toys.gap",
        "certify.toys.rereveal",
        "certify.toys.rereveal_bracket",
        "certify.toys.rereveal_learning",
        "certify.toys.nontransitive",
        "certify.toys.a2_violation",
        "certify.three_history",
        "certify.numerical_agreement",
        "rate_distortion",
    ),
    order=3,
)
FIGURES = (
    Figure(
        "reveal toy: required bits",
        "certify.toys.reveal",
        value(figure("certify.toys.reveal", "gamma_bits")),
        partial(_profile, "reveal"),
        within=_EXACT,
    ),
    Figure(
        "gap toy: required bits",
        "certify.toys.gap",
        value(figure("certify.toys.gap", "gamma_bits")),
        partial(_profile, "gap"),
        within=_EXACT,
    ),
    Figure(
        "re-reveal: required bits fall",
        "certify.toys.rereveal",
        value(figure("certify.toys.rereveal", "gamma_staircase_bits")),
        partial(_profile, "re-reveal-t0", "upper", 1, 4),
        within=_EXACT,
    ),
    Figure(
        "re-reveal: strong classes stay",
        "certify.toys.rereveal",
        value([figure("certify.toys.rereveal", "strong_bits")] * 3),
        partial(_profile, "re-reveal-t0", "strong", 1, 4),
        within=_EXACT,
    ),
    Figure(
        "re-reveal: required bits where the bracket is strict",
        "certify.toys.rereveal_bracket",
        value([figure("certify.toys.rereveal_bracket", "gamma_bits")]),
        partial(_profile, "re-reveal-t0", "upper", 2, 3),
        within=_EXACT,
    ),
    Figure(
        "re-reveal: strong bits where the bracket is strict",
        "certify.toys.rereveal_bracket",
        value([figure("certify.toys.rereveal_bracket", "strong_bits")]),
        partial(_profile, "re-reveal-t0", "strong", 2, 3),
        within=_EXACT,
    ),
    Figure(
        "re-reveal for learning: first gap, and after the first decision",
        "certify.toys.rereveal_learning",
        value(
            [
                figure("certify.toys.rereveal_learning", "gamma_first_gap_bits"),
                figure("certify.toys.rereveal_learning", "gamma_after_first_decision_bits"),
            ]
        ),
        _learned_toy,
        within=_EXACT,
    ),
    Figure("classes are refused where they do not exist", "certify.toys.nontransitive", value(True), _refuses),
    Figure(
        "lost cue: observational bits",
        "certify.toys.a2_violation",
        value(figure("certify.toys.a2_violation", "observational_gamma_bits")),
        partial(_profile, "lost-cue"),
        within=_ROUNDED,
    ),
    Figure(
        "three histories: lower end, minimum, upper end",
        "certify.three_history",
        value([figure("certify.three_history", key) for key in ("lower_bound_bits", "exact_bits", "upper_bound_bits")]),
        partial(_middle, "instantaneous", "upper", "strong"),
        within=_ROUNDED,
    ),
    Figure(
        "largest departure from the closed form, bits",
        "certify.numerical_agreement",
        range_of("certify.numerical_agreement", "blahut_arimoto_vs_closed_form"),
        _against_form,
        within=1e-14,
        better="lower",
    ),
    Figure(
        "largest difference between histories and classes, bits",
        "certify.numerical_agreement",
        range_of("certify.numerical_agreement", "history_source_vs_reduced_source"),
        _histories,
        within=1e-14,
        better="lower",
    ),
    Figure(
        "deterministic frontier of four classes, bits",
        "rate_distortion",
        value(figure("rate_distortion", "deterministic_bits")),
        _deterministic,
        within=_ROUNDED,
    ),
    Figure(
        "stochastic rates at the same distortions, bits",
        "rate_distortion",
        value(figure("rate_distortion", "stochastic_bits")),
        _stochastic,
        within=_ROUNDED,
    ),
)
