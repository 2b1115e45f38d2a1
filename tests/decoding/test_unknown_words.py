"""Misspelt keywords and formats: one warning a schema wherever texts are generated, an error on request, silence without them."""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.json_schema import report
from grammarlm.integrations import llama_cpp
from grammarlm.integrations.serving.compiling import ServerCompiler
from grammarlm.masks.messages import unknown_words
from tests.texts import BYTES

torch = pytest.importorskip("torch")

SLIP = {"type": "object", "properties": {"a/b": {"type": "string", "maxLenght": 3}}, "maxProperties": 0}


@pytest.fixture(autouse=True)
def nothing_told() -> None:
    unknown_words.forget()


def by_bytes(ids: Any) -> Any:
    return torch.zeros(*ids.shape, 257)


def generated(schema: Any, **more: Any) -> None:
    gl.generate(by_bytes, [65], vocab=BYTES, schema=schema, max_tokens=80, **more)


def batched(schema: Any, **more: Any) -> None:
    gl.generate(by_bytes, [[65], [66]], vocab=BYTES, schema=[schema, {"type": "null"}], max_tokens=80, **more)


def beam(schema: Any, **more: Any) -> None:
    generated(schema, method="beam", beams=2, **more)


def streamed(schema: Any, **more: Any) -> None:
    for _ in gl.stream(by_bytes, [65], vocab=BYTES, schema=schema, max_tokens=80, **more):
        pass


def infilled(schema: Any, **more: Any) -> None:
    gl.infill(by_bytes, [-1] * 24, vocab=BYTES, mask_id=0, schema=schema, **more)


def held(schema: Any, **more: Any) -> None:
    gl.Generator(by_bytes, schema, vocab=BYTES, max_tokens=80, **more)([65])


def held_free(schema: Any, **more: Any) -> None:
    gl.Generator(by_bytes, vocab=BYTES, max_tokens=80)([65], schema=schema, **more)


def as_a_part(schema: Any, **more: Any) -> None:
    grammar = gl.Regex("x") + gl.JsonSchema(schema)
    gl.generate(by_bytes, [65], vocab=BYTES, grammar=grammar, max_tokens=80, **more)


def compiled_before(schema: Any, **more: Any) -> None:
    constraint = gl.compile(gl.JsonSchema(schema), BYTES)
    gl.generate(by_bytes, [65], vocab=BYTES, grammar=constraint, max_tokens=80, **more)


def processed(schema: Any, **more: Any) -> None:
    gl.LogitsProcessor([gl.compile(gl.JsonSchema(schema), BYTES), None], **more)


def processed_by_llama(schema: Any, **more: Any) -> None:
    llama_cpp.LogitsProcessor(gl.compile(gl.JsonSchema(schema), BYTES), **more)


ENTRIES: list[Callable[..., None]] = [
    generated, batched, beam, streamed, infilled, held, held_free, as_a_part, compiled_before, processed, processed_by_llama,
]  # fmt: skip


