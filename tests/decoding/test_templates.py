"""Templates in answers: the value is a dict of the holes, wherever the template stands."""

from dataclasses import dataclass

import pytest

import grammarlm as gl
from tests.decoding.planted import writing_bytes
from tests.texts import BYTES

torch = pytest.importorskip("torch")


@dataclass
class Small:
    n: int

    def __post_init__(self) -> None:
        if self.n == 0:
            raise ValueError("nothing is small enough")


WORD, NUMBER = gl.Regex("[a-z]+"), gl.Regex("[0-9]+")
ONE = gl.Template("{name} is {age}.", name=WORD, age=int)
ALONE = gl.Template("<{n}>", n=int)
CASES = {  # grammar, text, value, named parts
    "one": (ONE, "ada is 36.", {"name": "ada", "age": 36}, {"name": "ada", "age": 36}),
    "one hole, a schema": (ALONE, "<7>", {"n": 7}, {"n": 7}),
    "one hole, no schema": (gl.Template("{w}", w=WORD), "ab", {"w": "ab"}, {"w": "ab"}),
    "no hole": (gl.Template("ab"), "ab", {}, {}),
    "choices": (gl.Template("{a}{b}", a=["x", "y"], b=[3, 12]), "x12", {"a": "x", "b": 12}, {"a": "x", "b": 12}),
    "beside text": ("So: " + ALONE + "!", "So: <7>!", {"n": 7}, {"n": 7}),
    "an alternative": (ALONE | "none", "<7>", {"n": 7}, {"n": 7}),
    "the other alternative": (ALONE | "none", "none", "none", {}),
    "repeated": (
        gl.Repeat(ONE, separator="\n"),
        "ada is 36.\nbo is 1.",
        [{"name": "ada", "age": 36}, {"name": "bo", "age": 1}],
        {"name": ["ada", "bo"], "age": [36, 1]},
    ),
    "repeated not once": (gl.Repeat(ONE), "", [], {"name": [], "age": []}),
    "named": (
        gl.Capture("who", ONE) + gl.Capture("rest", WORD),
        "ada is 36.ab",
        {"name": "ada", "age": 36},
        {"who": {"name": "ada", "age": 36}, "name": "ada", "age": 36, "rest": "ab"},
    ),
    "a template in a hole": (
        gl.Template("{a}, {b}", a=ONE, b=NUMBER),
        "ada is 36., 1",
        {"a": {"name": "ada", "age": 36}, "b": "1"},
        {"a": {"name": "ada", "age": 36}, "name": "ada", "age": 36, "b": "1"},
    ),
    "names within a hole": (
        gl.Template("{a}", a=gl.Capture("b", WORD) + gl.Capture("c", gl.JsonSchema({"type": "boolean"}))),
        "abtrue",
        {"a": "abtrue"},
        {"a": "abtrue", "b": "ab", "c": True},
    ),
    "beside a schema": (
        ALONE + gl.JsonSchema({"type": "boolean"}),
        "<7>true",
        {"n": 7},
        {"n": 7},
    ),
    "two": (ALONE + gl.Template("{w}", w=WORD), "<7>ab", {"n": 7, "w": "ab"}, {"n": 7, "w": "ab"}),
    "held": (gl.Template("<{w}>", w=WORD) & gl.Ban(["z"]), "<ab>", {"w": "ab"}, {"w": "ab"}),
}


def answered(grammar, text: str, **options):
    return gl.generate(writing_bytes(text), [0], vocab=BYTES, grammar=grammar, **options)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("forced", [None, "score"])
def test_values(name: str, forced) -> None:
    grammar, text, value, named = CASES[name]
    out = answered(grammar, text, forced=forced)
    assert out.text == text
    assert out.value == value
    assert out.named == named
    assert all(out[hole] is value for hole, value in out.named.items())
    for part in out.parts:
        assert text.encode()[slice(*part.span)].decode() == part.text


def test_an_instance_of_a_type_and_a_validator() -> None:
    grammar = gl.Template("[{a}; {b}]", a=Small, b=Small)
    out = answered(grammar, '[{"n":5}; {"n":-1}]')
    assert out.value == {"a": Small(5), "b": Small(-1)}
    out = answered(grammar, '[{"n":5}; {"n":0}]')
    assert out.named["b"] is None
    assert out.error is not None
    assert "nothing is small enough" in out.error


def test_an_answer_that_was_cut_has_the_parts_that_are_certain() -> None:
    out = answered(ONE, "ada is 36.", max_tokens=8, close=False)
    assert out.finish_reason == "length"
    assert out.value is None
    assert out.named == {"name": "ada"}


def test_streams_tell_of_holes() -> None:
    *events, last = gl.stream(writing_bytes("ada is 36."), [0], vocab=BYTES, grammar=ONE)
    assert "".join(event.text for event in events) == "ada is 36."
    assert [(event.part, event.value.value) for event in events if event.kind == "part"] == [
        ("name", "ada"),
        ("age", 36),
    ]
    assert last.result.value == {"name": "ada", "age": 36}


def test_in_a_turn_that_thinks_first(model, tokenizer) -> None:
    template = gl.Template("{word} {n}.", word=gl.Regex("[a-z]{1,5}"), n=[1, 22])
    chat = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
    out = gl.generate(
        model,
        [{"role": "user", "content": "the cat"}],
        tokenizer=tokenizer,
        chat_template=chat,
        tool_format="hermes",
        reasoning=20,
        grammar=template,
        temperature=1.0,
        seed=2,
    )
    assert out.reasoning is not None
    assert out.content == f"{out['word']} {out['n']}."
    assert out.value == {"word": out["word"], "n": out["n"]}


def test_a_compiled_template_and_a_batch(model, tokenizer) -> None:
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    template = gl.Template("{word} {n}.", word=gl.Regex("[a-z]{1,5}"), n=[1, 22])
    compiled = gl.compile(template, vocab)
    for grammar in (template, compiled, [template, compiled]):
        found = gl.generate(
            model, ["the cat", "x"], tokenizer=tokenizer, vocab=vocab, grammar=grammar, temperature=1.0, seed=4
        )
        for out in found:
            assert out.text == f"{out['word']} {out['n']}."
            assert out.value == {"word": out["word"], "n": out["n"]}
            assert out["n"] in (1, 22)
