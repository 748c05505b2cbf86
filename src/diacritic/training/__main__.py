"""Train what `diacritic study export` wrote, on a machine that needs nothing but torch, numpy and safetensors.

`python -m diacritic.training FOLDER --device cuda --together 4 --out RESULTS`; a run that was killed goes on with the
same command. `diacritic study import RESULTS` then measures the policies and plays them.
"""

import argparse
import sys
from pathlib import Path

from certify.errors import UserError
from diacritic.files.archive import ResultArchives
from diacritic.training.worker import train_folder


def main() -> int:
    """Bad input ends with one line on standard error and status 2."""
    parser = argparse.ArgumentParser(
        "python -m diacritic.training", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="what `diacritic study export` wrote")
    parser.add_argument("--out", type=Path, help="where results go; by default FOLDER/results")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--together", type=int, default=1, help="cohorts that train in turns")
    parser.add_argument("--only", default="", help="training jobs whose names hold all these words")
    parser.add_argument("--half", action="store_true", help="keep weights, and judge them, in half precision")
    parser.add_argument("--bundle", type=Path, help="also put results here, in few files of at most 15 MB")
    given = parser.parse_args()
    out = given.out or given.folder / "results"
    try:
        archives = None if given.bundle is None else ResultArchives(given.bundle)
        train_folder(given.folder, out, given.device, given.together, given.only, given.half, archives)
    except UserError as problem:
        print(f"diacritic: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("diacritic: interrupted; run the same command again to continue", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
