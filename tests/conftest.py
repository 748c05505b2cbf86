"""One place for what every test shares: reproducible property tests, and figures that need no screen."""

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")

# No clock may decide a verdict: a busy machine must not fail a correct test.
settings.register_profile(
    "ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
# Fresh examples on every run: `pytest --hypothesis-profile=explore`.
settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("ci")
