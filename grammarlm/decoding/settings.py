"""The settings of generate(), written once: their names, their defaults and what each may be. And what they ask of one answer.

generate(), stream() and gl.Generator take them as keywords; `with_settings` gives such a function a signature that shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, TypeVar

import numpy as np

from grammarlm.decoding.logits.sampling import Sampling
from grammarlm.decoding.readers.kept import KeptTexts
from grammarlm.decoding.readers.model_facts import check_no_tokenizer
from grammarlm.decoding.readers.reader import CACHES
from grammarlm.errors import GrammarError, unknown_argument
from grammarlm.grammars.json_schema.schema import UNKNOWN
from grammarlm.grammars.template import has_template
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.readings.ways import Ways
from grammarlm.masks.runtime.limits import Limits
from grammarlm.masks.token_facts import pack_ids
from grammarlm.vocab.vocabulary import Vocabulary

from .answers.answer_format import DESCRIPTIONS, AnswerFormat
from .answers.turns import tools_of
from .argument_types import AnyGrammar, Choice, Items, OneOrEach, Pattern, Schema, Tokenizer, Where
from .arguments import MOST_ANSWERS, check_choice, check_integer, per_prompt
from .chat.conversation import ChatSettings
from .predicate import Predicate
from .result import Result
from .retries import Checked
from .stops import Stops

FORCED = (None, "score", "write", "off")
WITH_DRAFTS = ("masked", "best_of")
WHOLE_TEXTS = ("awrs", "smc", "beam", "lookahead", "trials", "diffusion", "superposed")  # what they look ahead for
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Settings:
    """All that generate() is asked for besides the model and the prompt; its docstring says what each means."""

    tokenizer: Tokenizer = None
    vocab: Vocabulary | None = None
    schema: Schema = None
    regex: OneOrEach[Pattern] = None
    grammar: OneOrEach[AnyGrammar] = None
    choices: Iterable[Choice] | Sequence[Iterable[Choice] | None] | None = None
    items: OneOrEach[Items] = None
    response_format: OneOrEach[Mapping[str, Any] | str] = None
    where: OneOrEach[Where] = None
    tools: Sequence[Any] | None = None
    tool_choice: str | Mapping[str, Any] = "auto"
    parallel: bool = True
    reasoning: int | bool | None = None
    tool_format: object = None
    chat_template: str | None = None
    chat_template_kwargs: Mapping[str, Any] | None = None
    max_tokens: int = 256
    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repetition_penalty: float = 1.0
    seed: int | None = None
    n: int = 1
    stop: str | Sequence[str] | None = None
    close: bool = True
    heal: bool = False
    forced: str | None = None
    draft: object = None
    cache: str | None = None
    limits: Limits | None = None
    unknown: str = "warn"
    method: str | Callable[..., list[Result]] = "masked"
    batch_size: int = 32
    progress: bool | None = None
    check: Callable[[Any], Any] | None = None
    retries: int = 0
    feedback: bool = True
    probabilities: bool = False

    sampling: Sampling = field(init=False)  # of those from temperature to seed
    stops: Stops | None = field(init=False)
    checked: Checked = field(init=False)
    chat: ChatSettings = field(init=False)  # of those from tools to chat_template_kwargs

    def __post_init__(self) -> None:
        sampling = Sampling(**{one.name: getattr(self, one.name) for one in fields(Sampling)})
        object.__setattr__(self, "sampling", sampling)
        chat = ChatSettings(**{one.name: getattr(self, one.name) for one in fields(ChatSettings)})
        object.__setattr__(self, "chat", chat)
        object.__setattr__(self, "checked", Checked(self.check, self.retries, self.feedback))
        check_integer("batch_size", self.batch_size, 1)
        check_choice("progress", self.progress, (None, True, False))
        if self.limits is not None and not isinstance(self.limits, Limits):
            raise TypeError(f"limits is {type(self.limits).__name__}; it takes a gl.Limits, e.g. gl.Limits(max_ms=500)")
        object.__setattr__(self, "stops", Stops.of(self.stop))
        if self.stops is not None and isinstance(self.method, str) and self.method in WHOLE_TEXTS:
            raise ValueError(f"method={self.method!r} takes no stop=: it chooses among whole texts")
        check_integer("max_tokens", self.max_tokens, 1)
        check_integer("n", self.n, 1, MOST_ANSWERS)
        check_choice("close", self.close, (True, False))
        check_choice("heal", self.heal, (True, False))
        check_choice("forced", self.forced, FORCED)
        if self.forced == "write" and not self.can_write:
            raise ValueError(f'method={self.method!r:.60} takes no forced="write": it chooses among whole texts')
        check_choice("unknown", self.unknown, UNKNOWN)
        if not isinstance(self.cache, KeptTexts):  # gl.Generator gives its own
            check_choice("cache", self.cache, (None, *CACHES))
        check_choice("probabilities", self.probabilities, (True, False))
        if self.probabilities and (self.heal or self.where is not None or self.method == "diffusion"):
            taken = "heal=True" if self.heal else "where=" if self.where is not None else 'method="diffusion"'
            raise ValueError(
                f"probabilities=True takes no {taken}: they are those of the choices after the prompt as it is"
            )
        if self.draft is not None:
            self._check_draft()

    def _check_draft(self) -> None:
        if self.method == "planned":  # settings of its own, which it checks
            return
        check_no_tokenizer("draft", self.draft, "it takes a drafter's name, a smaller model or a gl.Draft")
        if self.heal:
            raise ValueError(
                "heal=True takes no draft: while the prompt's end is spelled again nothing is drafted; leave one of both out"
            )
        if self.method not in WITH_DRAFTS:  # a blend or a search of one's own, too
            raise ValueError(f"method={self.method!r} takes no draft; {' and '.join(map(repr, WITH_DRAFTS))} do")

    @property
    def can_write(self) -> bool:
        """Does the method draw one token after another, from masks that leave the written one alone where text is forced?"""
        return self.method not in WHOLE_TEXTS if isinstance(self.method, str) else hasattr(self.method, "start")

    @property
    def descriptions(self) -> dict[str, Any]:
        """What describes the constraint, by the keyword; None where one is not given."""
        return {name: getattr(self, name) for name in DESCRIPTIONS}

    def of_prompts(self, numbers: Sequence[int], count: int | None) -> Settings:
        """Of some of `count` prompts (None: one, which is no list), one answer each: what is given for each is theirs."""
        changed: dict[str, Any] = {"n": 1, "progress": False}
        for name in (*DESCRIPTIONS, "where"):
            values = per_prompt(name, getattr(self, name), count)
            if count is not None and any(value is not values[0] for value in values):
                changed[name] = [values[number] for number in numbers]
        return replace(self, **changed)

    def warm(self) -> Settings:
        """For methods that must sample."""
        return replace(self, **vars(self.sampling.warm()))

    @property
    def at_once(self) -> int:
        """Prompts whose answers share their forwards."""
        return max(1, self.batch_size // self.n)


@dataclass(frozen=True)
class AnswerSpec:
    """The constraint of the answers to one prompt, and how they are drawn."""

    vocab: Vocabulary
    settings: Settings
    form: AnswerFormat
    constraint: Constraint | None  # of the form's grammar; None: any text
    where: Callable[[str], bool] | None = None
    healed_suffix: bytes = b""  # the end of the prompt, to be generated again (healing.py)
    reserved: tuple[int, ...] = ()  # ids that are never drawn
    prompt: tuple[int, ...] = ()  # ids that the repetition penalty counts besides the answer
    was_cached: bool = False  # the constraint
    compile_seconds: float = 0.0

    @cached_property
    def stop_row(self) -> np.ndarray:
        return pack_ids(self.vocab.stop_ids, self.vocab.words)

    @cached_property
    def reserved_row(self) -> np.ndarray:
        return pack_ids(self.reserved, self.vocab.words)

    @property
    def ways(self) -> Ways | None:
        """What the answers are read back along; None where they have no parts."""
        return None if self.constraint is None or tools_of(self.form.grammar) else self.constraint.ways

    @property
    def stops(self) -> Stops | None:
        return self.settings.stops

    @cached_property
    def writes(self) -> bool:
        """Is forced text written in the tokenizer's own tokens? By default that of templates is."""
        if self.settings.forced is not None:
            return self.settings.forced == "write"
        return self.settings.can_write and has_template((self.form.inner or self.form).grammar)

    @cached_property
    def predicate(self) -> Predicate:
        return Predicate(self.where)

    def bytes_of(self, token: int) -> bytes:
        """The bytes that a token appends: none for special tokens, which occur only where there is no grammar."""
        return b"" if token in self.vocab.special_ids else self.vocab.token_bytes(token)

    def matcher(self) -> tuple[Matcher | None, bool]:
        """A matcher at the start, and whether it keeps the budget; ValueError where the constraint needs more tokens than that."""
        if self.constraint is None:
            return None, False
        if self.settings.close:
            try:
                return self.constraint.matcher(max_tokens=self.settings.max_tokens), True
            except GrammarError:
                raise
            except ValueError as error:
                raise ValueError(
                    f"{error}; raise max_tokens, or pass close=False, and a text that is not finished by then is cut"
                ) from None
        return self.constraint.matcher(), False


