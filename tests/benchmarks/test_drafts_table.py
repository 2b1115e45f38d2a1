"""`python -m benchmarks.drafts` (SPEED-Bench): drafters side by side, with and without a grammar, every answer compared."""

import pytest

from benchmarks.drafts import __main__ as drafts
from benchmarks.drafts import rows
from training.corpus import Example

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
        "--at-once",
        "1",
        "4",
        "--mixed",
        str(4 * count),
    )
    figures, notes = drafts.measured(drafts.parsed([*given, "--peers", *peers]))
    report = drafts.report_of(figures, notes)
    for heading in (
        "## Under a grammar",
        "## Under a grammar, several answers at once",
        "## Without a grammar",
        "## Masks of a draft",
    ):
        assert heading in report
    for figure in ("Forwards a token:", "Drafted tokens that are drawn, a forward:", "Ids read for each token:"):
        assert report.count(figure) == 2
    assert [line.split("|")[1].strip() for line in report.splitlines() if line.startswith("|")][2:6] == ROWS
    at_once = [f"{held}, at once" for held in drafts.HELD]
    assert sorted(figures) == sorted([*drafts.HELD, *at_once, "masks"])
    assert report.count("All answers are those without a draft.") == (4 if count == 1 else report.count("All answers"))
    for costs in (costs for held in at_once for costs in figures[held].values()):
        assert list(costs) == ROWS
        assert {(cost["answers"], cost["differ"]) for cost in costs.values()} == {(8 * count, 0)}
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


def test_answers_that_a_draft_changed_are_counted(monkeypatch):
    kept = rows.measure

    def changed(model, tokenizer, asked, arguments, *others):
        cost, texts = kept(model, tokenizer, asked, arguments, *others)
        return cost, [text + "!" for text in texts] if "draft" in arguments else texts

    monkeypatch.setattr(rows, "measure", changed)
    found = rows.rows_of_task("list", 2, ["copy"], True)
    assert {name: cost.differ for name, cost in found.items()} == {"no draft": 0, "forced runs": 0, "copy": 2}
    assert drafts.unequal({"list": found}) == ["- copy, list: 2 of 2 answers (100.0%) are others"]


def test_prompts_of_one_form_are_answered_together():
    asked = [Example("task", form, "", "") for form in "abaaabc"]
    assert list(rows.batches(asked, 2)) == [("a", [0, 2]), ("a", [3, 4]), ("b", [1, 5]), ("c", [6])]
