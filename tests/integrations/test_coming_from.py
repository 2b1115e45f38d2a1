"""What the right columns of docs/guide/coming-from.md say, as code."""

import asyncio
from typing import Literal

import pytest
from pydantic import BaseModel, Field

import grammarlm as gl

pytest.importorskip("torch")

PROMPT = "Ada Turing (36) is a writer.\n"
ASK = [{"role": "user", "content": PROMPT}]


class Person(BaseModel):
    name: str = Field(max_length=8)
    age: int = Field(ge=0, le=99)


@pytest.fixture(scope="module")
def tiny():
    return gl.load_tiny()


@pytest.fixture(scope="module")
def m(tiny):
    return tiny[0]


@pytest.fixture(scope="module")
def short(tiny):
    return {"tokenizer": tiny[1], "max_tokens": 40}


@pytest.fixture(scope="module")
def vocab(tiny):
    return gl.Vocabulary.from_tokenizer(tiny[1], size=tiny[0].config.vocab_size)


def test_outlines(m, short):
    assert isinstance(gl.generate(m, PROMPT, schema=Person, **short).value, Person)
    assert isinstance(gl.Generator(m, Person, **short)(PROMPT).value, Person)
    assert gl.generate(m, PROMPT, choices=["a", "b"], **short).text in ("a", "b")
    assert gl.generate(m, PROMPT, schema=Literal["a", "b"], **short).text in ('"a"', '"b"')
    assert gl.generate(m, PROMPT, grammar=gl.Regex("[0-9]+"), **short).text.isdigit()
    assert len(gl.generate(m, [PROMPT, PROMPT], schema=Person, **short)) == 2
    assert list(gl.stream(m, PROMPT, schema=Person, **short))[-1].kind == "end"
    assert isinstance(gl.generate(m, ASK, schema=Person, **short).value, Person)
    assert isinstance(asyncio.run(gl.agenerate(m, PROMPT, schema=Person, **short)).value, Person)


def test_guidance_and_instructor(m, short, vocab):
    form = gl.Template("Name: {name}.", name=gl.Regex("[A-Z][a-z]{1,8}"))
    assert set(gl.generate(m, PROMPT, grammar=form, **short).value) == {"name"}
    aged = gl.Repeat(gl.Regex("-"), max=2) + (gl.Choices(["!"]) | "") + gl.Capture("age", gl.Regex("[0-9]"))
    assert gl.generate(m, PROMPT, grammar=aged, **short)["age"].isdigit()
    assert gl.generate(m, PROMPT, grammar=gl.Substring(PROMPT), **short).text in PROMPT
    assert gl.decide(m, ASK, choices=["spam", "no spam"]).value in ("spam", "no spam")
    sentence = "a" + gl.Choices(["b", "c"]) + gl.Regex("[0-9]") + gl.Text(until="\n")
    assert gl.compile(sentence, vocab).matcher().advance_bytes(b"ab1 and so on\n")


def test_special_tokens_and_the_order_of_properties(vocab):
    tool = gl.Token("<|pad|>") + gl.JsonSchema({"const": 1})  # a special token of this tokenizer, by its name
    assert gl.compile(tool | gl.JsonSchema({"const": 2}), vocab).matcher().advance(vocab.special_ids[0])
    two = {"properties": {"a": {}, "b": {}}}
    for given, is_taken in (({}, False), ({"property_order": "any"}, True)):
        matcher = gl.compile(gl.JsonSchema(two, **given), vocab).matcher()
        assert matcher.advance_bytes(b'{"b": 1, "a": 2}') == is_taken


@pytest.mark.parametrize(
    "grammar",
    [
        gl.JsonSchema('{"const": 17}'),
        gl.JsonSchema(True),
        gl.Regex("17"),
        gl.Ebnf('root ::= "17"'),
        gl.Lark('start: "17"'),
    ],
    ids=["schema", "any JSON", "regex", "ebnf", "lark"],
)
def test_xgrammar_and_llguidance(grammar, vocab):
    mask = gl.allocate_mask(2, vocab.size)
    matcher = gl.compile(grammar, vocab).matcher()
    assert matcher.fill_mask(mask, 1)
    assert matcher.advance_bytes(b"17")
    assert matcher.is_accepting
    assert not matcher.is_finished
    matcher.rollback(1)
    assert matcher.fork().validate(vocab.encode("17")) > 0
    assert gl.fill_masks([matcher, None], mask, threads=1) == [True, False]


def test_what_must_come(vocab):
    seventeen = gl.compile(gl.Regex("17"), vocab).matcher()
    assert seventeen.forced_bytes() == b"17"
    assert seventeen.advance(seventeen.forced_tokens()[0])
