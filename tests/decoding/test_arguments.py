"""What is passed to the wrong place, or misspelled: told apart, with what was meant."""

import re
from dataclasses import dataclass, fields
from enum import Enum, IntEnum
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Literal

import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.generate import start
from grammarlm.decoding.settings import NAMES, Settings
from tests.texts import BYTES

generate_module, stream_module = (import_module(f"grammarlm.decoding.{name}") for name in ("generate", "stream"))


def model(ids):
    return torch.zeros(*ids.shape, 257).index_fill(-1, torch.arange(48, 58), 1.0)


def generate(**arguments):
    return gl.generate(model, [65], vocab=BYTES, **arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: generate(max_token=5), "generate() has no argument max_token=; did you mean max_tokens=?"),
        (lambda: generate(max_new_tokens=5), "generate() has no argument max_new_tokens=; did you mean max_tokens=?"),
        (lambda: generate(json_schema={}), "generate() has no argument json_schema=; did you mean schema=?"),
        (lambda: generate(temprature=1), "generate() has no argument temprature=; did you mean temperature=?"),
        (lambda: generate(particles=5), "generate() has no argument particles="),
        (lambda: generate(method="smc", particle=5), "generate() has no argument particle=; did you mean particles=?"),
        (lambda: generate(method="awrs", xtra=5), "generate() has no argument xtra=; did you mean extra=?"),
        (lambda: generate(method="beam", candidates=5), "generate() has no argument candidates="),
        (lambda: gl.stream(model, [65], vocab=BYTES, max_token=5), "stream() has no argument max_token=; did you mean max_tokens"),
        (lambda: gl.Generator(model, vocab=BYTES, max_token=5), "Generator() has no argument max_token=; did you mean max_tokens"),
        (lambda: gl.Generator(model, vocab=BYTES)([65], max_token=5), "generate() has no argument max_token="),
        (lambda: gl.Generator(model, vocab=BYTES).stream([65], max_token=5), "stream() has no argument max_token="),
        (lambda: start(model, [65], vocab=BYTES, max_token=5), "start() has no argument max_token="),
        (lambda: gl.compile(gl.Regex("a"), BYTES, limit=1), "compile() has no argument limit=; did you mean limits=?"),
        (lambda: gl.JsonSchema({}, whitespaces="compact"), "JsonSchema() has no argument whitespaces=; did you mean whitespace=?"),
        (lambda: gl.Limits(max_mss=5), "Limits() has no argument max_mss=; did you mean max_ms=?"),
        (lambda: gl.Vocabulary.from_tokenizer("x", stop_id=[1]), "from_tokenizer() has no argument stop_id=; did you mean stop"),
        (lambda: generate(temp=1), "generate() has no argument temp=; did you mean temperature=?"),
        (lambda: generate(top=1), "generate() has no argument top=; did you mean top_k= or top_p=?"),
        (lambda: generate(system="x"), "generate() has no argument system=; there are batch_size"),
        (lambda: gl.decide(model, [65], vocab=BYTES, max_tokens=5), "decide() has no argument max_tokens=; there are"),
        (lambda: generate(messages=[]), "has no argument messages=; a conversation is the prompt itself"),
        (lambda: gl.stream(model, [65], vocab=BYTES, pattern="a"), "stream() has no argument pattern=; it is regex="),
        (lambda: gl.Text(untill="x"), "Text() has no argument untill=; did you mean until=?"),
        (lambda: gl.Repeat(gl.Regex("a"), sep=","), "Repeat() has no argument sep=; did you mean separator=?"),
        (lambda: gl.Capture(nam="a", part="b"), "Capture() has no argument nam=; did you mean name=?"),
        (lambda: gl.LogitsProcessor(None, max_token=3), "LogitsProcessor() has no argument max_token=; did you mean max_tokens"),
        (lambda: gl.rank(model, [65], ["a"], windows=3), "rank() has no argument windows=; did you mean window=?"),
        (lambda: generate(zzz=1), "generate() has no argument zzz=; there are batch_size, cache, chat_template"),
        (lambda: generate(**{"q" * 10_000: 1}), "generate() has no argument qqqq"),
    ],
)  # fmt: skip
def test_names(call, message):
    with pytest.raises(TypeError, match=re.escape(message)) as caught:
        call()
    assert len(str(caught.value)) <= 500


