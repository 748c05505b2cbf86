"""The catalogue: one file for each table or figure of the paper, each with its `STUDY` and its `FIGURES`."""

from types import ModuleType

from diacritic.studies.cell import Cell
from reproduction.beyond_paper import cells as past
from reproduction.catalogue import (
    attribution,
    community,
    corridor_certificates,
    cost,
    cue_corridor,
    dual,
    forecaster,
    full_reveal,
    gate_and_estimator,
    hidden_mass,
    interventions,
    leak_audit,
    learning_targets,
    lower_boundary,
    open_loop,
    pixels,
    plain_trajectories,
    readout,
    related_targets,
    replication,
    requirements,
    settings,
    side_information,
    signpost_corridor,
    statistics,
    surplus,
    t0,
    tier_16,
    toys,
    weighing,
)
from reproduction.catalogue.settings import NOT_RESULTS
from reproduction.figure import Figure
from reproduction.paper import PaperStudy

__all__ = ["CELLS", "FIGURES", "NOT_RESULTS", "STUDIES"]

_FILES: tuple[ModuleType, ...] = (
    learning_targets,
    plain_trajectories,
    requirements,
    settings,
    hidden_mass,
    readout,
    t0,
    toys,
    cue_corridor,
    signpost_corridor,
    corridor_certificates,
    community,
    side_information,
    dual,
    full_reveal,
    tier_16,
    statistics,
    leak_audit,
    attribution,
    surplus,
    forecaster,
    open_loop,
    related_targets,
    lower_boundary,
    gate_and_estimator,
    interventions,
    replication,
    weighing,
    pixels,
    cost,
    past,
)
STUDIES: dict[str, PaperStudy] = {file.STUDY.name: file.STUDY for file in _FILES}
"""Every study by its name, in the order in which their runs are made."""
FIGURES: dict[str, tuple[Figure, ...]] = {file.STUDY.name: file.FIGURES for file in _FILES}
CELLS: tuple[Cell, ...] = tuple(cell for study in STUDIES.values() for cell in study.cells)
