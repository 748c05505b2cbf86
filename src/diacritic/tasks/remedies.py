"""One line for a package or a display that is missing, with the remedy."""

from collections.abc import Iterator
from contextlib import contextmanager

from certify.errors import UserError

EXTRAS = {
    "av": "report",
    "bsuite": "sources",
    "duckdb": "studies",
    "gymnasium": "robot",
    "jinja2": "report",
    "matplotlib": "report",
    "minari": "sources",
    "mujoco": "robot",
    "ortools": "search",
    "PIL": "report",
    "popgym": "sources",
    "pyarrow": "sources",
    "ray": "cluster",
    "rich": "studies",
    "safetensors": "learn",
    "scipy": "measure",
    "sklearn": "measure",
    "statsmodels": "measure",
    "torch": "learn",
    "tyro": "studies",
}


def missing_package(problem: ModuleNotFoundError) -> UserError | None:
    """What to install where an optional package is missing; none where the module is not one of ours to name."""
    package = (problem.name or "").partition(".")[0]
    extra = EXTRAS.get(package)
    if extra is None:
        return None
    # whoever lacks the command line's parser lacks the learner, too
    extras = "studies,learn" if package in ("tyro", "rich") else extra
    return UserError(package, f'is not installed; run: pip install "diacritic[{extras}]"')


@contextmanager
def remedies() -> Iterator[None]:
    """Turn a missing package or a missing OpenGL into one line with the remedy."""
    try:
        yield
    except ModuleNotFoundError as problem:
        named = missing_package(problem)
        if named is None:
            raise
        raise named from None
    except RuntimeError as problem:
        place, sign, reason = str(problem).partition(": ")
        if place != "rendering" or not sign:
            raise
        raise UserError(place, reason) from None