def test_every_argument_is_known_to_a_generator():
    people = gl.Generator(
        model, gl.Regex("[0-9]{2}"), vocab=BYTES, method="smc", particles=3, limits=gl.Limits(max_ms=900)
    )
    assert re.fullmatch("[0-9]{2}", people([65]).value)
    assert gl.Generator(model, vocab=BYTES, batch_size=3, progress=False)([65], max_tokens=2).text


@pytest.mark.parametrize("function", [gl.generate, gl.stream])
def test_the_signatures_show_the_settings(function):
    parameters = list(signature(function).parameters.values())
    named = {one.name: one.default for one in parameters if one.kind is one.KEYWORD_ONLY}
    assert named == {one.name: one.default for one in fields(Settings) if one.init}
    assert [one.name for one in (*parameters[:2], parameters[-1])] == ["model", "prompt", "options"]
    assert "the answer is one" in function.__doc__ or "events of an answer" in function.__doc__


@pytest.mark.parametrize("name", sorted(NAMES - {"method"}))
def test_generate_and_stream_pass_each_setting_on(name, monkeypatch):
    seen, given = [], object()
    monkeypatch.setattr(Settings, "__post_init__", lambda settings: None)
    for module in (generate_module, stream_module):
        monkeypatch.setattr(module, "prepare", lambda model, prompt, settings: 1 / seen.append(getattr(settings, name)))
    for function in (gl.generate, gl.stream):
        with pytest.raises(TypeError):
            function(model, [65], **{name: given})
    assert seen == [given, given]


def test_choices_that_are_numbers():
    out = generate(choices=[7, 12])
    assert (out.text, out.value, type(out.value)) == ("12", 12, int)
    assert generate(choices=[10**30, "x"]).value == 10**30
    values = {one.value for one in generate(choices=[-3, "x"], temperature=9.0, seed=1, n=60)}
    assert values == {-3, "x"}
    both = gl.generate(model, [[65], [66]], vocab=BYTES, choices=[5, 6])
    assert [out.value for out in both] == [5, 5]
    own = gl.generate(model, [[65], [66]], vocab=BYTES, choices=[[7], ["7"]])
    assert [out.value for out in own] == [7, "7"]
    with pytest.raises(ValueError, match="choices holds '1' and 1, which are one text; give one of them"):
        generate(choices=[1, "1"])
    for wrong in (1.5, True):
        with pytest.raises(TypeError, match=r"Choices.. takes strings; number 1 is"):
            generate(choices=["a", wrong])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"grammar": 'start: "a" rest\nrest: "b"'}, "it looks like gl.Lark(text)"),
        ({"grammar": "?start: a\n!a.2: /x/"}, "it looks like gl.Lark(text)"),
        ({"grammar": 'root ::= "a"'}, "it looks like gl.Gbnf(text), llama.cpp's, or gl.Ebnf(text)"),
        ({"grammar": 'root-a ::= "a"'}, "it looks like gl.Gbnf(text)"),
        ({"grammar": "[0-9]+"}, "there are gl.Lark(text), gl.Gbnf(text), gl.Ebnf(text) and regex=text"),
        ({"grammar": "words.lark"}, "a file is read by pathlib.Path(...).read_text()"),
        ({"grammar": {"type": "object"}}, "grammar is dict: {'type': 'object'}; a JSON schema or a Python type is schema="),
        ({"grammar": int}, "grammar is type <class 'int'>; a JSON schema or a Python type is schema="),
        ({"grammar": list[int]}, "a JSON schema or a Python type is schema="),
        ({"regex": re.compile("a")}, "regex is Pattern: re.compile('a'), compiled by re; pass its text"),
        ({"regex": gl.Regex("a")}, "regex is a gl.Regex; pass it as grammar="),
        ({"schema": gl.Regex("a")}, "schema is a gl.Regex; pass it as grammar="),
        ({"choices": gl.Choices(["a"])}, "choices is a gl.Choices; pass it as grammar="),
        ({"items": gl.Regex("a")}, "items is a gl.Regex; pass it as grammar="),
        ({"regex": gl.compile(gl.Regex("a"), BYTES)}, "regex is a compiled constraint; pass it as grammar="),
        ({"choices": gl.compile(gl.Regex("a"), BYTES)}, "choices is a compiled constraint; pass it as grammar="),
        ({"limits": 5}, "limits is int; it takes a gl.Limits"),
        ({"limits": {"max_ms": 5}}, "limits is dict; it takes a gl.Limits"),
    ],
)  # fmt: skip
def test_what_belongs_elsewhere(arguments, message):
    with pytest.raises(TypeError, match=re.escape(message)) as caught:
        generate(**arguments)
    assert len(str(caught.value)) <= 500


