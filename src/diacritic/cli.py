"""The command line: `diacritic train TASK …` and its sisters, each a frozen dataclass whose fields are the options."""

import os
import sys
from collections.abc import Sequence

import tyro

from certify.errors import UserError
from diacritic.commands.export import Export, Play
from diacritic.commands.figure import Figure
from diacritic.commands.ledger import Ledger
from diacritic.commands.measure import Measure
from diacritic.commands.probe import Probe
from diacritic.commands.record import Record
from diacritic.commands.report import Report
from diacritic.commands.rollout import Rollout
from diacritic.commands.select_k import SelectK
from diacritic.commands.study import Study
from diacritic.commands.train import Train
from diacritic.commands.video import Video
from diacritic.demo import Demo

COMMANDS = {
    "demo": Demo,
    "record": Record,
    "probe": Probe,
    "train": Train,
    "measure": Measure,
    "rollout": Rollout,
    "video": Video,
    "export": Export,
    "play": Play,
    "report": Report,
    "study": Study,
    "ledger": Ledger,
    "select-k": SelectK,
    "figure": Figure,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Bad input ends with one line on standard error and status 2."""
    try:
        command = tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="diacritic", args=arguments)
        status = command.run()
        sys.stdout.flush()  # here, where a reader that has left is noticed
        return status
    except UserError as problem:
        print(f"diacritic: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of a pipe left early
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("diacritic: interrupted; run the same command again to go on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
