"""Mathematics in Markdown, typeset while the pages are built: $…$ in a line and $$…$$ on its own become MathML.

Browsers draw MathML themselves, so that a page carries no script and fetches no font for it.
"""

import re
from html import escape

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

_INLINE = r"(?<![\\$\w])\$(?![\s$])((?:[^$\\]|\\.)+?)(?<!\s)\$(?![\d$])"
_DISPLAY = r"(?<![\\$])\$\$((?:[^$\\]|\\.)+?)\$\$"
_PRIMED = re.compile(r"<msup>(<mi>[^<]*</mi>)(?=<mi>&#x02032;</mi></msup>)")
_REPAIRS = {  # of the converter: relations are operators, with their space, and a prime stands at its letter
    "<mi>&#x0007E;</mi>": "<mo>&#x0223C;</mo>",
    "<mi>:</mi>": "<mo>:</mo>",
    "<mi>&#x02032;</mi></msup>": '<mo lspace="0" rspace="0">&#x02032;</mo></mrow>',
}
_BEFORE_ESCAPES = 186  # after code in backticks (190), before escaped characters (180)


class _Formula(InlineProcessor):
    def __init__(self, pattern: str, md: Markdown, display: str):
        super().__init__(pattern, md)
        self.display = display

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:
        return self.md.htmlStash.store(mathml(m[1], self.display)), m.start(0), m.end(0)


def mathml(latex: str, display: str = "inline") -> str:
    """A formula as a MathML element whose alternative text is its LaTeX."""
    text = " ".join(latex.split())
    formula = _PRIMED.sub(r"<mrow>\1", convert(text, display=display))
    for wrong, right in _REPAIRS.items():
        formula = formula.replace(wrong, right)
    return formula.replace("<math", f'<math alttext="{escape(text)}"', 1)


class Mathematics(Extension):
    """$…$ and $$…$$ as MathML."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.inlinePatterns.register(_Formula(_DISPLAY, md, "block"), "display-formula", _BEFORE_ESCAPES + 1)
        md.inlinePatterns.register(_Formula(_INLINE, md, "inline"), "inline-formula", _BEFORE_ESCAPES)
        md.ESCAPED_CHARS.append("$")


def makeExtension(**options: object) -> Extension:
    return Mathematics(**options)
