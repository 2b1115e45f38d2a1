"""`grammarlm bench drafts` (SPEED-Bench): drafters side by side, with and without a grammar, every answer compared."""

import json

import pytest

from tests.commands.command_line import call

pytest.importorskip("transformers")

HELD = ["under a grammar", "without a grammar"]
ROWS = ["no draft", "forced runs", "skeleton", "copy"]


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.proof)])
def test_the_table_of_drafters(tmp_path, capsys, count):
    out = tmp_path / "drafts"
    code, printed, _ = call(
        capsys,
        "bench",
        "drafts",
        "--tasks",
        "edit,record",
        "--drafters",
        "skeleton,copy",
        "--peers",
        "lookup" if count == 1 else "lookup,assisted,universal,arctic",
        "--count",
        str(count),
        "--out",
        str(out),
    )
    assert code == 0
    report = (out / "report.md").read_text()
    assert printed[printed.index("## Under") :].strip() in report
    for heading in ("## Under a grammar", "## Without a grammar"):
        assert heading in report
    for figure in ("Forwards a token:", "Drafted tokens that are drawn, a forward:", "Ids read for each token:"):
        assert report.count(figure) == 2
    assert [line.split("|")[1].strip() for line in printed.splitlines() if line.startswith("|")][2:6] == ROWS
    figures = json.loads((out / "figures.json").read_text())
    assert list(figures) == [*HELD, "masks"]
    for tasks in (figures[held] for held in HELD):
        assert list(tasks) == ["edit", "record"]
        for costs in tasks.values():
            assert list(costs)[: len(ROWS)] == ROWS  # peers that are installed come after them
            assert len({cost["tokens"] for cost in costs.values()}) == 1  # the same answers
            assert costs["no draft"]["accepted"] == 0 < costs["no draft"]["forwards"]
            assert costs["copy"]["forwards"] <= costs["no draft"]["forwards"]
            assert 0 <= costs["copy"]["accepted"] <= costs["copy"]["drafted"]
    held = figures["under a grammar"]["record"]
    assert held["skeleton"]["forwards"] < 0.9 * held["no draft"]["forwards"]
    assert (
        figures["without a grammar"]["edit"]["copy"]["forwards"]
        < figures["without a grammar"]["edit"]["skeleton"]["forwards"]
    )


def test_an_answer_that_a_draft_changed_ends_the_run(tmp_path, capsys, monkeypatch):
    from grammarlm.bench.drafts import rows as drafts

    kept = drafts.measure

    def changed(model, tokenizer, asked, arguments, constrained):
        cost, texts = kept(model, tokenizer, asked, arguments, constrained)
        return cost, [text + "!" for text in texts] if "draft" in arguments else texts

    monkeypatch.setattr(drafts, "measure", changed)
    with pytest.raises(AssertionError, match="copy on list: an answer is not the one without a draft"):
        call(
            capsys,
            "bench",
            "drafts",
            "--tasks",
            "list",
            "--drafters",
            "copy",
            "--count",
            "1",
            "--out",
            str(tmp_path / "drafts"),
        )
