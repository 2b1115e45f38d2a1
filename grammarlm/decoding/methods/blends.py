"""Blends: the row that a token is drawn from, made of the logits of one or several models.

    from grammarlm.decoding import blend

    @blend(small)                                       # another model, which reads the same texts
    def contrast(large, small, *, weight=0.5):          # float32 [rows, V] each, that of generate()'s own model first
        return (1 + weight) * large.log_softmax(-1) - weight * small.log_softmax(-1)

    gl.generate(large, prompt, schema=Person, method=contrast, weight=0.3)

A blend is one reader more, made of several, so all that the loop of method="masked" does works with it: batches, n, streams, forced
tokens, draft tokens, healing. The constraint masks what the blend returns, and `model_logprobs` are those of the blend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Any, Protocol

import torch

from grammarlm.decoding.arguments import prompt_ids
from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.readers.blended import BlendedReader
from grammarlm.decoding.readers.model_facts import check_model, width_of
from grammarlm.decoding.readers.reader import open_reader
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result


class Blend(Protocol):
    """A function of the logits of each model, float32 [rows, V] on the CPU, that returns one such tensor.

        def colder_where_unsure(logits):
            entropy = torch.distributions.Categorical(logits=logits).entropy()
            return logits * (1 + entropy)[:, None]

    The first is generate()'s model, the others are those of `@blend(...)`, in their order. Row i of each is about the same text,
    and the function must treat rows alike: how many come at once depends on the batch and on what is forced. It may write into its
    arguments. Its keyword-only arguments are options of generate().
    """

    def __call__(self, *logits: torch.Tensor, **options: Any) -> torch.Tensor:
        """The logits that are masked and drawn from; -inf for tokens that may not be drawn."""


class Blended:
    """A blend as a method of generate() and stream(); made by `blend`."""

    def __init__(self, function: Callable[..., torch.Tensor], others: Sequence[tuple[Any, Any]]):
        update_wrapper(self, function)
        self.function = function
        self.others = others

    def __call__(self, request: Request, **options: Any) -> list[Result]:
        return self.start(request, **options).results()

    def start(self, request: Request, **options: Any) -> Decoding:
        """All that comes before the first token."""
        room = max(spec.settings.max_tokens + len(spec.healed_suffix) for spec in request.specs)
        readers = [request.reader()]
        for model, prompt in self.others:
            prompts = request.prompts if prompt is None else [self._ids(model, prompt, request)] * len(request.prompts)
            readers.append(open_reader(model, prompts, room, request.specs[0].settings.cache))
        function = partial(self.function, **options)
        return Decoding(BlendedReader(readers, function, self.__name__), request.specs, request.n)

    def _ids(self, model: Any, prompt: Any, request: Request) -> list[int]:
        if any(spec.healed_suffix for spec in request.specs):
            raise ValueError(
                f"heal=True takes tokens of the prompt back, and {self!r} reads another prompt, which would keep its own; "
                "leave one of the two out"
            )
        return prompt_ids(prompt, request.tokenizer, request.specs[0].vocab, width_of(model))

    def __repr__(self) -> str:
        return f"<blend {self.__name__}>"

    __name__: str  # the function's own


def blend(*others: Any) -> Callable[[Callable[..., torch.Tensor]], Blended]:
    """Decorator: makes a function of logits (`Blend`) a method of generate(). The parentheses are always there: `@blend()`.

    others: further models, transformers or callables, whose ids mean the same as those of generate()'s model. Each reads the same
    texts; as (model, prompt) it reads its own prompt before the answers, a text or a list of ids, the same one for all answers.
    """

    pairs = [other if isinstance(other, tuple) else (other, None) for other in others]
    for pair in pairs:
        if len(pair) != 2:
            raise TypeError(f"blend() got a tuple of {len(pair)}; it takes models, or (model, prompt)")
        check_model(pair[0])

    def decorate(function: Callable[..., torch.Tensor]) -> Blended:
        if not callable(function):
            raise TypeError(f"@blend(...) got {type(function).__name__}; it takes a function of logits")
        return Blended(function, pairs)

    return decorate
