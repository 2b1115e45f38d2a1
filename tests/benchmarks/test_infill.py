"""The part infill, on a network without training: it is right about nothing and never invalid under a grammar."""

import pytest
import torch

import grammarlm as gl
from benchmarks.samplers.answers import Way, measure, prompts
from benchmarks.samplers.infill import measured, report_of
from benchmarks.samplers.infill_picture import draw
from grammarlm.models.network import Network, Shape


@pytest.fixture(scope="module")
def pair():
    tokenizer = gl.load_tiny()[1]
    torch.manual_seed(2)
    return Network(Shape(len(tokenizer), hidden=32, layers=1, causal=False)).eval(), tokenizer


def test_figures_a_report_and_a_picture(pair, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    found = measured(*pair, ["arithmetic"], ["confidence", "blocks"], [2, 4], 1)
    report = report_of(found)
    assert "| right |" in report
    assert "| canvas, ms |" in report
    assert report.count("| blocks |") == 2
    assert "0 / 0 (100)" in report  # nothing is right; without the grammar all is invalid
    assert len(found["arithmetic"]) == 8
    draw(tmp_path / "infill.png", found["arithmetic"])
    assert (tmp_path / "infill.png").stat().st_size > 5_000


def test_an_invalid_answer_under_the_grammar_ends_the_run(pair) -> None:
    asked = prompts(pair[1], "arithmetic", 1)
    with pytest.raises(AssertionError, match="no text of the grammar of arithmetic"):
        measure(*pair, asked, [Way("fixed", 2, True)], judge=lambda one, out: False)
