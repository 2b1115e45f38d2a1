"""`grammarlm generate`: schemas and grammars, a batch of lines with resumption, the view of each token, and the page."""

import io
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest

import grammarlm as gl
from grammarlm.grammars.json_schema.read.schema_pointers import pointer_of, schema_pointers
from tests.commands.command_line import call_generate, write

pytest.importorskip("torch")

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 6}, "n": {"$ref": "#/$defs/n"}},
    "required": ["name", "n"],
    "additionalProperties": False,
    "$defs": {"n": {"enum": [1, 22, None, "</td><b>"]}},
}


def test_schemas_and_grammars(capsys, folder, tmp_path, monkeypatch) -> None:
    given = ("--model", folder, "--prompt", "the cat", "--temperature", "1.5", "--max-tokens", "60")
    schema = write(tmp_path / "order.schema.json", SCHEMA)
    for seed in range(3):
        code, out, err = call_generate(capsys, *given, "--schema", schema, "--seed", str(seed))
        assert (code, err) == (0, "")
        jsonschema.validate(json.loads(out), SCHEMA)
        inline = call_generate(capsys, *given, "--schema", json.dumps(SCHEMA), "--seed", str(seed), "--json")
        assert json.loads(inline[1])["value"] == json.loads(out)
    monkeypatch.setattr(sys, "stdin", io.StringIO("the cat"))
    assert (
        call_generate(capsys, "--model", folder, "--prompt", "-", *given[4:], "--schema", schema, "--seed", "2")[1]
        == out
    )
    for name, text in (
        ("a.gbnf", 'root ::= "x" root "y" | "z"'),
        ("a.ebnf", 'root ::= "x" root "y" | "z"'),
        ("A.LARK", 'start: "x" start "y" | "z"'),
    ):
        code, out, _ = call_generate(capsys, *given, "--grammar", write(tmp_path / name, text))
        assert code == 0
        assert re.fullmatch(r"(x*)z(y*)\n", out)
        assert out.count("x") == out.count("y")
    pattern = write(tmp_path / "a.regex", "x{2}z\n")  # the end of its line is no part of it
    assert call_generate(capsys, *given, "--grammar", pattern)[:2] == (0, "xxz\n")


def test_the_folder_of_an_encoder_decoder_model(capsys, tokenizer, tmp_path) -> None:
    import transformers

    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
    config = transformers.T5Config(
        vocab_size=len(tokenizer), decoder_start_token_id=0, pad_token_id=0, eos_token_id=2, **sizes
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    capsys.readouterr()  # transformers' bar
    code, out, err = call_generate(capsys, "--model", str(tmp_path), "--prompt", "the cat", "--choices", "cat,hat")
    assert (code, err) == (0, "")
    assert out in ("cat\n", "hat\n")


def test_methods_several_answers_and_healing(capsys, folder, model, tokenizer) -> None:
    """As generate() finds them."""
    given = ("--model", folder, "--prompt", "the c", "--regex", "[a-c]{3}", "--json")
    for options, asked in (
        (("--method", "beam", "--set", "beams=30", "--n", "2"), {"method": "beam", "beams": 30, "n": 2}),
        (("--heal",), {"heal": True}),
    ):
        code, out, err = call_generate(capsys, *given, *options)
        expected = gl.generate(model, "the c", tokenizer=tokenizer, regex="[a-c]{3}", **asked)
        assert (code, err) == (0, "")
        texts = [one.text for one in (expected if isinstance(expected, list) else [expected])]
        assert [json.loads(line)["text"] for line in out.splitlines()] == texts


LINES = [
    {"prompt": "the cat", "id": "a"},
    {"prompt": "a hat", "choices": ["red", "blue"]},
    {"promt": "x"},
    {"prompt": "x", "schema": SCHEMA, "id": 4},
    {"prompt": "x", "regex": "(a"},
    {"prompt": "a hat sat", "regex": "[0-9]{70}", "id": [6]},
    {"prompt": "x", "schema": "/etc/passwd"},
    [1],
    {"prompt": "the hat", "id": None},
]


@pytest.fixture
def lines(tmp_path) -> str:
    text = "\n".join(json.dumps(line) for line in LINES)
    return write(tmp_path / "lines.jsonl", f"{text}\n\n{{\n")


def test_a_line_for_each_line(capsys, folder, lines, tmp_path, monkeypatch) -> None:
    given = ("--model", folder, "--regex", "[a-z]{2,5}", "--max-tokens", "60", "--temperature", "1", "--seed", "3")
    code, out, err = call_generate(capsys, *given, "--jsonl", lines, "--batch-size", "3")
    assert code == 1
    assert err == "grammarlm: 10 lines, 4 answered, 6 at fault or cut: 3, 5, 6, 7, 8, 11\n"
    answers = {answer["line"]: answer for answer in map(json.loads, out.splitlines())}
    assert list(answers) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]
    assert [answer.get("id", "none") for answer in answers.values()][:9] == [
        "a",
        "none",
        "none",
        4,
        "none",
        [6],
        "none",
        "none",
        None,
    ]
    for number, message in (
        (3, "the key 'promt'"),
        (5, "line 1, column 1"),
        (6, "max_tokens"),
        (7, "it takes an object"),
        (8, "no object"),
        (11, ""),
    ):
        assert message in answers[number]["error"]
        assert "text" not in answers[number]
    for number, held in (
        (1, given[2:4]),
        (2, ("--choices", "red,blue")),
        (4, ("--schema", json.dumps(SCHEMA))),
        (9, given[2:4]),
    ):
        alone = call_generate(
            capsys, "--model", folder, "--prompt", LINES[number - 1]["prompt"], *held, *given[4:], "--json"
        )[1]
        assert json.loads(alone)["text"] == answers[number]["text"]
        assert json.loads(alone)["value"] == answers[number]["value"]
    assert call_generate(capsys, *given, "--jsonl", lines, "--batch-size", "1")[1] == out
    monkeypatch.setattr(sys, "stdin", io.StringIO(Path(lines).read_text()))
    assert call_generate(capsys, *given, "--jsonl", "-")[1] == out