def test_compiled_constraints():
    """They are taken as they are, and their texts are read as their grammar's are."""
    limits = gl.Limits(max_ms=5000)
    for grammar in (gl.Regex("[0-9]{3}"), gl.Choices(["12", "9"]), gl.Tokens([[50, 51]])):
        constraint = gl.compile(grammar, BYTES, limits=limits)
        out, plain = generate(grammar=constraint), generate(grammar=grammar)
        assert (out.tokens, out.value) == (plain.tokens, plain.value)
        assert out.stats.cache_hit
        assert gl.Generator(model, constraint, vocab=BYTES)([65]).tokens == out.tokens
        both = gl.generate(model, [[65], [66]], vocab=BYTES, grammar=[constraint, None], max_tokens=4)
        assert both[0].tokens == out.tokens
        assert list(gl.stream(model, [65], vocab=BYTES, grammar=constraint))[-1].result.tokens == out.tokens
    with pytest.raises(ValueError, match="limits= is for what is compiled here"):
        generate(grammar=constraint, limits=limits)


def test_compiled_schemas_have_values():
    constraint = gl.compile(gl.JsonSchema(Literal[3, 5]), BYTES)
    for name in ("grammar", "schema"):
        assert generate(**{name: constraint}).value == 3
    written = gl.compile(gl.JsonSchema({"const": [1, {"a": None}]}, whitespace="compact"), BYTES)
    assert generate(schema=written).value == [1, {"a": None}]


def test_constraints_of_another_vocabulary():
    other = gl.Vocabulary([*(bytes([i]) for i in range(256)), b""], stop_ids=[255, 256])
    constraint = gl.compile(gl.Regex("[0-9]"), other)
    with pytest.raises(
        ValueError, match=r"stop ids \[255, 256\]>, and the model's is .* stop ids \[256\]>; pass vocab="
    ):
        generate(grammar=constraint)
    assert gl.generate(model, [65], vocab=other, grammar=constraint).value == "0"


def test_limits():
    grammar = {"regex": "([a-z]{1,40}x){1,40}[0-9]{300}"}
    for call in (
        lambda limits: generate(limits=limits, **grammar),
        lambda limits: list(gl.stream(model, [65], vocab=BYTES, limits=limits, **grammar)),
        lambda limits: gl.Generator(model, gl.Regex(grammar["regex"]), vocab=BYTES, limits=limits),
        lambda limits: generate(limits=limits, method="beam", **grammar),
    ):
        with pytest.raises(gl.LimitExceeded):
            call(gl.Limits(max_depth=1, max_states=1, max_ms=1e-6))
    assert generate(limits=gl.Limits(max_ms=20_000), regex="[0-9]{2}").value == "00"


class Colour(Enum):
    RED, NIGHT = "red", "midnight blue"


class Level(IntEnum):
    LOW, HIGH = 1, 10


class Mixed(Enum):
    A, B = "a", 1.5


def test_choices_of_an_enum():
    for choices in (Colour, list(Colour), Literal["red"]):
        out = generate(choices=choices)
        assert out.value == (Colour.RED if choices is not Literal["red"] else "red") or out.value is Colour.NIGHT
        assert out.text in ("red", "midnight blue")
    assert {one.value for one in generate(choices=Colour, temperature=9.0, seed=1, n=40)} == set(Colour)
    assert generate(choices=Level).value is Level.HIGH
    first, _ = gl.generate(model, [[65], [66]], vocab=BYTES, choices=[Level, Colour])
    assert first.value is Level.HIGH
    row = gl.infill(model, [-1] * 2, vocab=BYTES, mask_id=0, choices=Level)
    assert row.value is Level.HIGH
    with pytest.raises(TypeError, match=r"choices holds <Mixed.B: 1.5>, which stands for neither .* schema=Mixed"):
        generate(choices=Mixed)
    with pytest.raises(ValueError, match="another one with the same text"):
        generate(choices=[Level.LOW, Enum("One", {"A": "1"}).A])


