"""`grammarlm check` and `grammarlm inspect`: reports, refusals with their place, and what is allowed after a beginning."""

import io
import json
import re
import sys

import grammarlm as gl
from grammarlm.commands.refusal import refused
from grammarlm.vocab.byte_vocabulary import byte_vocabulary
from tests.commands.command_line import call

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 5}, "size": {"type": "integer", "minimum": 3}},
    "required": ["name"],
    "additionalProperties": False,
}


def test_a_report(capsys) -> None:
    code, out, err = call(capsys, "check", "--regex", "a+b")
    assert (code, err) == (0, "")
    assert re.match(r"compiled in [\d.]+ ms, [\d,]+ bytes\n", out)
    assert "grammar: Regex(pattern='a+b')" in out
    assert "relaxed: none" in out
    assert "max_ms=10000" in out


def test_texts_from_files_and_stdin(capsys, monkeypatch, tmp_path) -> None:
    file = tmp_path / "text"
    file.write_text("aab")
    assert call(capsys, "check", "--regex", "a+b", str(file)) == (0, f"{file}: accepted, 3 bytes\n", "")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"aab")))
    assert call(capsys, "check", "--regex", "a+b", "-")[:2] == (0, "-: accepted, 3 bytes\n")
    grammar = tmp_path / "grammar.lark"
    grammar.write_text('start: "a" start "b" | "c"')
    assert call(capsys, "check", "--lark", str(grammar), "--text", "aacbb")[0] == 0
    assert call(capsys, "check", "--lark", str(grammar), "--text", "aacb")[0] == 1


def test_what_is_allowed_after_a_beginning(capsys) -> None:
    code, out, err = call(capsys, "inspect", "--regex", "true|false|12+", "--text", "t")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:4] == ["after     't'", "may end   no", "bytes     'r'", "must come 'rue'"]
    assert re.match(r"tokens    \d of [\d,]+ are allowed$", lines[4])
    assert any(line.endswith("  'r'") for line in lines[5:])
    lines = call(capsys, "inspect", "--regex", "1[0-9]*", "--text", "1", "--tokens", "3")[1].splitlines()
    assert lines[1:4] == ["may end   yes", "bytes     '0' to '9'", "must come nothing in particular"]
    assert lines[4].endswith("; 3 of them:")
    assert len(lines) == 8
    assert call(capsys, "inspect", "--regex", "abc")[1].startswith("after     ''\nmay end   no\n")


def test_structural_tags(capsys, tmp_path) -> None:
    """Special tokens are read by their names."""
    schema = {"type": "json_schema", "json_schema": {"type": "integer"}}
    tag = {"type": "tag", "begin": {"type": "token", "token": "<|call|>"}, "content": schema, "end": "<|end|>"}
    asked = {"type": "token_triggered_tags", "trigger_tokens": ["<|call|>"], "tags": [tag], "at_least_one": True}
    path = tmp_path / "tag.json"
    path.write_text(json.dumps({"type": "structural_tag", "format": asked}))
    code, out, err = call(capsys, "check", "--response-format", str(path))
    assert (code, err) == (0, "")
    assert "compiled in" in out
    given = ("--response-format", str(path), "--text")
    assert call(capsys, "check", *given, "<|call|>12<|end|>")[1] == "--text: accepted, 17 bytes\n"
    code, _, err = call(capsys, "check", *given, '<|call|>"x"<|end|>')
    assert (code, "column 9" in err) == (1, True)
    code, _, err = call(capsys, "inspect", *given, "")  # which has a tokenizer
    assert (code, "has no token '<|call|>'" in err) == (1, True)
    path.write_text(json.dumps({"type": "structural_tag", "format": {**tag, "begin": "<call>"}}))
    assert "must come '<call>'" in call(capsys, "inspect", *given, "")[1]


def test_bytes_that_are_no_text() -> None:
    matcher = gl.compile(gl.Regex(b"[\\x80-\\xff]{3}"), byte_vocabulary()).matcher()
    assert refused(matcher, b"\xff\xfe\xfd", "x", whole=True) is None
    matcher.reset()
    assert refused(matcher, b"\xff\xfea", "x", whole=True) == (
        "x, line 1, column 3 (byte 2 of 3): it is 'a'; expected 0x80 to 0xff\n\ufffd\ufffda\n  ^"
    )


def test_schemas(capsys, monkeypatch, tmp_path) -> None:
    schema, instance = tmp_path / "schema.json", tmp_path / "instance.json"
    schema.write_text(json.dumps(SCHEMA))
    instance.write_text('{\n  "name": "Ada",\n  "size": 2\n}\n')
    code, out, err = call(capsys, "check", str(schema))
    assert (code, err) == (0, "")
    assert "JsonSchema" in out
    code, out, err = call(capsys, "check", str(schema), str(instance))
    assert (code, out) == (1, "")
    assert f"{instance}, line 3, column " in err
    instance.write_text('{"size": 3, "name": "Ada"}')
    assert call(capsys, "check", str(schema), str(instance))[0] == 0
    assert call(capsys, "check", str(schema), str(instance), "--property-order", "schema")[0] == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(SCHEMA).encode())))
    assert call(capsys, "check", "-", "--text", '{"name": "Ada"}')[0] == 0
    assert call(capsys, "check", '{"format": "ipv4"}', "--text", '"x"')[0] == 1
    assert call(capsys, "check", '{"format": "ipv4"}', "--text", '"x"', "--formats", "annotation")[0] == 0