def test_a_line_is_told_what_is_wrong_with_it_first(capsys, folder, tmp_path) -> None:
    """A misspelt key was told that nothing says what its answer is held to."""
    lines = write(tmp_path / "lines.jsonl", '{"promt": "x"}\n{"prompt": "x"}\n{\n')
    code, out, _ = call_generate(capsys, "--model", folder, "--jsonl", lines)
    errors = [json.loads(line)["error"] for line in out.splitlines()]
    assert code == 1
    assert errors[0].startswith("the line has the key 'promt'; there are prompt, messages")
    assert errors[1].startswith("neither the line nor the command says")
    assert errors[2].startswith("the line is no JSON: Expecting property name")


def test_a_batch_goes_on_where_it_was_cut(capsys, folder, lines, tmp_path) -> None:
    out = tmp_path / "answers.jsonl"
    given = ("--model", folder, "--jsonl", lines, "--regex", "[a-zé]{2,5}", "--out", str(out), "--batch-size", "2")
    code, printed, err = call_generate(capsys, *given)
    assert (code, printed) == (1, "")
    whole = out.read_text(encoding="utf-8")
    assert len(whole.splitlines()) == 10
    for kept in (0, 3):
        out.write_text("".join(whole.splitlines(keepends=True)[:kept]) + '{"line": 4, "te', encoding="utf-8")
        assert call_generate(capsys, *given, "--resume") == (code, "", err)
        assert out.read_text(encoding="utf-8") == whole
    out.unlink()
    assert call_generate(capsys, *given, "--resume") == (code, "", err)
    assert out.read_text(encoding="utf-8") == whole
    for other in (("--temperature", "1"), ("--max-tokens", "9")):
        code, _, err = call_generate(capsys, *given, *other, "--resume")
        assert code == 1
        assert "line 1 of" in err
    assert out.read_text(encoding="utf-8") == whole


class Page(HTMLParser):
    """Tags must be closed in order; what would be loaded or run is noted."""

    VOID = ("meta", "br")

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, dict]] = []
        self.texts: dict[str, str] = {}
        self.rows: list[list[str]] = []
        self.foreign: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        known = dict(attrs)
        links = [known[name] for name in ("src", "href", "action", "data") if name in known]
        self.foreign += [link for link in links if not link.startswith("#")] + [
            a for a, _ in attrs if a.startswith("on")
        ]
        if tag in ("script", "link", "iframe", "object", "img"):
            self.foreign.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in self.VOID:
            self.open.append((tag, known))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for tag, known in self.open:
            if "id" in known:
                self.texts[known["id"]] = self.texts.get(known["id"], "") + data
            if tag in ("td", "th"):
                self.rows[-1][-1] += data


