"""Blends: the row that a token is drawn from, made of the logits of one or several models.

    from grammarlm.decoding import blend

    @blend(small)                                       # another model, which reads the same texts
    def contrast(large, small, *, weight=0.5):          # float32 [rows, V] each, that of generate()'s own model first
        return (1 + weight) * large.log_softmax(-1) - weight * small.log_softmax(-1)

    gl.generate(large, prompt, schema=Person, method=contrast, weight=0.3)

A blend is one reader more, made of several, so all that the loop of method="masked" does works with it: batches, n, streams, forced
tokens, draft tokens, healing. The constraint masks what the blend returns, and `model_logprobs` are those of the blend.

What compares tokens, cuts off those that are too bad, or keeps an account wants to see only what may be drawn. Such a blend is
`masked`: all rows come masked by then, and a handle for each row, with the answer's tokens and what the blend remembers of it:

    @blend("against", masked=True)                      # what it reads besides is an option of generate(): sources.py
    def steady(rows, logits, against, *, share=0.5):
        for row, own, other in zip(rows, logits, against):
            share = share * 0.9 ** row.memory.get("steps", 0)
            row.memory["steps"] = row.memory.get("steps", 0) + 1
            own[own > -torch.inf] -= share * other[own > -torch.inf]
        return logits

What it forbids of the allowed tokens cannot be drawn; where it forbids all, the first model's masked row is drawn from. Tokens that
are the only allowed ones are not asked about. `model_logprobs` and `mass_removed` are those of generate()'s own model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from inspect import Parameter, signature
from typing import Any, Protocol

import torch

from grammarlm.decoding.loop.blending import Blending
from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.readers.blended import BlendedReader
from grammarlm.decoding.readers.model_facts import check_model
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result

from .sources import ACCEPTED, Source, source_of

Begin = Callable[..., Sequence[dict[str, Any]] | None]


class Blend(Protocol):
    """A function of the logits of each model, float32 [rows, V] on the CPU, that returns one such tensor.

        def colder_where_unsure(logits):
            entropy = torch.distributions.Categorical(logits=logits).entropy()
            return logits * (1 + entropy)[:, None]

    The first is generate()'s model, the others are those of `@blend(...)`, in their order. Row i of each is about the same text,
    and the function must treat rows alike: how many come at once depends on the batch and on what is forced. It may write into its
    arguments. Its keyword-only arguments are options of generate().

    Of `@blend(..., masked=True)` the first argument is a list of handles (`BlendRow`), one a row, before the logits, which are
    masked: -inf where a token is forbidden. Each row has a finite number in the logits of every model.
    """

    def __call__(self, *logits: torch.Tensor, **options: Any) -> torch.Tensor:
        """The logits that are masked and drawn from; -inf for tokens that may not be drawn."""


class Blended:
    """A blend as a method of generate() and stream(); made by `blend`."""

    def __init__(
        self, function: Callable[..., torch.Tensor], others: Sequence[Any], is_masked: bool, begin: Begin | None
    ):
        update_wrapper(self, function)
        self.function, self.others, self.is_masked, self.begin = function, others, is_masked, begin
        named = [Parameter(one, Parameter.KEYWORD_ONLY) for one in others if isinstance(one, str)]
        own = signature(function)
        kept = [one for one in own.parameters.values() if one.kind in (one.KEYWORD_ONLY, one.VAR_KEYWORD)]
        request = Parameter("request", Parameter.POSITIONAL_ONLY)
        self.__signature__ = own.replace(parameters=[request, *named, *kept])  # what settings_of finds options by

    def __call__(self, request: Request, **options: Any) -> list[Result]:
        return self.start(request, **options).results()

    def start(self, request: Request, **options: Any) -> Decoding:
        """All that comes before the first token."""
        given = self._with_defaults(options)
        sources = [self._source(number, other, given, request) for number, other in enumerate(self.others, 2)]
        memories = self.begin(request, **given) if self.begin else None
        readers = [request.reader(), *(source.reader(request) for source in sources)]
        function = partial(self.function, **given)
        if not self.is_masked:
            return Decoding(BlendedReader(readers, function, self.__name__), request.specs, request.n)
        empty: list[dict[str, Any]] = [{} for _ in request.prompts]
        names = [f"{source.name} of {self!r}" if "=" in source.name else source.name for source in sources]
        blending = Blending(function, self.__name__, names, memories or empty)
        reader = BlendedReader(readers, blending.keep, self.__name__)
        return Decoding(reader, request.specs, request.n, blending=blending)

    def _with_defaults(self, options: dict[str, Any]) -> dict[str, Any]:
        """All options; TypeError where one is missing."""
        given = dict(options)
        for name, one in self.__signature__.parameters.items():
            if one.kind is not one.KEYWORD_ONLY or name in given:
                continue
            if one.default is one.empty:
                what = f": {ACCEPTED}" if name in self.others else ""
                raise TypeError(f"the method {self.__name__} needs the argument {name}={what}")
            given[name] = one.default
        return given

    def _source(self, number: int, other: Any, given: dict[str, Any], request: Request) -> Source:
        """Of a named one the option, which the function itself does not get."""
        if isinstance(other, str):
            return source_of(f"{other}=", given.pop(other), request)
        return source_of(f"model {number} of {self!r}", other, request)

    def __repr__(self) -> str:
        return f"<blend {self.__name__}>"

    __name__: str  # the function's own


def blend(
    *others: Any, masked: bool = False, begin: Begin | None = None
) -> Callable[[Callable[..., torch.Tensor]], Blended]:
    """Decorator: makes a function of logits (`Blend`) a method of generate(). The parentheses are always there: `@blend()`.

    others   further models, transformers or callables, whose ids mean the same as those of generate()'s model. Each reads the same
             texts; as (model, prompt) it reads its own prompt before the answers, a text or a list of ids, the same one for all
             answers. A name: generate() takes an option of this name, which is a model, a prompt, or (model, prompt), and prompts
             may be a list, one for each of generate()'s
    masked   True: the rows come masked, after a list of handles, one a row
    begin    a function of the Request of a batch and of all options, called before its first forward. It checks them, and may
             return for each prompt what the memory of its rows begins with
    """
    for other in others:
        if isinstance(other, str):
            continue
        if isinstance(other, tuple) and len(other) != 2:
            raise TypeError(f"blend() got a tuple of {len(other)}; it takes models, or (model, prompt)")
        check_model(other[0] if isinstance(other, tuple) else other)

    def decorate(function: Callable[..., torch.Tensor]) -> Blended:
        if not callable(function):
            raise TypeError(f"@blend(...) got {type(function).__name__}; it takes a function of logits")
        return Blended(function, others, masked, begin)

    return decorate
