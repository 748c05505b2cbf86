"""A picture comes first, its numbers are behind it."""

from markdown import markdown

from diacritic.report.markdown import figure, folded


def test_a_table_is_hidden_until_it_is_opened() -> None:
    text = figure("what is seen", "a.svg", "What it says.", "| a |\n|---|\n| 1 |", "1 row")
    html = markdown(text, extensions=["md_in_html", "tables"])
    picture, _, rest = html.partition("<details")
    assert '<a href="a.svg"><img alt="what is seen" src="a.svg" /></a>' in picture
    assert "<p>What it says.</p>" in picture
    assert rest.partition("</summary>")[0].endswith("The table: 1 row")
    assert "<td>1</td>" in rest.partition("</details>")[0]


def test_folded_lines_stand_alone() -> None:
    assert folded("s", ["x"])[-2:] == ["</details>", ""]
