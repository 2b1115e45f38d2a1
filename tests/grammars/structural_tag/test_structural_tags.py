"""Structural tags over the embedded tokenizer: a table of tags and texts, what is refused, sizes, saving."""

import json
import re
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.derived import Specials
from grammarlm.grammars.generated import as_generated
from grammarlm.grammars.repeat import Repeat
from grammarlm.grammars.structural_tag import formats
from grammarlm.models.tiny import FOLDER as EMBEDDED
from tests.corpus_files import tables
from tests.oracles.structural_tag import Oracle
from tests.real_data import needs_data, real_vocabulary

CASES, BAD = tables("structural_tags")["case"], tables("structural_tags")["bad"]
VOCAB = gl.Vocabulary.from_tokenizer(EMBEDDED)
SPECIAL = {VOCAB.token_bytes(token).decode(): token for token in (*VOCAB.special_ids, *VOCAB.stop_ids)}
NAMES = re.compile(r"(\\?<\|(?:pad|mask|end)\|>)")  # with a backslash: its letters
ANY_TEXT = {"type": "any_text"}


def tag_of(given: dict[str, Any]) -> dict[str, Any]:
    return given if "structures" in given else {"type": "structural_tag", "format": given}


def tagged(given: dict[str, Any], **options: Any) -> gl.Constraint:
    return gl.compile(gl.StructuralTag(tag_of(given), **options), VOCAB)


def follow(constraint: gl.Constraint, text: str) -> gl.Matcher | None:
    """The matcher after the text; None where it is refused."""
    matcher = constraint.matcher()
    for piece in NAMES.split(text):
        took = (
            matcher.advance(SPECIAL[piece])
            if piece in SPECIAL
            else matcher.advance_bytes(piece.removeprefix("\\").encode())
        )
        if not took:
            return None
    return matcher


def accepts(constraint: gl.Constraint, text: str) -> bool:
    matcher = follow(constraint, text)
    return matcher is not None and (matcher.is_accepting or matcher.is_finished)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
def test_the_texts_of_a_tag(case: dict[str, Any]) -> None:
    constraint = tagged(json.loads(case["tag"]))
    for text in case["accepts"]:
        assert accepts(constraint, text), text
    for text in case.get("begins", ()):
        matcher = follow(constraint, text)
        assert matcher is not None, text
        assert not matcher.is_accepting, text
        assert matcher.min_tokens_left >= 1
    for text in case["refuses"]:
        assert follow(constraint, text) is None, text


# The oracle has no tokens by their ids, no grammars but by patterns, no stop tokens, no schema as text, and no order of properties.
TOLD = [
    case
    for case in CASES
    if not re.search(
        r'grammar"|"token": \d|_tokens": \[2|\[0, |<\|ma"|<\|end|structures|_order|m3|v4|cohere|gemma|_parameter',
        case["tag"],
    )
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in TOLD])
def test_the_oracle_of_the_random_tags_agrees_with_the_table(case: dict[str, Any]) -> None:
    oracle = Oracle(tag_of(json.loads(case["tag"])), ("<|mask|>", "<|pad|>"))
    for text in case["accepts"]:
        assert oracle.accepts(text.replace("\\<|", "\\"))
    for text in case.get("begins", ()):
        assert not oracle.accepts(text.replace("\\<|", "\\"))


@pytest.mark.parametrize("case", [pytest.param(case, id=case["words"]) for case in BAD])
def test_what_is_refused(case: dict[str, Any]) -> None:
    text = case.get("tag") or f'{{"type": "structural_tag", "format": {case["format"]}}}'
    with pytest.raises(gl.GrammarError) as caught:
        gl.compile(gl.StructuralTag(text), VOCAB)
    assert type(caught.value) is getattr(gl, case.get("error", "GrammarError"))
    assert case["words"] in str(caught.value)
    if case["where"] != "-":
        assert caught.value.pointer == case["where"]
        assert str(caught.value).startswith(f"{case['where'] or '#'}: ")


def test_other_types_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="a dict or JSON text, not list"):
        gl.StructuralTag([])  # type: ignore[arg-type]
    with pytest.raises(gl.GrammarError, match="is no JSON"):
        gl.StructuralTag({"format": {1, 2}})


def nested(depth: int, kind: str) -> str:
    begins = {"tag": '{"type": "tag", "begin": "<", "end": ">", "content": ', "or": '{"type": "or", "elements": [',
              "repeat": '{"type": "repeat", "min": 0, "max": 2, "content": '}  # fmt: skip
    ends = {"tag": "}", "or": "]}", "repeat": "}"}
    inner = begins[kind] * depth + '{"type": "const_string", "value": "x"}' + ends[kind] * depth
    return f'{{"type": "structural_tag", "format": {inner}}}'


@pytest.mark.parametrize("kind", ["tag", "or"])
def test_depths(kind: str) -> None:
    depth = formats.DEEPEST - 1
    around = ("<" * depth, ">" * depth) if kind == "tag" else ("", "")
    assert accepts(gl.compile(gl.StructuralTag(nested(depth, kind)), VOCAB), "x".join(around))
    for deeper in (depth + 1, 1_000, 100_000):
        with pytest.raises(gl.LimitExceeded, match="flatten it"):
            gl.compile(gl.StructuralTag(nested(deeper, kind)), VOCAB)


