"""The kernels run in Triton's interpreter here; it must be asked for before Triton is first imported."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")
