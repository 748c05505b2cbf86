"""What every test shares: reproducible property tests, figures without a screen, kernels without a GPU."""

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels run on the CPU; to be asked for before Triton is imported

# No clock may decide a verdict: a busy machine must not fail a correct test.
settings.register_profile(
    "ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
# Fresh examples on every run: `pytest --hypothesis-profile=explore`.
settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("ci")