# What other libraries have as an argument, and where it is here.
ELSEWHERE = {
    "messages": "a conversation is the prompt itself: a list of messages",
    "pattern": "it is regex=",
    "response_model": "it is schema=",
    "stream": "gl.stream() has the same arguments, and yields events",
}

NAMES = frozenset(one.name for one in fields(Settings) if one.init)


def settings_of(
    function: str, given: Mapping[str, Any], find: Callable[..., Any] | None = None
) -> tuple[Settings, dict[str, Any]]:
    """The Settings among a function's keywords, and the others, which are options of the method `find`.

    TypeError for one that is neither.
    """
    check_names(function, given, find)
    own = {name: value for name, value in given.items() if name in NAMES}
    return Settings(**own), {name: value for name, value in given.items() if name not in NAMES}


def check_names(function: str, given: Iterable[str], find: Callable[..., Any] | None) -> None:
    known = NAMES if find is None else NAMES | option_names(find)
    for name in given:
        if name not in known and name in ELSEWHERE:
            raise TypeError(f"{function}() has no argument {name}=; {ELSEWHERE[name]}")
        if name not in known:
            raise unknown_argument(function, name, known)


def option_names(find: Callable[..., Any]) -> set[str]:
    """The options of a method: its keyword-only arguments, and its `further` names, where it passes further ones on."""
    parameters = signature(find).parameters.values()
    names = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        names |= set(getattr(find, "further", ()))
    return names


def with_settings(function: Function) -> Function:
    """A function whose further keywords are settings and a method's options, with a signature that shows the settings."""
    own = signature(function)
    others = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    settings = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
        for one in fields(Settings)
        if one.init
    ]
    further = Parameter("options", Parameter.VAR_KEYWORD, annotation="object")
    function.__signature__ = own.replace(parameters=[*others, *settings, further])  # type: ignore[attr-defined]
    return function
