"""`python -m reproduction.need_study`: the study with numpy and scipy alone."""

import argparse
from pathlib import Path

from reproduction.need_study.run import run

parser = argparse.ArgumentParser(description="How often `need` gives the certified answer.")
parser.add_argument("--out", type=Path, default=Path("results"), help="folder of need.jsonl")
parser.add_argument("--jobs", type=int, default=1, help="processes")
parser.add_argument("--scale", type=float, default=1.0, help="multiplies the numbers of seeds")
parser.add_argument("--only", default="", help="trials whose part and family hold this text")
parser.add_argument("--arm", type=Path, help="folder of the arm's recordings")
parser.add_argument("--limit", type=float, help="seconds after which no further dataset is begun")

if __name__ == "__main__":
    given = parser.parse_args()
    print(run(given.out, given.jobs, given.scale, given.only, given.arm, given.limit))
