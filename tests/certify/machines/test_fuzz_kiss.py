"""Damaged KISS2 files."""

from pathlib import Path

import pytest
from certify_fuzz import check_reader, damaged_bytes

from certify.errors import UserError
from certify.machines.kiss import load_kiss2, read_kiss2

TEXT = """# horizon 3
# weight 10 1/3
.i 2
.o 1
.s 3
.p 5
.r a
00 a b 0
10 a c 1
-1 b c 1
00 b b 0
-- c a 0
.e
"""


def test_damaged_bytes(tmp_path: Path) -> None:
    path = tmp_path / "machine.kiss2"

    def read(raw: bytes) -> None:
        path.write_bytes(raw)
        load_kiss2(path).to_json()

    check_reader(read, damaged_bytes(TEXT.encode(), seed=6))


def test_a_horizon_that_would_never_end_is_refused() -> None:
    long = TEXT.replace("-- c a 0", "\n".join(f"{k:02b} c a 0" for k in range(4))).replace(".p 5", ".p 8")
    with pytest.raises(UserError, match=r"line 1: 999999 steps .* choose a shorter horizon"):
        read_kiss2(long.replace("# horizon 3", "# horizon 999999"))


def test_weights_have_a_bounded_denominator() -> None:
    weights = "".join(f"# weight {k:02b} 1/{10**3900 + 2 * k + 1}\n" for k in range(4))
    with pytest.raises(UserError, match="common denominator has more than 14,000 bits"):
        read_kiss2(weights + TEXT.replace("# weight 10 1/3\n", ""))
