"""What the rows of a blend beside those of generate()'s own model are read by: another model, another prompt, or both.

@blend(small)                         a model, which reads the answers' own prompts
@blend((small, "Answer: "))           with a prompt of its own, the same one for all answers
@blend("against")                     an option of generate(), whose value is any of these:

against=small                         a model
against="Answer: "                    a prompt, a text or a list of ids, which generate()'s own model reads
against=["Answer: ", "Answer "]       a list of prompts, one for each of generate()'s
against=(small, "Answer: ")           a model and its prompt, or its prompts
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grammarlm.decoding.argument_types import Model
from grammarlm.decoding.arguments import is_batch, prompt_ids
from grammarlm.decoding.fit import PADDING, SHARE, check_positions
from grammarlm.decoding.readers.model_facts import check_model, width_of
from grammarlm.decoding.readers.reader import Reader, open_reader
from grammarlm.decoding.request import Request

ACCEPTED = "a model whose ids mean the same, a prompt, or (model, prompt)"


@dataclass(frozen=True)
class Source:
    """A model, and the prompts that it reads: one for each of a batch."""

    name: str  # as messages call it
    model: Model
    prompts: list[list[int]]

    def reader(self, request: Request) -> Reader:
        settings = request.specs[0].settings
        room = max(spec.settings.max_tokens + len(spec.healed_suffix) for spec in request.specs)
        return open_reader(self.model, self.prompts, room, settings.cache)


def source_of(name: str, value: Any, request: Request) -> Source:
    """What an option or an argument of `blend` says, for the prompts of a batch."""
    is_pair = isinstance(value, tuple) and len(value) == 2 and callable(value[0])
    model, prompt = value if is_pair else (value, None) if callable(value) else (request.model, value)
    if value is None or (is_pair and prompt is None):
        raise TypeError(f"{name} is {value!r:.60}; it takes {ACCEPTED}")
    check_model(model)
    check_width(name, model, request)
    if prompt is None:
        prompts = request.prompts
    else:
        check_kept(name, request)
        prompts = prompts_of(name, prompt, model, request)
    check_positions(model, prompts, request.specs[0].settings.max_tokens)
    return Source(name, model, prompts)


def prompts_of(name: str, value: Any, model: Model, request: Request) -> list[list[int]]:
    """The ids of a prompt for all of a batch, or of a list with one for each prompt of the call."""
    vocab, width, count = request.specs[0].vocab, width_of(model), len(request.prompts)
    if isinstance(value, (list, tuple)) and any(map(callable, value)):
        raise TypeError(f"{name} is a list that holds models; it takes one model for all prompts: {ACCEPTED}")
    if not is_batch(value):
        return [prompt_ids(value, request.tokenizer, vocab, width, name)] * count
    if not request.is_list:
        raise TypeError(f"{name} is a list of {len(value)} prompts, but there is one prompt; pass one")
    if len(value) != request.total:
        raise ValueError(f"{name} is a list of {len(value)} prompts, but there are {request.total}; give one for each")
    own = list(value)[request.first : request.first + count]
    names = [f"prompt {request.first + at} of {name}" for at in range(count)]
    return [prompt_ids(one, request.tokenizer, vocab, width, each) for one, each in zip(own, names, strict=True)]


def check_width(name: str, model: Model, request: Request) -> None:
    """ValueError where the logits are too wide or too narrow to be about the same ids."""
    size, width = request.specs[0].vocab.size, width_of(model)
    if width is not None and abs(size - width) > max(PADDING, max(size, width) // SHARE):
        raise ValueError(
            f"{name}: its model's logits are {width:,} wide, and the vocabulary has {size:,} ids; a blend compares logits id by "
            "id: it takes models of one tokenizer"
        )


def check_kept(name: str, request: Request) -> None:
    """ValueError where ids of the answers' prompts are taken back."""
    if any(spec.healed_suffix for spec in request.specs):
        raise ValueError(
            f"heal=True takes tokens of the prompt back, and {name} reads another prompt, which would keep its own; "
            "leave one of the two out"
        )
