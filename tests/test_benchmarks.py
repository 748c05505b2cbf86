"""What the pages say of speed is what the kept output of the benchmark says."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_costs_of_training_are_those_that_were_measured():
    found = json.loads((ROOT / "results" / "benchmarks" / "training-cuda.json").read_text())
    page = (ROOT / "docs" / "training.md").read_text()
    assert f"| one seed, literal loop | {found['literal_loop_s_per_run']:.0f} |" in page
    assert f"| one seed, captured | {found['carousel_1']['s_per_run']:.2f} |" in page
    for seeds in (8, 32, 64):
        assert f"| {seeds} seeds together | {found[f'carousel_{seeds}']['s_per_run']:.2f} |" in page
    assert f"| 32 seeds, full gradient | {found['full_gradient_32']['s_per_run']:.2f} |" in page
    assert f"| full-history Transformer, 8 seeds together | {found['full_history_8']['s_per_run']:.2f} |" in page
    assert f"8 seeds together | {found['forecaster_8_s_per_run']:.2f} |" in page
    assert f"comes after {found['first_update_s']:.1f} s" in page
    assert f"all offsets, 8 seeds together | {found['all_offsets_8']['s_per_run']:.2f} |" in page
    for codes in ("16", "1024"):
        each = found[f"identification_{codes}_codes_8"]["s_per_run"]
        assert f"identification, {int(codes):,} codes, 8 seeds together | {each:.2f} |" in page
    agreement = found["to_sufficiency"]["agreement"]
    assert agreement["beyond_1e-5"] == 0
    assert f"No code of {agreement['steps']:,} is farther" in page
    errors = [f"{found[f'gradient_error_{kind}']:.1e}" for kind in ("float32", "bfloat16")]
    assert all(error in page for error in errors)


def test_the_table_of_targets_trains_as_fast_as_the_page_says():
    found = json.loads((ROOT / "results" / "benchmarks" / "studies-cuda.json").read_text())
    page = (ROOT / "docs" / "training.md").read_text()
    runs = sum(one["runs"] for one in found["cohorts"])
    average = sum(one["runs"] * one["s_per_run"] for one in found["cohorts"]) / runs
    assert f"{runs} runs of the table of learning targets take {average:.2f} s each" in page
