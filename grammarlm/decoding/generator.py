"""gl.Generator: a model and a constraint, for many prompts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from grammarlm.decoding.readers.kept import KeptTexts
from grammarlm.decoding.readers.model_facts import check_model, width_of
from grammarlm.errors import brief
from grammarlm.grammars.compose import Grammar
from grammarlm.masks.constraint import Constraint

from .answers.answer_format import filled_format, read_format
from .answers.events import Event
from .argument_types import Model, Prompts, Schema
from .arguments import check_integer, check_vocabulary
from .compiled_caches import stop_ids_of, tokenizer_of, vocabulary_of
from .generate import generate, method_for, method_of
from .live.asynchronous import MOST_WAITING, agenerate, astream
from .request import compile_format
from .settings import check_names
from .stream import stream


class Generator:
    """generate() with the model, the constraint and any other argument given once.

        people = gl.Generator(model, Person, max_tokens=80)
        people("Ada, 36.").value
        people(["Tom, 41.", "Eva, 7."], temperature=0.8)         # generate()'s arguments; they override those above
        for event in people.stream("Ada, 36."): ...
        await people.agenerate("Eva, 7.")                             # shares its forwards with what is awaited at the same time

    Of what a causal model has read, the `keep` last texts stay in its cache: the next turn of a conversation reads what is new,
    and prompts that begin alike read their beginning once. `clear()` drops them; call it where a model acts otherwise without
    new weights (another adapter).

    output_type: what schema= takes (a Python type, a dict, JSON text, a path), or a grammar object, or None for any text. It is
    compiled here, so that its errors are raised here.
    """

    def __init__(self, model: Model, output_type: Schema = None, *, keep: int = 4, **arguments: Any):
        method = method_for(model, arguments.get("method", "masked"))
        if method != "diffusion":
            check_model(model)
        self.model, self.output_type, self._arguments = model, output_type, arguments
        check_names("Generator", arguments, method_of(method))
        check_integer("keep", keep, 0)
        self._kept = KeptTexts(model, keep, arguments.get("cache"))
        name = "grammar" if isinstance(output_type, (Grammar, Constraint)) else "schema"
        self._held = {} if output_type is None else {name: output_type}
        tokenizer, vocab = arguments.get("tokenizer"), arguments.get("vocab")
        if tokenizer is None and vocab is None:
            tokenizer = self._arguments["tokenizer"] = tokenizer_of(model)
        check_vocabulary(tokenizer, vocab)
        if output_type is not None:
            vocab = vocab or vocabulary_of(tokenizer, width_of(model), stop_ids_of(model, tokenizer))
            unknown = arguments.get("unknown", "warn")
            read = filled_format if method == "diffusion" else read_format
            compile_format(read(**self._held), vocab, arguments.get("limits"), unknown)

    def __call__(self, prompt: Prompts, **arguments: Any) -> Any:
        """As generate(): a Result, or a list of them."""
        return generate(self.model, prompt, **self._with(arguments))

    def stream(self, prompt: Prompts, **arguments: Any) -> Iterator[Event]:
        """As gl.stream()."""
        return stream(self.model, prompt, **self._with(arguments))

    async def agenerate(self, prompt: Prompts, *, max_waiting: int = MOST_WAITING, **arguments: Any) -> Any:
        """As gl.agenerate(): what is awaited of the model at the same time shares its forwards, of other Generators, too."""
        return await agenerate(self.model, prompt, max_waiting=max_waiting, **self._with(arguments))

    def astream(self, prompt: Prompts, *, max_waiting: int = MOST_WAITING, **arguments: Any) -> AsyncIterator[Event]:
        """As gl.astream()."""
        return astream(self.model, prompt, max_waiting=max_waiting, **self._with(arguments))

    def clear(self) -> None:
        """Drops what is kept of the texts before."""
        self._kept.clear()

    def _with(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments of one call, over those of all."""
        asked = {**self._arguments, **self._held, **arguments}
        if self._kept.most and asked.get("cache") == self._kept.cache:
            asked["cache"] = self._kept
        return asked

    def __repr__(self) -> str:
        return f"Generator({type(self.model).__name__}, {brief(self.output_type, 80)})"
