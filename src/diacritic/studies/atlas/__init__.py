"""The atlas: tasks that people use, each with a card of the memory it needs."""

from diacritic.studies.atlas.cards import Card, card
from diacritic.studies.atlas.engine import load, run
from diacritic.studies.atlas.entry import Checkouts, Entry
from diacritic.studies.atlas.listing import families
from diacritic.studies.atlas.pages import html, page

__all__ = ["Card", "Checkouts", "Entry", "card", "families", "html", "load", "page", "run"]
