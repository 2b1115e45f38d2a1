"""Schemas and instances that others have labelled: the JSON Schema Test Suite, and a sample of MaskBench.

Judged by the meaning of the shapes alone (tests/oracles/json_shapes.py), so that a difference is a matter of reading the schema.
"""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from grammarlm.errors import GrammarError, UnsatisfiableGrammar, UnsupportedFeature
from grammarlm.grammars.json_schema.nodes.normalise import normalise
from grammarlm.grammars.json_schema.strings.languages import Languages
from tests.oracles.json_shapes import admits
from tests.oracles.json_values import read_json
from tests.real_data import MASKBENCH, SUITE, needs_data

pytestmark = needs_data
DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
# Refused by name: annotations below `not`, and an opposite of propertyNames that an undeclared key has to break.
REFUSED = {
    "collect annotations inside a 'not', even if collection is disabled",
    "multiple dynamic paths to the $recursiveRef keyword",
    "dynamic $recursiveRef destination (not predictable at schema compile time)",
}
EVERY = 40  # of MaskBench's schemas, one in so many
MISLABELLED = {
    "Github_medium---o3385.json"
}  # if/then in a draft-04 schema: the label is that of a reading that ignores them


def outcome(schema: Any, tests: list[tuple[Any, bool]], **options: Any) -> str:
    try:
        n = normalise(schema, languages=Languages(), **options)
    except UnsatisfiableGrammar:
        return "wrong" if any(valid for _, valid in tests) else "right"
    except UnsupportedFeature:
        return "refused"
    return "right" if all(admits(n.root, value, n.languages) is valid for value, valid in tests) else "wrong"


@pytest.fixture(scope="module")
def remotes() -> dict[str, Any]:
    folder = SUITE / "remotes"
    return {
        f"http://localhost:1234/{path.relative_to(folder).as_posix()}": json.loads(path.read_text(encoding="utf-8"))
        for path in folder.rglob("*.json")
    }


@pytest.mark.parametrize("draft", DRAFTS)
def test_the_schema_test_suite(draft: str, remotes: dict[str, Any]) -> None:
    refused = set()
    for path in sorted((SUITE / "tests" / draft).glob("*.json")):
        text = path.read_text(encoding="utf-8")
        groups = zip(json.loads(text, parse_float=Decimal), read_json(text), strict=True)
        for group, exact in groups:
            schema = group["schema"]
            if isinstance(schema, dict):
                schema = {"$schema": DRAFTS[draft], **schema}
            tests = [(test["data"], test["valid"]) for test in exact["tests"]]
            found = outcome(schema, tests, registry=remotes, formats="annotation")
            if found == "refused":
                refused.add(group["description"])
            else:
                assert found == "right", f"{path.name}: {group['description']}"
    assert refused <= REFUSED


def test_a_sample_of_maskbench() -> None:
    counts: Counter[str] = Counter()
    for path in sorted(MASKBENCH.glob("*.json"))[::EVERY]:
        text = path.read_text(encoding="utf-8")
        schema = json.loads(text, parse_float=Decimal)["schema"]
        tests = [(test["data"], test["valid"]) for test in read_json(text).get("tests", [])]
        try:
            found = outcome(schema, tests)
        except GrammarError:
            found = "broken"
        counts[found] += 1
        assert found != "wrong" or path.name in MISLABELLED, path.name
    assert counts["refused"] + counts["broken"] <= 0.02 * counts.total(), counts