def told(*calls: Callable[[], None]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in calls:
            call()
    return [one for one in caught if issubclass(one.category, gl.SchemaWarning)]


@pytest.mark.parametrize("entry", ENTRIES)
def test_each_entry_warns_once_a_schema(entry: Callable[..., None]) -> None:
    (one,) = told(lambda: entry(SLIP), lambda: entry(SLIP), lambda: entry(dict(SLIP)))
    assert "/properties/a~1b/maxLenght: unknown keyword; did you mean 'maxLength'?" in str(one.message)
    assert one.filename == __file__  # the caller's line, not one of ours
    (other,) = told(lambda: entry(SLIP), lambda: entry({"enum": ["a"], "format": "phone"}))
    assert "/format: unknown format 'phone'" in str(other.message)


@pytest.mark.parametrize("entry", ENTRIES)
def test_each_entry_refuses_on_request(entry: Callable[..., None]) -> None:
    for _ in range(2):
        with pytest.raises(gl.UnsupportedFeature, match="did you mean 'maxLength'") as caught:
            entry(SLIP, unknown="refuse")
        assert caught.value.pointer == "/properties/a~1b/maxLenght"
    assert not told(lambda: entry({"type": "object", "maxProperties": 0}, unknown="refuse"))
    with pytest.raises(ValueError, match=r"unknown='ignore'; it takes 'warn' or 'refuse'"):
        entry(SLIP, unknown="ignore")


def test_one_schema_is_told_once_by_all_of_them() -> None:
    alone = [lambda entry=entry: entry(SLIP) for entry in ENTRIES if entry is not as_a_part]
    assert len(told(*alone)) == 1


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ({"propertes": {"a": {}}, "enum": [1]}, "/propertes: unknown keyword; did you mean 'properties'?"),
        ({"enum": ["a"], "format": "datetime"}, "/format: unknown format 'datetime'; did you mean 'date-time'?"),
        ({"enum": ["a"], "nullable": True}, '/nullable: OpenAPI 3.0\'s, null is not allowed by it: say "type"'),
        ({"enum": [{}], "items": {"anyOf": [{"minimun": 1}]}}, "/items/anyOf/0/minimun: "),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"enum": [1], "tpye": "integer"}}}, "/$defs/a/tpye: "),
        ({"enum": [1], **{f"w{n}": n for n in range(9)}}, "/w2: unknown keyword: no draft has it; and more"),
        ({"enum": [1], "x" * 3_000: 1}, "/xxx"),
    ],
)
def test_what_is_told(schema: Any, named: str) -> None:
    (one,) = told(lambda: generated(schema))
    assert named in str(one.message)
    assert 'unknown="refuse" makes them errors' in str(one.message)
    assert len(str(one.message)) <= 500


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "null", "title": "t", "description": "d", "default": {"maxLenght": 1}, "examples": [1], "$comment": "c"},
        {"type": "null", "x-order": 1, "x-": {"zzz": 1}, "readOnly": True, "writeOnly": True, "deprecated": False},
        {"type": "null", "example": 1, "xml": {}, "externalDocs": {}, "discriminator": {"propertyName": "a"}, "nullable": False},
        {"type": "null", "$schema": "http://json-schema.org/draft-07/schema#", "$id": "urn:a", "definitions": {"a": {}}},
        {"type": "object", "maxProperties": 0, "properties": {"maxLenght": {"format": "int32"}, "propertes": True}},
        {"enum": [{"maxLenght": 1}]},
        {"type": "string", "maxLength": 1, "contentEncoding": "base64", "contentMediaType": "text/plain"},
        True,
        '{"type": "null", "title": "as text"}',
    ],
)  # fmt: skip
def test_nothing_is_told_of_what_is_known(schema: Any) -> None:
    for way in ("warn", "refuse"):
        for entry in (generated, infilled):
            assert not told(lambda entry=entry, way=way: entry(schema, unknown=way))


def test_a_warning_that_is_made_an_error_is_raised_each_time() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", gl.SchemaWarning)
        for _ in range(2):
            with pytest.raises(gl.SchemaWarning, match="maxLenght"):
                generated(SLIP)


def test_hostile_schemas_are_looked_at_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for a meant word is made for those that are named, and not for a hundred thousand."""
    asked = []
    advice = report.about_keyword
    monkeypatch.setattr(report, "about_keyword", lambda *word: asked.append(word) or advice(*word))
    assert len(told(lambda: generated({"enum": [1], **{f"word {n}": n for n in range(20_000)}}))) == 1
    assert len(asked) <= unknown_words.NAMED + 1
    shared: Any = {"maxLenght": 1, "enum": [1]}
    for _ in range(60):  # 2^60 places
        shared = {"enum": [1], "prefixItems": [shared, shared]}
    assert len(told(lambda: generated(shared))) == 1
    monkeypatch.setattr(unknown_words, "LOOKED_AT", 50)
    late = {"enum": [1], "properties": {**{f"p{n}": {"minLength": 1} for n in range(60)}, "last": {"minLenght": 1}}}
    assert not told(lambda: generated(late))
    with pytest.raises(gl.UnsupportedFeature, match="/properties/last/minLenght"):
        generated(late, unknown="refuse")


def test_a_report_can_be_read_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It had the clock of the compile, so that it could be read for as long as max_ms."""
    many = {"type": "object", "properties": {f"p{n}": {"type": "string", "maxLenght": 3} for n in range(100)}}
    constraint = gl.compile(gl.JsonSchema(many), BYTES)
    now = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: now() + 3600)
    assert len(constraint.report.warnings) == 100
    assert len(told(lambda: gl.LogitsProcessor(constraint) and None)) == 1


def test_a_server_tells_its_log(caplog: pytest.LogCaptureFixture) -> None:
    def lines() -> Iterator[str]:
        return (record.message for record in caplog.records if "maxLenght" in record.message)

    compiler = ServerCompiler(BYTES)
    for _ in range(3):
        assert not told(lambda: compiler.compile(gl.JsonSchema(SLIP)) and None)
        compiler.clear()
    compiler.close()
    assert len(list(lines())) == 1
    assert caplog.records[0].name == "grammarlm.serving"
