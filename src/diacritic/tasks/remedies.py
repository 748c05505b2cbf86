"""One line for a package or a display that is missing, with the remedy."""

from collections.abc import Iterator
from contextlib import contextmanager

from certify.errors import UserError

EXTRAS = {  # extras → packages
    "cluster": ("ray",),
    "learn": ("safetensors", "torch"),
    "measure": ("scipy", "sklearn", "statsmodels"),
    "report": ("av", "jinja2", "matplotlib", "PIL"),
    "robot": ("gymnasium", "mujoco"),
    "search": ("ortools",),
    "sources": ("bsuite", "minari", "popgym", "pyarrow"),
    "studies": ("duckdb",),
    "studies,learn": ("rich", "tyro"),  # whoever lacks the command line's parser lacks the learner, too
}


@contextmanager
def remedies() -> Iterator[None]:
    """Turn a missing package or a missing OpenGL into one line with the remedy."""
    try:
        yield
    except ModuleNotFoundError as problem:
        package = (problem.name or "").partition(".")[0]
        for extras, packages in EXTRAS.items():
            if package in packages:
                raise UserError(package, f'is not installed; run: pip install "diacritic[{extras}]"') from None
        raise
    except RuntimeError as problem:
        where, sign, reason = str(problem).partition(": ")
        if where != "rendering" or not sign:
            raise
        raise UserError(where, reason) from None
