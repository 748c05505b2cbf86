"""What all cells of a table share goes to its caption; their labels show what differs."""

from collections.abc import Iterable
from dataclasses import dataclass

from diacritic.studies.cell import Cell


@dataclass(frozen=True)
class Labels:
    """The settings that every cell of a table has, such as β=0.001, and whether learner and preset are among them."""

    shared: tuple[str, ...]
    learner: str | None
    preset: str | None

    @staticmethod
    def of(cells: Iterable[Cell]) -> "Labels":
        shown = list(cells)
        if len(shown) < 2:
            return Labels((), None, None)
        words = [cell.name.split(" ") for cell in shown]
        shared = tuple(word for word in words[0] if "=" in word and all(word in other for other in words))
        learners, presets = {cell.learner for cell in shown}, {cell.preset for cell in shown}
        return Labels(shared, _only(learners), _only(presets))

    def name(self, cell: Cell) -> str:
        return " ".join(word for word in cell.name.split(" ") if word not in self.shared)

    def parts(self, cell: Cell) -> list[str]:
        """Name, learner and preset, as far as they differ."""
        told = [self.name(cell), None if self.learner else cell.learner, None if self.preset else cell.preset]
        return [part for part in told if part]

    @property
    def caption(self) -> str:
        """One sentence, or nothing."""
        told = [*self.shared, *([f"learner {self.learner}"] if self.learner else [])]
        told += [f"preset {self.preset}"] if self.preset else []
        return f"All cells: {', '.join(told)}." if told else ""


def _only(names: set[str]) -> str | None:
    return next(iter(names)) if len(names) == 1 else None


def short_names(names: Iterable[str]) -> tuple[dict[str, str], str]:
    """Names of cells without the settings that all cells of their task share, and the sentence that says these."""
    families: dict[str, list[list[str]]] = {}
    for name in dict.fromkeys(names):
        families.setdefault(name.split(" ")[0], []).append(name.split(" "))
    short: dict[str, str] = {}
    owners: dict[str, list[str]] = {}
    for family, cells in families.items():
        common = [word for word in cells[0][1:] if len(cells) > 1 and all(word in other for other in cells)]
        short |= {" ".join(words): " ".join(word for word in words if word not in common) for words in cells}
        if common:
            owners.setdefault(" ".join(common), []).append(family)
    said = "; ".join(f"{', '.join(tasks)}: {common}" for common, tasks in owners.items())
    return short, f"Settings that are not shown: {said}." if said else ""
