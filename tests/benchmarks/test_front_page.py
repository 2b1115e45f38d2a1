"""Pictures and sentences of the front page, from figures that are made here."""

import json
from xml.etree import ElementTree

import pytest

from benchmarks import front_page


@pytest.fixture(autouse=True)
def figures(tmp_path, monkeypatch) -> None:
    def row(passing: int, avg: float, slowest: float) -> dict:
        counts = {"passing": passing, "refused": 10 - passing, "wrongly accepts": 0}
        return {"cases": 10, "counts": counts, "masks": {"avg": avg, "quantiles": {"max": slowest}}}

    rows = {"grammarlm": row(9, 2.0, 8e3), "grammarlm, schema order": row(8, 2.0, 8e3), "llguidance": row(5, 8.0, 1e3)}
    lark = {f"lark: {name}": {"avg": avg} for name, avg in (("grammarlm", 4e3), ("llguidance", 1e3), ("xgrammar", 2e3))}
    (tmp_path / "maskbench.json").write_text(json.dumps({"all": rows}))
    (tmp_path / "grammar_compiles.json").write_text(json.dumps({"figures": lark}))
    monkeypatch.setattr(front_page, "RESULTS", tmp_path)


def test_sentences() -> None:
    words = front_page.words()
    assert words["maskbench.passing"].startswith("90.00 % of MaskBench's 10 schemas pass (80.00 % where")
    assert "take 2 us on average, 8 ms at most (llguidance: 8 us on average, 1 ms at most)." in words["maskbench.masks"]
    assert words["maskbench.compiled"] == "9 (90.00 %) compile, 9 (90.00 %) pass, 1 (10.00 %) are refused by name."
    assert words["compiles.lark"] == "4 ms, where llguidance takes 1 and xgrammar 2."


def test_bars_are_as_long_as_their_figures() -> None:
    tree = ElementTree.fromstring(front_page.picture())
    bars = [float(each.get("width")) for each in tree.iter() if each.tag.endswith("rect")][
        1:
    ]  # the first is the ground
    whole = max(bars)
    assert [bar / whole for bar in bars] == pytest.approx([1, 5 / 9, 0.25, 1, 1, 0.25, 0.5], abs=1e-3)
