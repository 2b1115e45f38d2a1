"""`python -m benchmarks.drafts` (SPEED-Bench): drafters side by side, with and without a grammar, every answer compared."""

import pytest

from benchmarks.drafts import __main__ as drafts
from benchmarks.drafts import rows

pytest.importorskip("transformers")

ROWS = ["no draft", "forced runs", "skeleton", "copy"]


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.proof)])
def test_the_table_of_drafters(tmp_path, count):
    pytest.importorskip("matplotlib")
    peers = ["lookup"] if count == 1 else ["lookup", "assisted", "universal", "arctic"]
    given = (
        "--tasks",
        "edit",
        "record",
        "--drafters",
        "skeleton",
        "copy",
        "--tokenizers",
        "tiny",
        "--count",
        str(count),
    )
    figures, notes = drafts.measured(drafts.parsed([*given, "--peers", *peers]))
    report = drafts.report_of(figures, notes)
    for heading in ("## Under a grammar", "## Without a grammar", "## Masks of a draft"):
        assert heading in report
    for figure in ("Forwards a token:", "Drafted tokens that are drawn, a forward:", "Ids read for each token:"):
        assert report.count(figure) == 2
    assert [line.split("|")[1].strip() for line in report.splitlines() if line.startswith("|")][2:6] == ROWS
    assert list(figures) == [*drafts.HELD, "masks"]
    for tasks in (figures[held] for held in drafts.HELD):
        assert list(tasks) == ["edit", "record"]
        for costs in tasks.values():
            assert list(costs)[: len(ROWS)] == ROWS  # peers that are installed come after them
            assert len({cost["tokens"] for cost in costs.values()}) == 1  # the same answers
            assert costs["no draft"]["accepted"] == 0 < costs["no draft"]["forwards"]
            assert costs["copy"]["forwards"] <= costs["no draft"]["forwards"]
            assert 0 <= costs["copy"]["accepted"] <= costs["copy"]["drafted"]
    held = figures["under a grammar"]["record"]
    assert held["skeleton"]["forwards"] < 0.9 * held["no draft"]["forwards"]
    free = figures["without a grammar"]["edit"]
    assert free["copy"]["forwards"] < free["skeleton"]["forwards"]
    drafts.draw(tmp_path / "drafts.png", figures)
    assert (tmp_path / "drafts.png").stat().st_size > 5_000


def test_an_answer_that_a_draft_changed_ends_the_run(monkeypatch):
    kept = rows.measure

    def changed(model, tokenizer, asked, arguments, constrained):
        cost, texts = kept(model, tokenizer, asked, arguments, constrained)
        return cost, [text + "!" for text in texts] if "draft" in arguments else texts

    monkeypatch.setattr(rows, "measure", changed)
    with pytest.raises(AssertionError, match="copy on list: an answer is not the one without a draft"):
        rows.rows_of_task("list", 1, ["copy"], True)