@dataclass
class Person:
    name: str


class FakeTokenizer:
    def convert_tokens_to_ids(self, tokens):
        raise AssertionError

    def __call__(self, text):
        raise AssertionError


MESSAGES = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: generate(schema=[int, str]), "schema is a list of 2, but there is one prompt; a list goes with a list of"),
        (lambda: generate(schema=[len, print]), "grammar=gl.JsonSchema(a) | gl.JsonSchema(b)"),
        (lambda: generate(schema=Person("Ada")), "instance of Person: Person(name='Ada'); pass the class: schema=Person"),
        (lambda: generate(schema={"type": "function", "function": {}}), "pass that: schema['function']['parameters']"),
        (lambda: generate(schema={"type": "json_schema", "json_schema": {}}), "pass that: schema['json_schema']['schema']"),
        (lambda: generate(grammar=gl.Regex), "grammar is the class gl.Regex; pass one of its grammars: gl.Regex(...)"),
        (lambda: generate(grammar=Path("a.lark")), "gl.Lark(path.read_text())"),
        (lambda: gl.generate(model, MESSAGES, vocab=BYTES), "there is no tokenizer; pass tokenizer=, or the prompt as a text"),
        (lambda: gl.infill(model, [-1], vocab=BYTES, mask_id=0, prompt=MESSAGES), "a conversation is a list of messages; here"),
        (lambda: gl.generate(model, MESSAGES[0], vocab=BYTES), "it is one message; a conversation is a list of them: [message]"),
        (lambda: gl.generate(model, {"input_ids": [65]}, vocab=BYTES), "or its ids: prompt['input_ids']"),
        (lambda: gl.generate(model, torch.zeros(1, 7).long(), vocab=BYTES), "its shape is [1, 7]: one prompt is one row"),
        (lambda: gl.generate(model, ["a", None], vocab=BYTES), "number 1 is NoneType; a list of prompts has a text"),
        (lambda: gl.generate(model, [[65], [66, 10**6]], vocab=BYTES, regex="a", where=3), "where is int"),
        (lambda: gl.generate(model, [[65], []], vocab=BYTES), "prompt 1 of the list has no ids"),
        (lambda: gl.generate(FakeTokenizer(), [65], vocab=BYTES), "model is FakeTokenizer, a tokenizer; the model comes first"),
        (lambda: gl.generate(torch.nn.Linear, [65], vocab=BYTES), "model is the class Linear; pass a model"),
        (lambda: gl.infill(FakeTokenizer(), [-1], vocab=BYTES, mask_id=0), "model is FakeTokenizer, a tokenizer"),
        (lambda: gl.infill(model, [-1], vocab=BYTES, mask_id=0, prompt=["a", "b"]), "it takes one prompt here"),
        (lambda: gl.compile(gl.Regex("a"), BYTES, canonical_only="no"), "canonical_only=...) takes True or False, not 'no'"),
        (lambda: gl.compile(Person, BYTES), "not type, a class; see gl.JsonSchema(type)"),
        (lambda: gl.compile(gl.Regex, BYTES), "not type, a class; write gl.Regex(...)"),
        (lambda: gl.compile(Path("a.lark"), BYTES), "gl.Lark(path.read_text())"),
        (lambda: gl.fill_masks(gl.compile(gl.Regex("a"), BYTES).matcher(), None), "takes a list of matchers, not Matcher"),
        (lambda: gl.generate(model, [65], tokenizer=torch.nn.Linear(1, 1)), "tokenizer is Linear, a model"),
        (lambda: gl.generate(model, [65], tokenizer=BYTES), "tokenizer is a gl.Vocabulary; pass it as vocab="),
        (lambda: generate(draft=FakeTokenizer()), "draft is FakeTokenizer, a tokenizer"),
    ],
)  # fmt: skip
def test_what_an_application_passes_by_mistake(call, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)) as caught:
        call()
    assert len(str(caught.value)) <= 500


def test_a_tensor_of_ids_is_a_prompt():
    for prompt in (torch.tensor([65, 66]), torch.tensor([65, 66]).numpy(), (65, 66)):
        assert gl.generate(model, prompt, vocab=BYTES, choices=[7, 12]).value == 12
