"""A checked and prepared call of generate(): the input of a method, and all that comes before the first token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import cast

from grammarlm.decoding.loop.cost import Cost
from grammarlm.decoding.loop.healing import take_back
from grammarlm.decoding.readers.mask_facts import fills_masks, kind_of
from grammarlm.decoding.readers.model_facts import check_model, is_encoder_decoder, width_of
from grammarlm.decoding.readers.reader import Reader, open_reader
from grammarlm.decoding.speculative.draft import Draft, as_draft
from grammarlm.decoding.speculative.drafting import Drafting
from grammarlm.grammars.items.tokens import Tokens
from grammarlm.kernels import entries
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.messages.unknown_words import check_unknown
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

from .answers.answer_format import AnswerFormat, filled_format, read_format
from .argument_types import Conversation, Model, Prompt, Prompts, Tokenizer, Where
from .arguments import check_synchronous, check_text, check_vocabulary, is_batch, per_prompt, prompt_ids
from .chat.conversation import Chat
from .chat.messages import is_conversation
from .compiled_caches import constraint_of, stop_ids_of, tokenizer_of, vocabulary_of
from .fit import check_positions, count_of, warn_of_dropout, warn_of_width
from .settings import AnswerSpec, Settings


@dataclass(frozen=True)
class Request:
    """Prompts, and for each what is asked for of its answers."""

    model: Model
    prompts: list[list[int]]
    specs: list[AnswerSpec]  # one for each prompt
    n: int  # answers to each
    tokenizer: Tokenizer = None  # of the prompts; None where they are ids
    is_list: bool = False  # did the caller pass a list of prompts?
    draft: Draft | None = None
    at_once: int | None = None  # prompts that share a forward; None: all
    first: int = 0  # the number of its first prompt among those of the call
    total: int = 0  # prompts of the call

    def reader(self, numbers: Sequence[int] | None = None) -> Reader:
        """A new reader of the prompts, or of those with these numbers."""
        room = max(spec.settings.max_tokens + len(spec.healed_suffix) for spec in self.specs)
        prompts = self.prompts if numbers is None else [self.prompts[number] for number in numbers]
        return open_reader(self.model, prompts, room, self.specs[0].settings.cache)

    def drafting(self, cost: Cost) -> Drafting | None:
        """What proposes drafts in one batch; None where nothing does."""
        return None if self.draft is None else self.draft.start(self.model, self.specs[0], cost)

    def check_budgets(self) -> None:
        """ValueError where a constraint needs more than max_tokens: before anything is generated."""
        for spec in {id(spec.constraint): spec for spec in self.specs}.values():
            spec.matcher()

    def batches(self, size: int) -> Iterator[Request]:
        """The request split into batches of at most so many prompts."""
        for at in range(0, len(self.prompts), size):
            part = slice(at, at + size)
            first = self.first + at
            yield replace(self, prompts=self.prompts[part], specs=self.specs[part], at_once=None, first=first)


@dataclass(frozen=True)
class ReadPrompts:
    """The prompts of a request, and what is known of its answers before there is a vocabulary."""

    tokenizer: Tokenizer
    is_list: bool
    prompts: list[Prompt]  # conversations as ids
    forms: list[AnswerFormat]
    predicates: list[Where | None]
    stops: list[int]
    ids: list[list[int]]


def read_prompts(model: Model, prompt: Prompts, settings: Settings) -> ReadPrompts:
    """Checks what generate() is asked for, and makes ids of its prompts."""
    check_prepared(model, settings)
    tokenizer, vocab = settings.tokenizer, settings.vocab
    tokenizer = tokenizer_of(model) if tokenizer is None and vocab is None else tokenizer
    check_vocabulary(tokenizer, vocab)
    prompts = list(prompt) if is_batch(prompt) else None
    is_list, count = prompts is not None, None if prompts is None else len(prompts)
    prompts = [cast(Prompt, prompt)] if prompts is None else prompts
    names = [f"prompt {at} of the list" if is_list else "the prompt" for at in range(len(prompts))]
    forms = formats_of(settings.descriptions, count, filled_format if settings.method == "diffusion" else read_format)
    prompts, forms, stops = rendered(prompts, forms, names, settings, tokenizer)
    predicates = [checked_predicate(one) for one in per_prompt("where", settings.where, count)]
    width = width_of(model)
    ids = [prompt_ids(one, tokenizer, vocab, width, name) for one, name in zip(prompts, names, strict=True)]
    return ReadPrompts(tokenizer, is_list, prompts, forms, predicates, stops, ids)


def prepare(model: Model, prompt: Prompts, settings: Settings) -> Request:
    """Checks what generate() is asked for, and makes vocabulary and constraints."""
    read = read_prompts(model, prompt, settings)
    tokenizer, vocab, width, ids = read.tokenizer, settings.vocab, width_of(model), read.ids
    check_positions(model, ids, settings.max_tokens)
    warn_of_dropout(model)

    start = perf_counter()
    given_size = None if vocab is None else vocab.size
    vocab = vocab or vocabulary_of(tokenizer, width, [*stop_ids_of(model, tokenizer), *read.stops])
    if width is not None:
        warn_of_width(given_size or count_of(tokenizer, vocab), width, stacklevel=3)
    entries.load("masks", "logits")
    compiled = [compile_format(form, vocab, settings.limits, settings.unknown) for form in read.forms]
    seconds = perf_counter() - start
    if settings.heal:
        check_healing(model, read.prompts, read.forms)
    healed = [take_back(one, vocab) if settings.heal else (one, b"") for one in ids]
    parts = zip(read.forms, compiled, read.predicates, healed)  # noqa: B905 - without prompts none
    specs = [
        AnswerSpec(
            vocab,
            settings,
            form,
            constraint,
            where=predicate,
            healed_suffix=suffix,
            prompt=() if is_encoder_decoder(model) else tuple(one),
            was_cached=was_cached,
            compile_seconds=seconds,
        )
        for form, (constraint, was_cached), predicate, (one, suffix) in parts
    ]
    draft = None if settings.method == "planned" else as_draft(settings.draft)
    ids = [one for one, _ in healed]
    return Request(model, ids, specs, settings.n, tokenizer, read.is_list, draft, total=len(ids))


def rendered(
    prompts: list[Prompt], forms: list[AnswerFormat], names: list[str], settings: Settings, tokenizer: Tokenizer
) -> tuple[list[Prompt], list[AnswerFormat], list[int]]:
    """Conversations as the ids that the chat template makes of them, their answers as turns; and what ends these."""
    talks = [is_conversation(prompt) for prompt in prompts]
    if not any(talks):
        if prompts:
            settings.chat.check_unused()
        return prompts, forms, []
    if settings.heal:
        raise ValueError("heal=True is for prompts that are texts; the chat template writes the end of a conversation")
    chat = Chat.of(settings.chat, tokenizer)
    ids, turns = list(prompts), list(forms)
    for at, prompt in enumerate(prompts):
        if not talks[at]:
            settings.chat.check_unused()
            continue
        text = chat.text(cast(Conversation, prompt), names[at])
        check_text(text, names[at])
        ids[at], turns[at] = chat.ids(text), chat.turn(forms[at], text)
    return ids, turns, chat.stop_ids


def check_prepared(model: Model, settings: Settings) -> None:
    """A model of the method's kind."""
    if settings.method == "diffusion":
        kind_of(model)
    elif fills_masks(model):
        raise TypeError(
            f"{type(model).__name__} fills in masks and does not go on with texts; it is for gl.infill and for gl.generate with "
            'method="diffusion", its default there'
        )
    else:
        check_model(model)


