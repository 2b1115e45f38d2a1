"""The oracle for JSON Schema against verdicts that others gave: the official suite and MaskBench's labels; deviations by name."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.corpus_files import tables
from tests.counts import tiers
from tests.oracles import ecma_regex
from tests.oracles.json_schema_oracle import Judge, NoVerdict, valid
from tests.oracles.json_values import NoJson, identity, read_json
from tests.real_data import MASKBENCH, SUITE, needs_data

META = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}

# File of the suite -> on how many of its tests, at most, the oracle says otherwise.
VOCABULARY = {"vocabulary": 1}  # a metaschema without the validation vocabulary: its keywords still count
FORMATS_AND_OPTIONS = {
    "cross-draft": 1,  # prefixItems counts in draft 2019-09 too
    "date-time": 2,  # leap seconds refused
    "duration": 10,  # signs, fractions, gaps, weeks beside other units
    "ecmascript-regex": 1,  # \\a is the letter a, as without the flag u
    "email": 10,  # whatever has an @
    "format-assertion": 2,  # formats="assert" is an option here, not a vocabulary
    "hostname": 26,  # punycode is not decoded
    "idn-hostname": 5,
    "iri": 4,  # IPv6 and characters beyond the first plane are refused
    "relative-json-pointer": 2,
    "time": 6,  # leap seconds
    "uri": 1,
    "uri-reference": 1,
    "uri-template": 9,
}
MISLABELLED = {"Github_medium---o3385.json"}  # its `then` does not count, which no draft with `if` says


def remotes() -> dict[str, object]:
    folder = SUITE / "remotes"
    return {
        f"http://localhost:1234/{f.relative_to(folder).as_posix()}": json.loads(f.read_text())
        for f in folder.rglob("*.json")
    }


def differing(files: list[Path], draft: str, reading: str) -> tuple[int, dict[str, int]]:
    """How many tests there were, and how many per file the oracle judged otherwise."""
    registry, count, wrong = remotes(), 0, Counter[str]()
    for file in files:
        formats = "assert" if file.parent.name == "format" else "annotation"
        for group in json.loads(file.read_text()):
            schema = group["schema"]
            if isinstance(schema, dict):
                schema.setdefault("$schema", META[draft])
            judge = Judge(schema, reading, formats=formats, registry=registry)
            for test in group["tests"]:
                count += 1
                wrong[file.stem] += judge.valid(json.dumps(test["data"])) is not test["valid"]
    return count, {name: number for name, number in wrong.items() if number}


@needs_data
@pytest.mark.parametrize("reading", ["auto", "declared"])
@pytest.mark.parametrize("draft", META)
def test_the_oracle_agrees_with_the_suite(draft: str, reading: str) -> None:
    count, wrong = differing(sorted((SUITE / "tests" / draft).glob("*.json")), draft, reading)
    assert count > 600
    assert wrong == (VOCABULARY if draft.startswith("draft2") else {})


@needs_data
def test_the_oracle_deviates_from_the_optional_tests_where_it_says() -> None:
    files = sorted((SUITE / "tests" / "draft2020-12" / "optional").rglob("*.json"))
    count, wrong = differing(files, "draft2020-12", "auto")
    assert count > 900
    assert not {name: number for name, number in wrong.items() if number > FORMATS_AND_OPTIONS.get(name, 0)}


@needs_data
@tiers("every, least", (10, 2000), (1, 20_000))
def test_the_oracle_agrees_with_labels_of_maskbench(every: int, least: int, record_property: Any) -> None:
    count = 0
    for file in sorted(MASKBENCH.glob("*.json"))[::every]:
        case = read_json(file.read_bytes())
        if case["tests"] and file.name not in MISLABELLED:
            judge = Judge(case["schema"])
            for number, test in enumerate(case["tests"]):
                assert judge.valid_value(test["data"]) is test["valid"], (file.name, number)
                count += 1
    assert count > least
    record_property("cases", count)


@pytest.mark.parametrize("case", tables("oracles")["schema"], ids=lambda case: f"{case['schema']} {case['text']}")
def test_what_is_settled(case: dict[str, Any]) -> None:
    assert valid(json.loads(case["schema"]), case["text"]) is case["valid"]


def test_readings_and_options() -> None:
    assert valid({"$schema": META["draft4"], "const": 1}, 2, "declared")
    assert valid({"$schema": META["draft7"], "contains": {"const": 1}, "minContains": 2}, [1], "declared")
    assert valid({"format": "ipv4"}, '"x"', formats="annotation")
    assert valid({"$ref": "http://x.test/a"}, "1", registry={"http://x.test/a": {"type": "integer"}})
    for broken in ({"$ref": "http://x.test/a"}, {"$ref": "#"}, {"type": "any"}, {"pattern": "("}):
        with pytest.raises(NoVerdict):
            valid(broken, '"1"')


@pytest.mark.parametrize("case", tables("oracles")["pattern"], ids=lambda case: case["pattern"])
def test_patterns_are_those_of_ecma(case: dict[str, Any]) -> None:
    assert ecma_regex.found(case["pattern"], case["text"]) is case["found"]


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "a**", "a++", "(?i)a", "[b-a]", "[b--a]", "[a", "\\", r"\p{NoSuch}", r"\u{110000}", "(?P<a>b)"],
)
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(ecma_regex.BrokenPattern):
        ecma_regex.compiled(pattern)


def test_equal_values_have_one_identity() -> None:
    texts = ["1", "1.0", "10e-1", "0.1e1"]
    assert len({identity(read_json(text)) for text in texts}) == 1
    texts = ['"1"', "true", "1", "null", "[1]", "[true]", '["1"]', "{}", "[]", '""', '{"1":1}', '{"1":true}']
    assert len({identity(read_json(text)) for text in texts}) == len(texts)
    assert identity(read_json('{"a":1,"b":[2]}')) == identity(read_json('{"b":[2.0],"a":1}'))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 2",
        "{a:1}",
        "[1,]",
        "Infinity",
        '{"a":1,"a":2}',
        '"\\udc00\\ud800"',
        b"\xff",
        "\ufeff1",
        "1.",
        "+1",
        "'a'",
    ],
)
def test_what_is_no_json(text: "str | bytes") -> None:
    with pytest.raises(NoJson):
        read_json(text)
