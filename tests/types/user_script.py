"""A user's script."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypedDict

import numpy as np
import pydantic
import torch
from typing_extensions import assert_type

import grammarlm as gl


@dataclass
class Order:
    name: str
    quantity: int


class City(pydantic.BaseModel):
    name: str


class Point(TypedDict):
    x: int


class Color(Enum):
    RED = "red"


model, tokenizer = gl.load_tiny()
one = gl.generate(model, "Ada, 36.\n", schema=Order, max_tokens=60)
text: str = one.text
several = gl.generate(model, ["Ada, 36.\n", "Tom, 41."], schema=[Order, None])
texts: list[str] = [result.text for result in several]
draws = gl.generate(model, "Ada.", regex=r"\d+", n=3, temperature=1.0)
reasons: list[str] = [draw.finish_reason for draw in draws]
vocab = gl.Vocabulary.from_tokenizer(tokenizer)
constraint = gl.compile(gl.JsonSchema({"type": "integer"}) | gl.Regex("[a-z]+"), vocab, limits=gl.Limits(max_ms=500))
matcher = constraint.matcher()
mask: np.ndarray = gl.allocate_mask(1, vocab.size)
matcher.fill_mask(mask)
logits: torch.Tensor = gl.apply_mask_(torch.zeros(1, vocab.size), mask)
accepted: bool = matcher.advance(3)
try:
    gl.compile(gl.Lark("start: A"), vocab)
except gl.GrammarError as error:
    print(error.position)
for event in gl.stream(model, "Ada", choices=["a", "b"]):
    print(event.kind, event.text)
people = gl.Generator(model, Order, max_tokens=80)


async def awaited() -> list[str]:
    out = await people.agenerate("Ada, 36.\n", max_waiting=8)
    return [out.text, *[event.text async for event in people.astream("Ada, 36.\n")]]


best = gl.generate(model, "Ada", choices=["a", "b"], method="beam", beams=3)
filled = gl.generate(model, "Ada", choices=["a", "b"], sampler="entropy", steps=4)

# The value is of the type that was asked for.
assert_type(one, gl.Result[Order])
assert_type(one.value, Order)
quantity: int = one.value.quantity
assert_type(gl.generate(model, "Paris", schema=City, forced="write").value, City)
assert_type(gl.generate(model, "36", schema=int).value, int)
assert_type(gl.generate(model, "", schema=list[Order]).value, list[Order])
assert_type(gl.generate(model, "", schema=dict[str, int]).value, dict[str, int])
assert_type(gl.generate(model, "", schema=Point).value, Point)
assert_type(gl.generate(model, "", schema=Color).value, Color)
assert_type(gl.generate(model, "", choices=["a", "b"]).value, str)
assert_type(gl.generate(model, "", choices=[1, 2]).value, int)
assert_type(gl.generate(model, "", choices=Color).value, Color)
assert_type(gl.generate(model, ["", ""], schema=Order), list[gl.Result[Order]])
assert_type(gl.generate(model, "", schema=Order, n=2), list[gl.Result[Order]])
assert_type(gl.generate(model, ["", ""], choices=["a"])[0].value, str)
assert_type(gl.generate(model, [{"role": "user", "content": "Ada"}], schema=Order).value, Order)
assert_type(gl.generate(model, "", schema=Order, check=lambda order: order.quantity > 0, retries=2).value, Order)
assert_type(gl.generate(model, "", schema={"type": "integer"}).value, Any)
assert_type(gl.generate(model, "", schema=int | None).value, Any)
assert_type(gl.generate(model, "", schema=None).value, Any)
assert_type(gl.generate(model, "").value, Any)
assert_type(several[0].value, Any)
template = gl.Template("{name}, {age}, {color}.", name=gl.Regex("[A-Z][a-z]+"), age=int, color=["red", "blue"])
assert_type(gl.generate(model, "", grammar=template)["age"], Any)
rows: gl.Result = gl.generate(model, "", grammar=gl.Repeat(template + "\n") | gl.JsonSchema(Order, whitespace="spaced"))
