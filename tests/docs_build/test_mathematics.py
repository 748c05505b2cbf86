"""Formulas become MathML, code and prices stay text."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from markdown import Markdown

from docs_build.mathematics import mathml

DOCS = Path(__file__).parents[2] / "docs"


def rendered(text: str) -> str:
    return Markdown(extensions=["docs_build.mathematics", "pymdownx.superfences"]).convert(text)


def test_formulas_in_a_line_and_on_their_own():
    page = rendered("Let $R_t = H(C_t \\mid O_t)$.\n\n$$\\sum_o P(o)$$\n")
    assert page.count("<math") == 2
    assert page.count('display="block"') == 1
    assert 'alttext="R_t = H(C_t \\mid O_t)"' in page
    assert "$" not in page


@pytest.mark.parametrize(
    "text", ["It costs $5, or $6.", "`$x$`", "```console\n$ python -m certify\n$ make\n```", "\\$x\\$", "a $ b $ c"]
)
def test_what_is_not_a_formula_stays_text(text: str):
    assert "<math" not in rendered(text)


@pytest.mark.parametrize("latex", ["h' \\sim h", "S_{h'}", "\\{x : y < 1\\}", "x'"])
def test_formulas_are_well_formed(latex: str):
    ElementTree.fromstring(mathml(latex))
    assert "<mi>&#x0007E;</mi>" not in mathml(latex)


def test_every_formula_of_the_theory_is_understood():
    source = (DOCS / "theory.md").read_text(encoding="utf-8")
    page = rendered(source)
    formulas = re.findall(r"<math.*?</math>", page)
    assert len(formulas) > 300
    for formula in formulas:
        words = "".join(ElementTree.fromstring(formula).itertext())
        assert "\\" not in words, formula
    assert "$" not in re.sub(r"<math.*?</math>|<code.*?</code>|<pre.*?</pre>", "", page, flags=re.S)
