"""Where a report comes from: version, date, command, and the digest of everything it shows."""

from datetime import UTC, datetime
from typing import Any

from diacritic import __version__
from diacritic.report.inputs import Inputs

MOST_DIGESTS = 60
Shown = dict[str, Any]


def provenance(inputs: Inputs, command: str) -> Shown:
    """Shown below the cards."""
    digests = [("model", model.name, model.digest) for model in inputs.models]
    digests += [("recording", demos.task, demos.digest) for demos in inputs.recordings]
    digests += [("run", f"{run.path.name}, plan", run.manifest.plan) for run in inputs.runs]
    return {
        "version": __version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command or "diacritic.report(…)",
        "digests": digests[:MOST_DIGESTS],
        "more": max(0, len(digests) - MOST_DIGESTS),
    }