def test_the_page(capsys, folder, tmp_path) -> None:
    schema = {**SCHEMA, "$defs": {"n": {"const": "</td><b>"}}}
    page, prompt = tmp_path / "out.html", 'the <b>cat & "hat"</b>'
    given = (
        "--model",
        folder,
        "--prompt",
        prompt,
        "--schema",
        json.dumps(schema),
        "--temperature",
        "1.5",
        "--max-tokens",
        "80",
    )
    texts = []
    for seed in range(4):
        options = (*given, "--seed", str(seed))
        code, out, err = call_generate(capsys, *options, "--report", str(page))
        assert (code, err) == (0, "")
        result = json.loads(call_generate(capsys, *options, "--json")[1])
        assert out == result["text"] + "\n"
        html = page.read_bytes().decode()
        assert "url(" not in html
        assert "@import" not in html
        read = Page(html)
        assert read.foreign == []
        assert (read.texts["prompt"], read.texts["answer"]) == (prompt, result["text"])
        assert json.loads(read.texts["grammar"]) == schema
        assert len(read.rows) == 1 + len(result["tokens"])
        for row, removed in zip(read.rows[1:], result["stats"]["mass_removed"], strict=True):
            assert abs(float(row[5].replace("~", "").rstrip("%")) / 100 - removed) <= 0.00051
        texts.append(result["text"])
        assert any("#/properties/n, #/$defs/n" in row[-1] for row in read.rows)
    assert any("<" in text for text in texts)  # else nothing of the kind was escaped


def test_the_view_is_on_stderr_and_the_answer_on_stdout(capsys, folder) -> None:
    given = ("--model", folder, "--prompt", "a", "--schema", json.dumps(SCHEMA), "--max-tokens", "60")
    result = json.loads(call_generate(capsys, *given, "--json")[1])
    code, out, err = call_generate(capsys, *given, "--explain")
    assert (code, out) == (0, result["text"] + "\n")
    lines = err.splitlines()
    assert lines[0].split()[:5] == ["token", "model", "after", "allowed", "removed"]
    assert {"at /name", "at /n", "at the whole"} <= set(lines)
    tokens = [line for line in lines[1:-1] if not line.startswith(("at ", "drafted", " ", "│", "├", "└"))]
    assert len(tokens) == len(result["tokens"])
    for line, removed in zip(tokens, result["stats"]["mass_removed"], strict=True):
        assert f"{removed:>8.1%}" in line
    assert lines[-1].startswith(f"{len(tokens)} tokens (")
    assert lines[-1].endswith("finished: " + result["finish_reason"])


def test_places_of_a_schema() -> None:
    schema = {
        "properties": {
            "a/b": {"items": [{"const": 1}, True], "additionalItems": {}},
            "l": {"prefixItems": [{}], "items": {"$ref": "#/$defs/x"}},
        },
        "patternProperties": {"^p": {}, "(?<n>x": {}},
        "additionalProperties": {"$ref": "#"},
        "allOf": [{"properties": {"a/b": {}}}],
        "$defs": {"x": {"anyOf": [{"properties": {"y": {}}}, {"$ref": "#/$defs/x"}]}},
    }
    for path, want in (
        ((), ["", "/allOf/0"]),
        (("a/b",), ["/properties/a~1b", "/allOf/0/properties/a~1b"]),
        (("a/b", 0), ["/properties/a~1b/items/0"]),
        (("a/b", 2), ["/properties/a~1b/additionalItems"]),
        (("l", 0), ["/properties/l/prefixItems/0"]),
        (("l", 1, "y"), ["/$defs/x/anyOf/0/properties/y"]),
        (("p",), ["/patternProperties/^p"]),
        (("q", "p"), ["/patternProperties/^p"]),
        (("q",), ["/additionalProperties", "", "/allOf/0"]),
        (("l", "no"), []),
    ):
        assert schema_pointers(schema, path) == want, path
    assert schema_pointers(True, ("a",)) == []
    assert pointer_of(("a/b", 0, "c~")) == "/a~1b/0/c~0"


def test_limits_and_answers_without_a_value(folder, capsys, tmp_path):
    """--limit names a limit of gl.Limits, for a prompt and for lines."""
    asked = ("--model", folder, "--prompt", "the cat", "--regex", "[a-z]{3}")
    code, out, _ = call_generate(capsys, *asked, "--limit", "max_ms=9000", "--limit", "max_states=1000")
    assert (code, bool(re.fullmatch("[a-z]{3}", out.strip()))) == (0, True)
    lines = write(tmp_path / "lines.jsonl", '{"prompt": "the"}\n')
    code, out, _ = call_generate(
        capsys, "--model", folder, "--jsonl", lines, "--regex", "[a-z]{2}", "--limit", "max_ms=8000"
    )
    assert (code, len(json.loads(out)["text"])) == (0, 2)
