"""What generate() is asked for: all of its arguments but the model and the prompt, as one object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import signature
from typing import Any

from grammarlm.decoding.logits.rejection import Rejection
from grammarlm.decoding.logits.sampling import Sampling
from grammarlm.decoding.readers.model_facts import check_no_tokenizer
from grammarlm.decoding.readers.reader import CACHES
from grammarlm.errors import unknown_argument
from grammarlm.grammars.json_schema.schema import UNKNOWN
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

from .argument_types import AnyGrammar, Choice, Items, OneOrEach, Pattern, Schema, Tokenizer, Where
from .arguments import MOST_ANSWERS, check_choice, check_integer
from .output import FORMS
from .result import Result

FORCED = ("score", "off")
BATCH = 32
WITH_DRAFTS = ("masked", "best_of")


@dataclass(frozen=True, eq=False)
class Options:
    """The arguments of generate(), whose docstring says what each means; those of sampling are a Sampling.

    `method`, `batch_size` and `progress` say how a call is run, the others what one answer is: `start()` takes only those.
    """

    tokenizer: Tokenizer = None
    vocab: Vocabulary | None = None
    limits: Limits | None = None
    cache: str | None = None

    schema: Schema = None
    regex: OneOrEach[Pattern] = None
    grammar: OneOrEach[AnyGrammar] = None
    choices: Iterable[Choice] | Sequence[Iterable[Choice] | None] | None = None
    items: OneOrEach[Items] = None
    where: OneOrEach[Where] = None

    sampling: Sampling = field(default_factory=Sampling)
    n: int = 1
    max_tokens: int = 256
    close: bool = True
    heal: bool = False
    forced: str = "score"
    draft: object = None
    unknown: str = "warn"

    method: str | Callable[..., list[Result]] = "masked"
    batch_size: int = BATCH
    progress: bool | None = None

    def __post_init__(self) -> None:
        check_integer("batch_size", self.batch_size, 1)
        check_choice("progress", self.progress, (None, True, False))
        if self.limits is not None and not isinstance(self.limits, Limits):
            raise TypeError(f"limits is {type(self.limits).__name__}; it takes a gl.Limits, e.g. gl.Limits(max_ms=500)")
        check_integer("max_tokens", self.max_tokens, 1)
        check_integer("n", self.n, 1, MOST_ANSWERS)
        check_choice("close", self.close, (True, False))
        check_choice("heal", self.heal, (True, False))
        check_choice("forced", self.forced, FORCED)
        check_choice("unknown", self.unknown, UNKNOWN)
        check_choice("cache", self.cache, (None, *CACHES))
        if self.draft is not None:
            self._check_draft()

    def _check_draft(self) -> None:
        check_no_tokenizer("draft", self.draft, "it takes a drafter's name, a smaller model or a gl.Draft")
        if self.heal:
            raise ValueError(
                "heal=True takes no draft: while the prompt's end is spelled again nothing is drafted; leave one of both out"
            )
        if isinstance(self.method, str) and self.method not in WITH_DRAFTS:
            raise ValueError(f"method={self.method!r} takes no draft; {' and '.join(map(repr, WITH_DRAFTS))} do")

    @property
    def forms(self) -> dict[str, Any]:
        """The five forms of a constraint, by name; None where one is not given."""
        return {name: getattr(self, name) for name in FORMS}


HOW_A_CALL_IS_RUN = frozenset({"method", "batch_size", "progress"})
SAMPLING = frozenset(one.name for one in fields(Sampling))
ARGUMENTS = (
    frozenset(one.name for one in fields(Options)) - {"sampling"} | SAMPLING
)  # of generate(), by their names there


def options_of(function: str, arguments: Mapping[str, Any], sampling: Sampling | None = None) -> Options:
    """The Options of arguments that are known by name only; those of sampling one by one or as a Sampling."""
    known = ARGUMENTS - HOW_A_CALL_IS_RUN
    for name in arguments:
        if name not in known:
            raise unknown_argument(function, name, known)
    loose = {name: value for name, value in arguments.items() if name in SAMPLING}
    others = {name: value for name, value in arguments.items() if name not in SAMPLING}
    return Options(sampling=sampling or Sampling(**loose), **others)


def check_names(function: str, given: Iterable[str], find: Callable[..., Any], *, are_bound: bool = False) -> None:
    """TypeError for an argument that is neither generate()'s nor an option of the method `find`; `are_bound`: generate()'s own
    have been taken out of `given`.
    """
    options = option_names(find)
    for name in given:
        if name not in options and (are_bound or name not in ARGUMENTS):
            raise unknown_argument(function, name, ARGUMENTS | options)


def option_names(find: Callable[..., Any]) -> set[str]:
    """The options of a method: its keyword-only arguments, and where it passes further ones on, its `further` names or the fields
    of `Rejection`.
    """
    parameters = signature(find).parameters.values()
    names = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        names |= set(getattr(find, "further", [one.name for one in fields(Rejection)]))
    return names
