"""schema=, regex=, grammar=, choices= and items= in all their forms, and the values that come of them."""

import dataclasses
import enum
import json
import typing
from decimal import Decimal
from typing import Literal

import pytest

import grammarlm as gl
from grammarlm.decoding.answers.answer_format import json_value, read_format
from grammarlm.decoding.arguments import is_batch, per_prompt
from grammarlm.kernels.reference.apply_mask import mask_bits
from tests.decoding.planted import writing_bytes

pydantic = pytest.importorskip("pydantic")
torch = pytest.importorskip("torch")

TOKENS = [bytes([byte]) for byte in range(256)] + [b""]
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[256])


def answer(text, **options):
    return gl.generate(writing_bytes(text), [0], vocab=VOCAB, **options)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Person(pydantic.BaseModel):
    name: str
    age: int = 0


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Named(typing.TypedDict):
    name: str


class Even(pydantic.BaseModel):
    number: int

    @pydantic.field_validator("number")
    @classmethod
    def is_even(cls, number):
        if number % 2:
            raise ValueError("an odd number")
        return number


def greet(name: str, times: int = 1) -> str:
    return name * times


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
FORMS = [
    (SCHEMA, '{"a": 3}', {"a": 3}),
    (json.dumps(SCHEMA), '{"a": 3}', {"a": 3}),
    (True, "[1.5, null]", [1.5, None]),
    (gl.JsonSchema(SCHEMA, whitespace="compact"), '{"a":3}', {"a": 3}),
    (gl.JsonSchema(Point), '{"x":1,"y":2}', Point(1, 2)),
    (Person, '{"name":"Ada"}', Person(name="Ada")),
    (Point, '{"x":1,"y":2}', Point(1, 2)),
    (Named, '{"name":"Ada"}', {"name": "Ada"}),
    (Colour, '"blue"', Colour.BLUE),
    (Literal["a", 7], "7", 7),
    (list[Person], '[{"name":"Ada","age":36}]', [Person(name="Ada", age=36)]),
    (dict[str, Point], '{"p":{"x":1,"y":2}}', {"p": Point(1, 2)}),
    (int | None, "null", None),
    (greet, '{"name":"Ada","times":2}', {"name": "Ada", "times": 2}),
]


@pytest.mark.parametrize(("schema", "text", "value"), FORMS, ids=lambda part: getattr(part, "__name__", str(part))[:24])
def test_schemas_in_every_form(schema, text, value):
    out = answer(text, schema=schema)
    assert (out.text, out.finish_reason, out.error) == (text, "stop", None)
    assert out.value == value
    assert type(out.value) is type(value)


def test_a_schema_in_a_file(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text("\ufeff" + json.dumps(SCHEMA), encoding="utf-8")
    assert answer('{"a": 3}', schema=path).value == {"a": 3}
    with pytest.raises(gl.GrammarError, match=r"nowhere.json' cannot be read: No such file"):
        answer("1", schema=tmp_path / "nowhere.json")
    with pytest.raises(gl.GrammarError, match="line 1, column"):
        answer("1", schema='{"type": ')
    with pytest.raises(TypeError, match="schema is int: 7; it takes a dict"):
        answer("1", schema=7)
    assert answer('{"name":"Ada"}', grammar=gl.JsonSchema(Person)).value == Person(name="Ada")


def test_other_forms():
    assert answer("2031", regex="[0-9]{4}").value == "2031"
    assert answer("b", choices=["a", "b"]).value == "b"
    assert answer("b", choices=("a", "b")).value == "b"
    assert answer("b", choices={"a", "b"}).value == "b"
    assert answer("xyb", grammar="xy" + gl.Choices(["a", "b"])).value == "xyb"
    assert answer("free text").value == "free text"
    red, green = list(b"red"), list(b"green")
    assert answer("green", items=[red, green]).value == tuple(green)
    assert answer("green", items=gl.Tokens([red, green], ids=[17, 4])).value == 4
    assert answer("green", grammar=gl.Tokens([red, green, red], ids=["r", "g", "s"])).value == "g"
    assert answer("red", items=gl.Tokens([red, green, red], ids=["r", "g", "s"])).value == "r"


def test_a_value_that_cannot_be_told():
    odd = answer('{"number":3}', schema=Even)
    assert (odd.text, odd.value, odd.finish_reason) == ('{"number":3}', None, "stop")
    assert "an odd number" in odd.error
    assert answer('{"number":4}', schema=Even).value.number == 4
    deep = read_format(schema=True).value("[" * 100_000, [])
    assert deep[0] is None
    assert "RecursionError" in deep[1] or "JSONDecodeError" in deep[1]
    assert json_value("1" * 5000) == Decimal("1" * 5000)


def test_each_prompt_has_its_own():
    prompts = [[0], [1], [2], [3]]
    outs = gl.generate(writing_bytes("7"), prompts, vocab=VOCAB, schema=[int, None, {"type": "integer"}, bool])
    assert [out.value for out in outs] == [7, "7", 7, outs[3].value]
    assert outs[3].value in (True, False)
    outs = gl.generate(writing_bytes("b"), prompts[:3], vocab=VOCAB, choices=[["a", "b"], None, ("b", "c")])
    assert [out.value for out in outs] == ["b", "b", "b"]
    outs = gl.generate(
        writing_bytes("b"), prompts[:2], vocab=VOCAB, choices=["a", "b"], where=[None, lambda text: text != "b"]
    )
    assert [out.value for out in outs] == ["b", "a"]
    outs = gl.generate(
        writing_bytes("xx"), prompts[:2], vocab=VOCAB, regex=["x+", None], grammar=[None, gl.Choices(["y"])]
    )
    assert [out.value for out in outs] == ["xx", "y"]


def test_rows_without_a_constraint_are_untouched():
    """The logits that a free row is drawn from are the model's, bit for bit, and those of the others too where they are allowed."""
    generator = torch.Generator().manual_seed(3)
    table = torch.randn(257, 257, generator=generator)

    from grammarlm.decoding.generate import start

    decoding = start(
        lambda ids: table[ids], [[5], [6], [7]], vocab=VOCAB, regex=["[a-f]{3}", None, "[x-z]+"], max_tokens=6
    )
    texts = [[5], [6], [7]]
    free = 0
    for step in decoding:
        row = table[texts[step.row][-1]].numpy()
        kept = step.logits > -float("inf")
        assert (step.logits[kept] == row[kept]).all()
        if step.row == 1:
            assert kept.all()
            free += 1
        else:
            assert not kept.all()
        texts[step.row].append(step.token)
    assert free > 0
    assert mask_bits(gl.allocate_mask(1, 257), 257).all()


def test_what_counts_as_several_prompts():
    for prompt in (["a", "b"], [[1, 2], [3]], ["a", [1]], [torch.tensor([1, 2])], ("a",), []):
        assert is_batch(prompt)
    for prompt in ("a", [1, 2], (1,), torch.tensor([[1, 2]]), [torch.zeros(2, 2)], [b"a"], [{"role": "user"}]):
        assert not is_batch(prompt)
    assert per_prompt("regex", "a", 3) == ["a", "a", "a"]
    with pytest.raises(ValueError, match="regex is a list of 2, but there are 3 prompts"):
        per_prompt("regex", ["a", "b"], 3)
    with pytest.raises(TypeError, match="regex is a list of 2, but there is one prompt"):
        per_prompt("regex", ["a", "b"], None)
    with pytest.raises(ValueError, match=r"schema= and regex= are given; give one of them"):
        answer("1", schema=int, regex="1")
    with pytest.raises(TypeError, match="where is str"):
        answer("1", where="1")
