"""Transformers models as `step(tokens, parents) -> logits` of beam search. One level of all searches is one forward.

decoding/readers/reader.py decides how texts are read, with which cache, and how prompts of unequal length share a forward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from grammarlm.decoding.arguments import check_integer, listed
from grammarlm.decoding.readers.model_facts import check_model, is_transformers_model
from grammarlm.decoding.readers.reader import Reader, open_reader

Step = Callable[[Any, Any], Any]
MOST_BEAMS, MOST_SEARCHES = 1 << 20, 1 << 16


def model_step(step: Any, prompt: Any, batch: int | None, room: int) -> tuple[Step, int | None]:
    """The step function, and how many searches there are (None: one, and its result is returned alone).

    No search reads more than `room` tokens after its prompt.
    """
    check_integer("batch", batch, 1, MOST_SEARCHES, optional=True)
    if not is_transformers_model(step):
        if not callable(step):
            raise TypeError(
                f"step is {type(step).__name__}; pass a function of (tokens, parents) that returns logits, or a transformers model"
            )
        if prompt is not None:
            raise ValueError("prompt= is for transformers models; a step function knows what it has read before")
        return step, batch
    check_model(step)
    if prompt is None:
        raise ValueError("a model needs a prompt: pass prompt=, a list of token ids, or one list for each search")
    is_one = not _is_list_of_lists(prompt)
    prompts = [listed(p) for p in ([prompt] if is_one else prompt)]
    if not all(prompts):
        raise ValueError("a prompt has no ids, and a model needs at least one, for example [tokenizer.bos_token_id]")
    if batch is not None and batch != len(prompts):
        raise ValueError(f"batch={batch}, and there are {len(prompts)} prompts; leave batch= out")
    return BeamModel(step, prompts, room), None if is_one else len(prompts)


def _is_list_of_lists(prompt: Any) -> bool:
    if isinstance(prompt, torch.Tensor):
        return prompt.ndim == 2
    return isinstance(prompt, Sequence) and len(prompt) > 0 and hasattr(prompt[0], "__len__")


class BeamModel:
    """A transformers model that reads the prefixes of all searches."""

    def __init__(self, model: Any, prompts: list[list[int]], room: int):
        self._model, self._prompts, self._room = model, prompts, room
        self._reader: Reader | None = None

    def __call__(self, tokens: list[int] | None, parents: list[int]) -> torch.Tensor:
        if tokens is None or self._reader is None:
            reader = self._reader = open_reader(self._model, [self._prompts[search] for search in parents], self._room)
            return reader.read(reader.beginnings, [1] * len(parents))
        self._reader.select(parents)
        return self._reader.read([[token] for token in tokens], [1] * len(tokens))