def test_a_deep_dict() -> None:
    deep: dict[str, Any] = ANY_TEXT
    for _ in range(100_000):
        deep = {"type": "star", "content": deep}
    with pytest.raises(gl.LimitExceeded, match="nested too deeply; flatten it"):
        gl.StructuralTag(tag_of(deep))
    while "content" in deep:  # its destructor would recurse
        deep = deep.pop("content")


def test_the_clock_runs_while_a_tag_is_read() -> None:
    tags = [
        {"begin": f"<f{n}>", "content": {"type": "json_schema", "json_schema": True}, "end": "."} for n in range(20_000)
    ]
    tag = {"type": "triggered_tags", "triggers": ["<f"], "tags": tags}
    with pytest.raises(gl.LimitExceeded, match="max_ms"):
        gl.compile(gl.StructuralTag(tag_of(tag)), VOCAB, limits=gl.Limits(max_ms=20))


def test_it_is_a_description_like_others() -> None:
    tag = tag_of(
        {"type": "tag", "begin": "<a>", "content": {"type": "json_schema", "json_schema": True}, "end": "<|pad|>"}
    )
    grammar = gl.StructuralTag(tag)
    assert grammar == gl.StructuralTag(json.dumps(tag))
    assert hash(grammar) == hash(gl.StructuralTag(tag))
    assert grammar != gl.StructuralTag(tag_of(ANY_TEXT))
    tag["format"] = {}  # was copied
    constraint = gl.compile(grammar, VOCAB)
    assert gl.Constraint.from_bytes(constraint.to_bytes(), VOCAB).grammar == grammar
    assert repr(grammar).startswith('StructuralTag(\'{"type": "structural_tag"')
    assert accepts(constraint, "<a>[1 , 2]<|pad|>")
    written = gl.compile(as_generated(grammar), VOCAB)
    assert accepts(written, "<a>[1, 2]<|pad|>")
    assert not accepts(written, "<a>[1 , 2]<|pad|>")
    assert written.as_generated is written


def test_it_combines_with_others() -> None:
    tag = gl.StructuralTag(tag_of({"type": "tag", "begin": "<a>", "content": ANY_TEXT, "end": "</a>"}))
    combined = gl.compile("(" + Repeat(tag, separator=",") + ")" | gl.Text(max_chars=1), VOCAB)
    assert all(accepts(combined, text) for text in ("()", "(<a>,</a>,<a></a>)", "x"))
    assert follow(combined, "(<a></a><") is None
    short = gl.compile(tag & gl.Text(max_chars=8), VOCAB)
    assert accepts(short, "<a>x</a>")
    assert follow(short, "<a>xy</") is None


def test_a_token_without_a_vocabulary() -> None:
    with pytest.raises(gl.UnsupportedFeature, match="/format: a token"):
        gl.StructuralTag(tag_of({"type": "token", "token": "<|pad|>"})).grammar(Specials(()))


def test_text_of_so_many_tokens() -> None:
    content = {"type": "any_text", "max_tokens": 3, "excludes": ["!"]}
    constraint = tagged({"type": "tag", "begin": "<a>", "content": content, "end": "</a>"})
    matcher, mask = constraint.matcher(), gl.allocate_mask(1, VOCAB.size)
    assert matcher.advance_bytes(b"<a>")
    letter = VOCAB.encode("x")[-1]
    bang = VOCAB.encode("!")[-1]
    for _ in range(3):
        matcher.fill_mask(mask)
        assert mask[0, letter // 32] >> (letter % 32) & 1
        assert not mask[0, bang // 32] >> (bang % 32) & 1
        assert matcher.advance(letter)
    assert not matcher.advance(letter)
    assert matcher.advance_bytes(b"</a>")
    assert matcher.is_accepting


@needs_data
@pytest.mark.parametrize("name", ["llama3_1", "qwen3"])
def test_real_tokenizers(name: str) -> None:
    """Calls in text, however tokens cut them; special tokens by their ids; tokens that are text by theirs."""
    vocab = real_vocabulary(name)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    begin, content = '<tool_call>\n{"name": "f", "arguments": ', {"type": "json_schema", "json_schema": schema}
    tag = {"type": "tag", "begin": begin, "content": content, "end": "}\n</tool_call>"}
    whole = {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [tag]}
    constraint = gl.compile(gl.StructuralTag(tag_of(whole)), vocab)
    call = '<tool_call>\n{"name": "f", "arguments": {"a": "</tool_call>"}}\n</tool_call>'
    text = f"Let me see: {call}\n{call} <tool_cal"
    tokens = [token for token in vocab.encode(text) if token not in vocab.special_ids]
    matcher = constraint.matcher()
    assert all(map(matcher.advance, tokens))
    assert matcher.is_accepting
    assert constraint.matcher().advance_bytes(text.encode())
    assert not constraint.matcher().advance_bytes(b"x <tool_call>{")

    special, other = {"llama3_1": ("<|start_header_id|>", " the"), "qwen3": ("<|box_start|>", "<think>")}[name]
    ends = {"begin": {"type": "token", "token": special}, "end": {"type": "token", "token": other}}
    held = gl.compile(gl.StructuralTag(tag_of({**tag, **ends})), vocab)
    first = next(token for token in vocab.special_ids if vocab.token_bytes(token).decode() == special)
    last = next(token for token in range(vocab.size) if vocab.token_bytes(token) == other.encode())
    matcher = held.matcher()
    assert not matcher.advance_bytes(special.encode())
    assert matcher.advance(first)
    assert matcher.advance_bytes(b'{"a": "x"}')
    assert not matcher.advance_bytes(other.encode()[:2])
    assert matcher.advance(last)
    assert matcher.is_accepting
