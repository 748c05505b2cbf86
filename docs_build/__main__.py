"""`python -m docs_build`: the reports of the gallery, then every page, strictly."""

import subprocess
import sys
from pathlib import Path

from docs_build.gallery import write

ROOT = Path(__file__).parents[1]

if __name__ == "__main__":
    write(ROOT / "docs" / "gallery")
    build = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    sys.exit(subprocess.run(build, cwd=ROOT).returncode)
