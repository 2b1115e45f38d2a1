"""Canvases of every kind of grammar against enumeration: rows, commits, best fills, the law of samples, rows between texts.

The cases stand in tests/corpus/canvases.toml.
"""

from typing import Any

import pytest

from grammarlm.masks.canvas.json import view
from grammarlm.masks.canvas.json.states.scales import Scale
from grammarlm.masks.canvas.stack.grammars import network
from grammarlm.masks.canvas.views import view_of
from tests.masks.canvas.canvas_cases import TABLES, case_of
from tests.masks.canvas.canvas_law import Case, check_edges, check_fills, check_law, check_rows

CASES: dict[str, dict[str, Any]] = {f"{each['family']}: {each['name']}": each for each in TABLES["case"]}
SCALES = {"shared": Scale(shares=True), "joined": Scale(joins=True)}


def counted(law: str) -> list[str]:
    """The cases that a law meets."""
    return [name for name, each in CASES.items() if of(each, law)]


def of(entry: dict[str, Any], key: str) -> int:
    """A count of a case, or of its family."""
    return int(entry.get(key, TABLES["families"][entry["family"]][key]))


@pytest.fixture
def case(name: str, monkeypatch: pytest.MonkeyPatch) -> Case:
    """With the tables that a large one of its kind has."""
    entry = CASES[name]
    if entry["family"] == "large":
        monkeypatch.setattr(network, "MANY_STATES", 0)
    if entry["family"] in SCALES:
        monkeypatch.setattr(view, "scales_of", lambda *given: (SCALES[entry["family"]],))
    made = case_of(entry)
    if entry["family"] == "large":
        assert view_of(made.constraint).table.operations, "it would be of no use here"
    return made


@pytest.mark.parametrize(
    ("name", "tier"),
    [
        *((name, "rows") for name in CASES),
        *(pytest.param(name, "many", marks=pytest.mark.proof) for name in CASES),
    ],
)
def test_rows_and_commits(case: Case, name: str, tier: str) -> None:
    count, lengths = of(CASES[name], tier), CASES[name]["lengths"]
    assert 0 < sum(check_rows(case, length, count) for length in lengths) < count * len(lengths)


@pytest.mark.parametrize("name", CASES)
def test_best_fills(case: Case, name: str) -> None:
    entry = CASES[name]
    lengths = entry["lengths"] if of(entry, "fills") > 8 else entry["lengths"][-1:]
    hard = sum(check_fills(case, length, of(entry, "fills")) for length in lengths)
    assert hard or of(entry, "fills") < 12 or len(case.rows(lengths[0])) < 4, "a choice position by position would do"


@pytest.mark.parametrize("name", counted("laws"))
def test_the_law_of_samples(case: Case, name: str) -> None:
    entry = CASES[name]
    compared = [check_law(case, length, of(entry, "laws"), of(entry, "most")) for length in entry["lengths"]]
    assert sum(compared) or len(case.rows(entry["lengths"][-1])) < 3


@pytest.mark.parametrize("name", CASES)
def test_between_texts(case: Case, name: str) -> None:
    length = max(CASES[name]["lengths"])
    assert check_edges(case, max(6, length) if "items" in CASES[name] else length, of(CASES[name], "edges"))
