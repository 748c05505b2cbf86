"""Dot charts hold rounded values with their intervals, and the run of each dot."""

from diacritic.report.charts import dots, mark


def test_marks_keep_interval_and_run_where_they_have_them():
    assert mark(0.123456, 1, "text") == {"x": 0.1235, "series": 1, "text": "text"}
    assert mark(0.5, 0, "t", (0.25, 0.75), "run-1") == {
        "x": 0.5,
        "series": 0,
        "text": "t",
        "ends": [0.25, 0.75],
        "run": "run-1",
    }


def test_rows_and_series_are_named():
    drawn = dots("label", "axis", [("ours", "good")], [("row", [mark(1.0, 0, "all")])])
    assert drawn["series"] == [{"name": "ours", "style": "good"}]
    assert [row["name"] for row in drawn["rows"]] == ["row"]
