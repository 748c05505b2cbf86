"""Parts of generated pages: what a reader unfolds, and pictures with their numbers behind them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from diacritic.files.atomic import make_folder, write_text


def folded(summary: str, lines: Sequence[str]) -> list[str]:
    """Markdown that a reader opens."""
    return ['<details markdown="1">', f"<summary>{summary}</summary>", "", *lines, "", "</details>", ""]


def figure(alternative: str, picture: str, caption: str, table: str, rows: str) -> str:
    """A picture that opens in full size, its caption, and the numbers behind it; `rows` says what a line of them is."""
    shown = [f"[![{alternative}]({picture})]({picture})", "", caption, ""]
    return "\n".join([*shown, *folded(f"The table: {rows}", [table])]).rstrip("\n")


def write_pictures(docs: Path, pictures: Mapping[str, str]) -> None:
    """Write pictures by their names below the folder of the pages."""
    for name, text in pictures.items():
        write_text(make_folder((docs / name).parent) / Path(name).name, text)
