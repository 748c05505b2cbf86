"""Figures, the HTML page, films; `diacritic.report(need, runs, out="report.html")` writes the page."""

from diacritic import callable_package

callable_package(__name__, "diacritic.report.page", "report")
