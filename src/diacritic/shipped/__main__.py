"""Put trained policies in place of the shipped ones: `python -m diacritic.shipped RESULTS`.

RESULTS is what `python -m diacritic.training FOLDER --half` wrote for the cell "two-cues gap=20, event-agnostic" of the
study learning-targets. Its recording, and a fresh one to judge by, are made again where they are not found.
"""

import argparse
import sys
from pathlib import Path

from certify.errors import ModelError
from diacritic.shipped import FOLDER
from diacritic.shipped.write import ship
from diacritic.studies.recordings import DEMOS


def main() -> int:
    """Bad input ends with one line on standard error and status 2."""
    parser = argparse.ArgumentParser(
        "python -m diacritic.shipped", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, help="a folder with results, or with bundles of them")
    parser.add_argument("--demos", type=Path, default=DEMOS, help="where recordings are kept")
    given = parser.parse_args()
    try:
        document = ship(given.results, demos=given.demos)
    except ModelError as problem:
        print(f"diacritic: {problem}", file=sys.stderr)
        return 2
    for run in document["runs"]:
        told = "sufficient" if run["sufficient"] else "failed"
        print(f"seed {run['seed']}: {told}, success {run['success']:.2f} in {run['episodes']} episodes")
    print(FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
