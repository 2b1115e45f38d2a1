"""Processors and the compiler take tools, structural tags and response formats as they take any grammar."""

import json
import random
from typing import Any

import jsonschema
import numpy as np
import pytest

import grammarlm as gl
from grammarlm.integrations.llama_cpp import LogitsProcessor as LlamaProcessor
from grammarlm.models.tiny import FOLDER

torch = pytest.importorskip("torch")
VOCAB = gl.Vocabulary.from_tokenizer(FOLDER)
SCHEMA = {"type": "object", "properties": {"a": {"enum": [1, "b"]}}, "required": ["a"], "additionalProperties": False}
CONTENT = {"type": "json_schema", "json_schema": SCHEMA}
TAG = {"type": "tag", "begin": "<a>", "content": CONTENT, "end": "</a>"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
# What stands around a value of the schema.
CASES: dict[str, tuple[Any, str, str]] = {
    "tag": (gl.StructuralTag({"type": "structural_tag", "format": TAG}), "<a>", "</a>"),
    "tools": (gl.Tools([TOOL], format="llama3", calls="required"), '{"name": "f", "parameters": ', "}"),
    "thought": (gl.Tools([], format="hermes", calls="none", reasoning=9, answer=SCHEMA), "\n</think>\n\n", ""),
    "format": (gl.response_format({"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}), "", ""),
}  # fmt: skip


def check(case: str, tokens: list[int]) -> None:
    _, before, after = CASES[case]
    text = b"".join(VOCAB.token_bytes(token) for token in tokens if token not in VOCAB.stop_ids).decode()
    start = text.index(before) + len(before)
    jsonschema.validate(json.loads(text[start : len(text) - len(after)]), SCHEMA)


@pytest.mark.parametrize("case", CASES)
def test_processors(case: str) -> None:
    constraint, rng = gl.compile(CASES[case][0], VOCAB), np.random.default_rng(0)
    processors: list[Any] = [gl.LogitsProcessor(constraint), LlamaProcessor(constraint, max_tokens=90)]
    for processor in processors:
        for _ in range(5):
            ids = [5]
            while len(ids) < 200 and ids[-1] not in VOCAB.stop_ids:
                scores = rng.normal(size=VOCAB.size).astype(np.float32)
                if isinstance(processor, LlamaProcessor):
                    masked = processor(np.array(ids, np.intc), scores)
                else:
                    masked = processor(torch.tensor([ids]), torch.from_numpy(scores)[None])[0].numpy()
                ids.append(int(masked.argmax()))
            check(case, ids[1:])


@pytest.mark.parametrize("case", CASES)
def test_a_compiler_has_equal_ones_once(case: str) -> None:
    compiler, rng = gl.Compiler(VOCAB), random.Random(0)
    first = compiler.compile(CASES[case][0])
    again = gl.Constraint.from_bytes(first.to_bytes(), VOCAB).grammar
    assert compiler.compile(again) is first
    assert compiler.stats.compiled == 1
    matcher, tokens, mask = first.matcher(max_tokens=90), list[int](), gl.allocate_mask(1, VOCAB.size)
    while not matcher.is_finished:
        matcher.fill_mask(mask)
        tokens.append(rng.choice(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()))
        assert matcher.advance(tokens[-1])
    check(case, tokens)
