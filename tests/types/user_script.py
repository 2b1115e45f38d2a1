"""A user's script."""

from dataclasses import dataclass

import numpy as np
import torch

import grammarlm as gl


@dataclass
class Person:
    name: str
    age: int


model, tokenizer = gl.load_tiny()
one = gl.generate(model, "Ada, 36.\n", schema=Person, max_tokens=60)
text: str = one.text
several = gl.generate(model, ["Ada, 36.\n", "Tom, 41."], schema=[Person, None])
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
people = gl.Generator(model, Person, max_tokens=80)
best = gl.generate(model, "Ada", choices=["a", "b"], method="beam", beams=3)
filled = gl.generate(model, "Ada", choices=["a", "b"], sampler="entropy", steps=4)
