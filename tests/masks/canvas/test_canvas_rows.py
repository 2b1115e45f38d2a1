"""Partly filled rows of JSON texts against every way of filling them in: numbers, strings, blanks and keys cut in awkward places.

They stand in tests/corpus/canvas_rows.toml.
"""

import json
from functools import cache
from typing import Any

import pytest

from tests.corpus_files import raw, tables
from tests.counts import tiers
from tests.masks.canvas import canvas_cases
from tests.masks.canvas.canvas_cases import json_case
from tests.masks.canvas.canvas_law import Case
from tests.masks.canvas.substituted import canvas_behind, check_partial, check_steps, row_of

TABLES = tables("canvas_rows")
ROWS = [(entry, group) for entry in TABLES["case"] for group in entry["groups"]]


@cache
def case_of(group: str) -> Case:
    entry = TABLES["groups"][group]
    if "grammar" in entry:
        return canvas_cases.case_of({**entry, "bytes": True, "begins": ".*"})
    letters = entry.get("alphabet") or entry.get("tried")
    alphabet = bytes(range(256)) if letters is None else raw(letters)
    tokens = [raw(token) for token in entry["tokens"]]
    return json_case(json.loads(entry["schema"]), tokens, alphabet, "tried" in entry, **entry.get("options", {}))


@pytest.mark.parametrize(("entry", "group"), ROWS, ids=[f"{entry['name']}: {group}" for entry, group in ROWS])
@tiers("every", False, True)
def test_rows(entry: dict[str, Any], group: str, every: bool) -> None:
    """Each row is asked in one of its lengths, by turns; in the proof in all. Those of one length are asked of one canvas."""
    case, found, canvases = case_of(group), list[bool](), dict[int, object]()
    begun = row_of(case, 0, *map(raw, entry.get("after", [])))
    for number, pieces in enumerate(entry["rows"]):
        lengths = entry.get("lengths") or [len(pieces) + more for more in entry.get("more", [0])]
        for place, length in enumerate(lengths):
            if every or place == (number + len(group)) % len(lengths):
                row = row_of(case, length, *(raw(piece) if piece else None for piece in pieces))
                canvas = canvases.setdefault(length, canvas_behind(case, length, begun))
                found.append(check_partial(case, row, begun=begun, canvas=canvas))
                if "steps" in entry:
                    check_steps(case, row)
    if "completable" not in entry:
        assert any(found)
    elif entry["completable"] and not every:
        assert found == entry["completable"]