def check_healing(model: Model, prompts: Sequence[Prompt], forms: list[AnswerFormat]) -> None:
    """ValueError unless the prompts are texts, and the answers continue them."""
    if is_encoder_decoder(model):
        raise ValueError("heal=True is for models that go on with their prompt; an encoder-decoder model answers it")
    for prompt in prompts:
        if not isinstance(prompt, str):
            found = type(prompt).__name__
            raise ValueError(
                f"heal=True is for prompts that are texts; this one is a {found} of ids, taken as they are"
            )
    if any(isinstance(form.grammar, Tokens) for form in forms):
        raise ValueError(
            "heal=True is for answers that are texts; an item is its tokens, none of which begins in the prompt"
        )


def formats_of(
    descriptions: dict[str, object], count: int | None, read: Callable[..., AnswerFormat]
) -> list[AnswerFormat]:
    """The format of each answer; equal descriptions are read once."""
    spread = {name: per_prompt(name, value, count) for name, value in descriptions.items()}
    if all(value is values[0] for values in spread.values() for value in values):
        return [read(**{name: values[0] for name, values in spread.items()})] * (count or 1)
    return [read(**dict(zip(spread, values, strict=True))) for values in zip(*spread.values(), strict=True)]


def compile_format(
    form: AnswerFormat, vocab: Vocabulary, limits: Limits | None = None, unknown: str = "warn"
) -> tuple[Constraint | None, bool]:
    """The constraint of an answer's grammar, None where there is none; and whether it was cached."""
    if form.grammar is None:
        return None, False
    if form.constraint is None:
        made, was_cached = constraint_of(form.grammar, vocab, limits)
        check_unknown(made, unknown)
        return made, was_cached
    if limits is not None:
        raise ValueError(
            "limits= is for what is compiled here; a compiled constraint has its own, of gl.compile(limits=)"
        )
    known = form.constraint.vocab
    if known != vocab:
        raise ValueError(
            f"the constraint is compiled for {known!r}, and the model's is {vocab!r}; pass vocab=constraint.vocab if its ids are "
            "this model's, or the grammar itself, which is compiled here"
        )
    check_unknown(form.constraint, unknown)
    return form.constraint, True


def checked_predicate(where: Where | None) -> Where | None:
    if where is None or callable(where):
        check_synchronous("where", where)
        return where
    raise TypeError(
        f"where is {type(where).__name__}; it takes a function that gets the text so far and says whether it may go on"
    )
