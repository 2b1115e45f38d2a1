"""How good the embedded models are: exact match on prompts that no training text has, exits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

import grammarlm as gl
from training.corpus import Example, constraint, example

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

MAX_TOKENS, BATCH = 192, 50


@dataclass(frozen=True)
class Share:
    """How many of how many, with the 95 % interval of Wilson's score."""

    hits: int
    of: int

    @property
    def value(self) -> float:
        return self.hits / self.of

    @property
    def interval(self) -> tuple[float, float]:
        z, share = 1.96, self.hits / self.of
        middle = share + z * z / (2 * self.of)
        half = z * math.sqrt(share * (1 - share) / self.of + z * z / (4 * self.of**2))
        scale = 1 + z * z / self.of
        return (middle - half) / scale, (middle + half) / scale


def examples(split: str, task: str, count: int) -> list[Example]:
    return [example(split, index, task) for index in range(count)]


def answers(model: Any, tokenizer: PreTrainedTokenizerFast, asked: Sequence[Example], constrained: bool) -> list[Any]:
    """The greedy answer of each prompt, an `Output` of `generate`; prompts of one form are answered together."""
    found: dict[int, Any] = {}
    for form in sorted({each.form for each in asked}):
        indices = [index for index, each in enumerate(asked) if each.form == form]
        options = constraint(form) if constrained else {}
        for group in chunks(indices, BATCH):
            prompts = [asked[index].prompt for index in group]
            made = gl.generate(model, prompts, tokenizer=tokenizer, max_tokens=MAX_TOKENS, **options)
            found.update(zip(group, made, strict=True))
    return [found[index] for index in range(len(asked))]


def exact(asked: Sequence[Example], texts: Sequence[str]) -> Share:
    return Share(sum(text == each.answer for text, each in zip(texts, asked, strict=True)), len(asked))


def chunks(values: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def exits(model: Any, tokenizer: PreTrainedTokenizerFast, asked: Sequence[Example]) -> list[Share]:
    """For each layer but the last, how often its own best next token is the last layer's, over the answers."""
    hits, of = [0] * (model.config.num_hidden_layers - 1), 0
    for each in asked:
        prompt, answer = tokenizer.encode(each.prompt), tokenizer.encode(each.answer)
        states = model(torch.tensor([[*prompt, *answer]]), output_hidden_states=True).hidden_states[1:]
        first = len(prompt) - 1
        last = model.lm_head(states[-1][0, first:]).argmax(-1)  # the norm is in the last state already
        for layer, state in enumerate(states[:-1]):
            early = model.lm_head(model.model.norm(state[0, first:])).argmax(-1)
            hits[layer] += int((early == last).sum())
        of += len(last)
    return [Share(hit, of) for hit in hits]
