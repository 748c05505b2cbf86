"""Tiny matrices gain nothing from threads, and tests that run side by side lose by them; read when torch is imported."""

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
