"""What generate() returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

from grammarlm.errors import brief

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from grammarlm.grammars.tools.read import Call, Turn

    Value = TypeVar("Value", default=Any)
else:
    from typing import TypeVar

    Value = TypeVar("Value")

from .trace import TraceStep

Path = tuple[str | int | None, ...]
COMPLETE = ("stop", "closed")  # the finish reasons of complete answers


@dataclass
class Stats:
    """What an answer cost, and how much of the model's probability the constraint removed.

    Times are those of the batch while this answer was part of it: divide by the number of answers for the cost of one. Where a stop
    string ended it, forced, drafted and accepted tokens are counted with those of the stop string; `tokens` is the answer's.
    """

    forwards: int = 0  # calls of the model that this answer took part in
    tokens: int = 0  # of the answer, without its stop id
    forced_tokens: int = 0  # of these, the only ones that were left, or written ones, without forwards of their own
    draft_tokens: int = 0  # draft tokens: proposed because their bytes are forced, read in one forward with others
    accepted_tokens: int = 0  # of these, tokens that were then drawn, without a forward of their own
    # By how many ids its text was shorter than the longest that shared a forward with it, summed over its forwards: pads, of which
    # texts of equal length have none.
    padded_ids: int = 0
    seed: int | None = None  # of the random numbers; None where nothing was drawn (temperature 0)
    # for each token the probability, at temperature 1, of the tokens that the constraint forbade there
    mass_removed: list[float] = field(default_factory=list, repr=False)
    checks: int = 0  # texts that where= was asked about for this answer; counted by methods that follow several texts
    cache_hit: bool = False  # was the compiled constraint cached?
    closes: bool = False  # is the answer held to the budget, so that it always ends within max_tokens?
    compile_seconds: float = 0.0  # of the vocabulary and the constraints; next to nothing where they were cached
    model_seconds: float = 0.0
    mask_seconds: float = 0.0
    sampling_seconds: float = 0.0
    log: list[dict[str, float]] = field(
        default_factory=list, repr=False
    )  # what a method notes of each choice ("anchored"), or of a whole prompt ("pool": its paths and their tokens)
    trace: list[TraceStep] = field(default_factory=list, repr=False)  # of infilling: what each step did (trace.py)


@dataclass(frozen=True, repr=False)
class Population:
    """The particles of sequential Monte Carlo: texts with weights that sum to 1, which follow the model's law given the constraint.

    `texts`, `tokens`, `weights`   one entry for each token sequence, the heaviest first: two of them may spell one text
    `log_evidence`   log of the probability that the model by itself writes a text that the constraint accepts: an estimate,
                     unbiased before the logarithm
    `ess`            effective sample size after each step: how many particles of equal weight would be worth as much
    `resampled`      the steps, from 0, after which particles were resampled
    """

    texts: list[str]
    tokens: list[list[int]]
    weights: list[float]
    log_evidence: float
    ess: list[float]
    resampled: list[int]

    def __repr__(self) -> str:
        best = brief(self.texts[0]) if self.texts else "nothing"
        return f"<Population of {len(self.texts)} texts, the heaviest {best}, log_evidence {self.log_evidence:.4g}>"


@dataclass(frozen=True, repr=False)
class Part:
    """A named part of an answer: a `gl.Capture`.

    `value`   the JSON value of a part that is one JsonSchema (an instance where the schema is a Python type), the item of one that
              is Tokens; elsewhere the text
    `span`    its place in the text, in bytes: (start, end)
    `tokens`  the positions in the answer's `tokens` of all that have bytes of it; at its ends others may share them
    `error`   why it has no value, as in a Result
    """

    name: str
    text: str
    value: Any
    span: tuple[int, int]
    tokens: range
    error: str | None = None

    def __repr__(self) -> str:
        return f"Part({self.name!r}, {brief(self.value, 80)}, span={self.span})"


@dataclass(frozen=True)
class Field:
    """A field of an answer.

    `path`           where it stands: keys and indices of JSON, ("orders", 0, "name"); the name of a part, and its number where
                     there may be several
    `span`           its place in the text, in bytes: (start, end)
    `token_span`     the positions in the answer's `tokens` of those that begin in it: (first, after the last). It may have none,
                     where the token before it spells it as well
    `logprob`        the sum of their `logprobs`
    `model_logprob`  the sum of their `model_logprobs`
    """

    path: Path
    span: tuple[int, int]
    token_span: tuple[int, int]
    logprob: float
    model_logprob: float

    @property
    def tokens(self) -> range:
        return range(*self.token_span)


class Fields(list[Field]):
    """The fields of an answer, in the order of the text: `fields["orders", 0, "name"]`, `"age" in fields`."""

    def __getitem__(self, path: Any) -> Any:
        steps = path if isinstance(path, tuple) else (path,)
        found = next((field for field in self if field.path == steps), None)
        if found is None:
            raise KeyError(
                f"the answer has no field {brief(path, 80)}; there are {brief([field.path for field in self], 200)}"
            )
        return found

    def __contains__(self, path: object) -> bool:
        return (path if isinstance(path, tuple) else (path,)) in (field.path for field in self)


@dataclass(frozen=True, repr=False)
class Result(Generic[Value]):
    """One answer. `out["name"]` is the value of the part with this name, a list where the grammar allows several of them.

    `text`            the answer. Cut in the middle of a character it ends with U+FFFD
    `value`           what the text means: under a schema its JSON value (an instance where the schema is a Python type), also where
                      the grammar has this schema beside others, a list where it repeats it; of a gl.Template a dict of its holes,
                      likewise; of a grammar with other named parts what they stand for, by name; elsewhere the text (its bytes
                      where they are not UTF-8). None where the answer is not complete (its finish reason is neither "stop" nor
                      "closed"), or where `error` says why
    `parts`           its named parts, in the order in which they begin; of an answer that was cut those that are certain. Which
                      parts a text has that can be read in several ways: those that end first (masks/readings/ways.py)
    `named`           their values by name
    `fields`          under a schema the scalars of its JSON (and its empty containers) by their paths, ("orders", 0, "name"); of
                      other grammars their named parts, (name,), or (name, number) where there may be several; of a part that is
                      JSON, or has some, the scalars, after its own path. Parts with named parts inside are none. A token belongs to
                      the field in which it begins. Where two fields have one path, None stands before the second's. Of answers that
                      are written from left to right
    `turn`            under gl.Tools: what the answer says as a turn of an assistant; `calls`, `reasoning`, `content` and `message`
                      are its own. Of an answer that was cut the calls that are complete
    `tokens`          its ids, without the stop id
    `logprobs`        for each token the log-probability in softmax(masked logits / temperature), at temperature 1 where
                      decoding is greedy. Top-k, top-p, min-p, typical-p and `where=` change which tokens can be drawn, not these
                      figures
    `model_logprobs`  for each token the log-probability that the model itself gave it: no constraint, temperature 1
    `finish_reason`   "stop": the model ended the text where it may end, or only the end was allowed; "closed": the budget
                      of max_tokens ended it, or removed tokens from a mask; "length": it was cut; "unsatisfied": `where=` refused
                      all that could come next; "error": it failed, alone of its batch
    `stopped_by`      the string of `stop=` before which it ends; None where none did
    `tries`           how many answers were asked for, with retries=
    `probabilities`   with probabilities=True: of each answer that might be given (value, probability), the most probable first
                      (gl.decide says what they are)
    `log_weight`      method="awrs": log of the answer's importance weight, the model's mass that the constraint left on the way
    `population`      method="smc": all texts that were found, with their weights
    `score`           method="beam", "best_of", "vote", "pool", "best_first": the figure that ranked the answer
    `draft`           method="planned": the free answer that it follows
    `error`           why a complete text has no value: a validator of the Python type that the schema cannot express, a number or a
                      nesting beyond what Python reads. Where it is not complete: where the predicate refused all, or the type
                      and message of the exception
    """

    text: str
    value: Value
    tokens: list[int]
    logprobs: list[float]
    stats: Stats
    finish_reason: str
    model_logprobs: list[float] = field(default_factory=list)
    error: str | None = None
    log_weight: float | None = None
    population: Population | None = None
    score: float | None = None
    parts: list[Part] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    turn: Turn | None = None
    stopped_by: str | None = None
    tries: int = 1
    draft: str | None = None
    probabilities: list[tuple[Any, float]] | None = None
    fields: Fields = field(default_factory=Fields)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Calls of tools, each with its name, arguments, id and text; `call()` runs the function."""
        return () if self.turn is None else self.turn.calls

    @property
    def reasoning(self) -> str | None:
        """The thought before the answer; None where it has none."""
        return None if self.turn is None else self.turn.reasoning

    @property
    def content(self) -> str:
        """The text without reasoning and calls."""
        return self.text if self.turn is None else self.turn.content

    @property
    def message(self) -> dict[str, Any]:
        """The answer as a message of the conversation, in the form that the chat template takes."""
        return {"role": "assistant", "content": self.text} if self.turn is None else self.turn.message

    def __getitem__(self, name: str) -> Any:
        if name in self.named:
            return self.named[name]
        there = ", ".join(map(repr, self.named)) or "none"
        failed = f"; {self.error}" if self.error else ""
        raise KeyError(f"the answer has no part {name!r}; there is {there}{failed}")

    def __contains__(self, name: object) -> bool:
        return name in self.named

    __iter__ = None  # it is no sequence

    def __repr__(self) -> str:
        own = {"text": self.text, "value": self.value, "error": self.error}
        own |= {"parts": self.parts or None}
        shown = [f"{name}={brief(value, 80)}" for name, value in own.items() if value is not None]
        return f"Result({', '.join(shown)}, finish_reason={self.finish_reason!r}, {len(self.tokens)} tokens)"
