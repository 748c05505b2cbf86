"""The staircase of the front page is drawn from the certified answer."""

from pathlib import Path
from xml.etree import ElementTree

from docs_build.staircase import staircase

COMMITTED = Path(__file__).parents[2] / "docs" / "images" / "staircase.svg"


def test_the_committed_picture_is_what_is_drawn():
    text = staircase()
    words = [node.text for node in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    assert words.count("sees") == words.count("uses") == 2
    assert COMMITTED.read_text(encoding="utf-8") == text, "run python -m docs_build.pictures"
