"""check= and retries=: answers that fail are asked for again, each by itself.

An answer fails where its check raises, or says anything but True or nothing, where a validator of its type refuses its value or
a call's arguments, or where it is not complete (one that was cut, only if it is to be checked). The next try has another seed; in
a conversation it is told why the last one failed (feedback). Which other answers of the batch fail makes no difference to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from grammarlm.errors import brief, shorten

from .argument_types import Prompt
from .arguments import check_choice, check_function, check_integer
from .chat.messages import is_conversation
from .failures import RowFailure, message_of
from .logits.sampling import LARGEST_SEED
from .result import COMPLETE, Result

MOST_RETRIES = 1 << 10
Try: TypeAlias = (
    "tuple[list[int], list[Prompt], list[int]]"  # an answer each: prompts, the numbers of those they come from, seeds
)
Tries: TypeAlias = "Generator[Try, list[Result], list[Result]]"


@dataclass(frozen=True)
class Checked:
    """What generate() is asked for of values; its docstring says what each means."""

    check: Callable[[Any], Any] | None = None
    retries: int = 0
    feedback: bool = True

    def __post_init__(self) -> None:
        check_function("check", self.check)
        check_integer("retries", self.retries, 0, MOST_RETRIES)
        check_choice("feedback", self.feedback, (True, False))

    @property
    def is_asked(self) -> bool:
        return self.check is not None or self.retries > 0

    def failure(self, out: Result) -> str | None:
        """Why an answer fails; None: it does not."""
        if out.finish_reason == "length" and self.check is None:  # a free text, or close=False: as asked for
            return None
        if out.finish_reason not in COMPLETE:
            return out.error or "the answer is not complete"
        if out.error:
            return out.error
        try:
            for call in out.calls:
                _ = call.arguments
            if self.check is not None and not out.calls and not verdict(self.check(out.value)):  # calls have no value
                return "check= refuses the value"
        except Exception as error:  # of the caller's function or type
            return message_of(error)
        return None

    def tries(self, results: list[Result], prompts: Sequence[Prompt], seed: int) -> Tries:
        """Asks for what is to be tried again, and is sent the answers; returns the answers after all tries."""
        n = len(results) // max(1, len(prompts))
        asked = {at: prompts[at // n] for at in range(len(results))}
        why = {at: said for at, out in enumerate(results) if (said := self.failure(out)) is not None}
        for number in range(2, self.retries + 2):
            failing = [at for at in why if results[at].finish_reason != "error"]
            if not failing:
                break
            asked |= {at: self._next(asked[at], results[at], why[at]) for at in failing}
            seeds = [seed_of(seed, number, at % n) for at in failing]
            outs = yield [at // n for at in failing], [asked[at] for at in failing], seeds
            for at, out in zip(failing, outs, strict=True):
                results[at] = replace(out, tries=number)
                said = self.failure(out)
                if said is None:
                    del why[at]
                else:
                    why[at] = said
        for at, said in why.items():
            results[at] = failed(results[at], said)
        return results

    def _next(self, prompt: Prompt, out: Result, why: str) -> Prompt:
        """The prompt of the next try."""
        if not self.feedback or not is_conversation(prompt):
            return prompt
        told = f"This answer is refused: {why}. Answer again."
        told_calls = [
            {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": told} for call in out.calls
        ]
        return [*prompt, out.message, *(told_calls or [{"role": "user", "content": told}])]


def verdict(said: Any) -> bool:
    """What a check says; None: it has not raised. RowFailure for anything else, which mostly means that it is never false."""
    if said is None or isinstance(said, (bool, np.bool_)):
        return said is None or bool(said)
    raise RowFailure(
        f"check= returns {type(said).__name__}: {brief(said)}; it takes True, False or None, bool(...) for instance"
    )


def settled(tries: Tries, again: Callable[[list[int], list[Prompt], list[int]], list[Result]]) -> list[Result]:
    """The answers after all tries, each of which `again` makes."""
    try:
        asked = next(tries)
        while True:
            asked = tries.send(again(*asked))
    except StopIteration as done:
        results: list[Result] = done.value
        return results


def failed(out: Result, why: str) -> Result:
    """An answer without a value; one that is not complete keeps its reason."""
    if out.finish_reason not in COMPLETE:
        return out
    return replace(out, value=None, finish_reason="unsatisfied", error=shorten(why))


def seed_of(seed: int, number: int, sample: int) -> int:
    """Of a try for one of n answers, from the seed of all."""
    digest = hashlib.blake2b(f"{seed} try {number} of {sample}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") & LARGEST_SEED
