"""Tiny matrices gain nothing from threads, and tests side by side lose by them; torch reads this when imported."""

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
