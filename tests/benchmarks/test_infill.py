"""The part infill, on a network without training: it is right about nothing and never invalid under a grammar."""

import pytest
import torch

import grammarlm as gl
from benchmarks.samplers import answers as measuring
from benchmarks.samplers.answers import Filled, Way, measure, prompts, together
from benchmarks.samplers.infill import measured, report_of, with_all
from benchmarks.samplers.infill_picture import draw
from benchmarks.samplers.remembered import Remembered
from grammarlm.models.network import Network, Shape


@pytest.fixture(scope="module")
def pair():
    tokenizer = gl.load_tiny()[1]
    torch.manual_seed(2)
    return Network(Shape(len(tokenizer), hidden=32, layers=1, causal=False)).eval(), tokenizer


def test_figures_of_one_sampler(pair) -> None:
    asked = prompts(pair[1], "arithmetic", 3)
    held, free = measure(*pair, asked, [Way("fixed", 4, True), Way("fixed", 4, False)])
    assert (held.answers, held.invalid, held.refused, held.model_calls) == (3, 0, 0, 12)
    assert (free.right, free.invalid, free.model_calls) == (0, 3, 12)
    assert held.model_ms == free.model_ms > 0
    assert held.canvas_ms > 0


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


def test_answers_are_those_that_a_prompt_gets_alone(pair) -> None:
    network, tokenizer = pair
    asked = prompts(tokenizer, "list", 6)
    way = Way("confidence", 3, True)
    answering = measuring.Answering.of(network, tokenizer)
    lots = [*measuring.lots(asked, tokenizer)]
    assert sum(map(len, lots)) == 6
    for lot in lots:
        for one, out in zip(lot, answering.answers(lot, way), strict=True):
            alone = gl.generate(
                network,
                one.prompt,
                tokenizer=tokenizer,
                max_tokens=64,
                steps=3,
                grammar=measuring.compiled(one.form, answering.vocab),
            )
            assert (out.tokens, out.text) == (alone.tokens, alone.text)


def test_a_row_is_read_once_and_the_oldest_are_forgotten(monkeypatch) -> None:
    read = []

    def model(ids):
        read.extend(ids.tolist())
        return ids[..., None].float().expand(*ids.shape, 5)

    remembered = Remembered(model)
    rows = torch.tensor([[1, 2], [3, 4], [1, 2]])
    for _ in range(2):
        assert torch.equal(remembered(rows), rows[..., None].float().expand(3, 2, 5))
    assert read == [[1, 2], [3, 4]] or sorted(read) == [[1, 2], [3, 4]]
    assert remembered.rows == 2
    monkeypatch.setattr("benchmarks.samplers.remembered.MOST_BYTES", 2 * 2 * 5 * 4)
    remembered(torch.tensor([[5, 6]]))
    remembered(torch.tensor([[1, 2]]))  # the oldest but one: still known
    assert remembered.rows == 3
    remembered(torch.tensor([[3, 4]]))
    assert remembered.rows == 4


def test_a_grammar_without_a_canvas_is_said_to_have_none(pair, monkeypatch) -> None:
    monkeypatch.setattr(measuring, "has_canvas", lambda form, vocab: False)
    asked = prompts(pair[1], "arithmetic", 2)
    held, free = measure(*pair, asked, [Way("fixed", 2, True), Way("fixed", 2, False)])
    assert (held.answers, held.refused, held.right, held.invalid) == (2, 2, 0, 0)
    assert free.refused == 0
    report = report_of({"arithmetic": [held, free]})
    assert "at most: arithmetic 2." in report
    assert "| fixed |" in report
    assert "- / 0 (100)" in report


def test_an_answer_that_meets_a_limit_is_counted_as_refused(pair, monkeypatch) -> None:
    asked = prompts(pair[1], "arithmetic", 3)
    wanted = pair[1].encode(asked[1].prompt)
    write = gl.generate

    def limited(model, ids, **options):
        if wanted in ids:
            raise gl.LimitExceeded("a canvas at its limits")
        return write(model, ids, **options)

    monkeypatch.setattr(gl, "generate", limited)
    [held] = measure(*pair, asked, [Way("fixed", 2, True)])
    assert (held.answers, held.refused, held.invalid) == (3, 1, 0)


def test_an_invalid_answer_under_the_grammar_ends_the_run(pair) -> None:
    asked = prompts(pair[1], "arithmetic", 1)
    with pytest.raises(AssertionError, match="no text of the grammar of arithmetic"):
        measure(*pair, asked, [Way("fixed", 2, True)], judge=lambda one, out: False)


def test_figures_of_several_tasks_are_added_up() -> None:
    a = Filled("fixed", 4, True, 10, 3, 0, 1, 40, 100, 8.0, 20.0)
    b = Filled("fixed", 4, True, 30, 9, 0, 0, 120, 300, 4.0, 60.0)
    both = together([a, b])
    assert (both.answers, both.right, both.refused, both.model_calls, both.tokens) == (40, 12, 1, 160, 400)
    assert both.model_ms == 5.0  # of a call, over 40 of 8 ms and 120 of 4
    assert (both.canvas_ms_a_step, both.tokens_a_call) == (0.5, 2.5)
    assert list(with_all({"a": [a], "b": [b]})) == ["all tasks", "a", "b"]
    assert list(with_all({"a": [a]})) == ["a"]
