"""What the commands of the documentation cost on a CPU: processor time, and the most memory that they hold.

Run as ``python benchmarks/commands.py``; it writes results/benchmarks/commands.json and the table of docs/install.md.
Processor time depends little on what else runs; on two free cores the clock shows between half of it and all.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TARGET, PAGE = ROOT / "results" / "benchmarks" / "commands.json", ROOT / "docs" / "install.md"
BEGIN, END = "<!-- commands -->", "<!-- end of commands -->"
COHORT = "from pathlib import Path; from diacritic.shipped import cohort; cohort(Path('arm'))"
COMMANDS = (
    "python -m diacritic.demo",
    "python -m certify gap --gap2 6",
    "python -m certify signpost-corridor --certificate proof.json --model-json model.json",
    "python -m certify.check proof.json model.json",
    "diacritic train gap gap1=1 gap2=2 --seeds 3 --steps 1000",
    "diacritic measure runs",
    "diacritic report runs -o report.html",
    "diacritic train memory-chain bits=2 delay=30 --out chain",
    "diacritic record two-cues gap=20 --out two-cues",
    "diacritic probe two-cues",
    "diacritic rollout arm --episodes 128",
    "diacritic video two-cues gap=20 -o film.mp4",
)
PROGRAMS = {"python": [sys.executable], "diacritic": [sys.executable, "-m", "diacritic.cli"]}


def measured(command: str, folder: Path) -> dict[str, float]:
    """Processor seconds and peak memory (MB) of one command, which must succeed."""
    program, *words = command.split(" ")
    line, quiet = [*PROGRAMS[program], *words], subprocess.DEVNULL
    process = subprocess.Popen(line, cwd=folder, stdout=quiet, stderr=subprocess.PIPE)
    _, status, spent = os.wait4(process.pid, 0)
    if status:
        said = process.stderr.read().decode() if process.stderr else ""
        raise SystemExit(f"{command}: exit {os.waitstatus_to_exitcode(status)}\n{said}")
    return {"cpu_s": round(spent.ru_utime + spent.ru_stime, 1), "memory_mb": round(spent.ru_maxrss / 1024)}


def processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def table(result: dict[str, Any]) -> str:
    """What was measured, and where, as the page has it."""
    lines = [
        f"| `{name}` | {cost['cpu_s']:.1f} s | {cost['memory_mb']:.0f} MB |"
        for name, cost in result["commands"].items()
    ]
    head = ["| command | processor time | memory |", "|---|---:|---:|"]
    return "\n".join([f"On {result['cores']} cores of an {result['processor']}:", "", *head, *lines])


def renewed(page: str, result: dict[str, Any]) -> str:
    """The page with its table between the marks written again."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table(result)}\n{END}{rest.split(END)[1]}"


def main() -> None:
    by_command: dict[str, dict[str, float]] = {}
    result = {"processor": processor(), "cores": os.cpu_count(), "commands": by_command}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-c", COHORT], cwd=folder, check=True)
        for command in COMMANDS:
            by_command[command] = measured(command, folder)
            print(f"{command}: {by_command[command]['cpu_s']} s, {by_command[command]['memory_mb']} MB", flush=True)
            TARGET.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")


if __name__ == "__main__":
    main()
