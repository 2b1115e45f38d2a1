"""where=: what a caller's predicate says about a text.

It gets whole characters only, and is not asked about what it has accepted already: a token that completes no character is no
question, and an end is one only if the text is empty or stops within a character.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from .failures import RowFailure, answer_of, is_true, message_of

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")


@dataclass(frozen=True)
class Predicate:
    """The predicate of the answers to one prompt; None accepts everything."""

    where: Callable[[str], bool] | None = None

    def question(self, data: bytes | bytearray, piece: bytes) -> str | None:
        """What to ask where `piece` is appended to an accepted text; None: nothing."""
        if self.where is None:
            return None
        before, after = readable(data), readable(data + piece)
        return None if after == before else after

    def question_of_end(self, data: bytes | bytearray) -> str | None:
        """What to ask where an accepted text ends here; None: nothing."""
        if self.where is None:
            return None
        text = data.decode(errors="replace")
        return None if text != "" and text == readable(data) else text

    def accepts(self, question: str | None) -> bool:
        """The answer; RowFailure where the predicate raises."""
        return question is None or self.where is None or bool(answer_of("where", self.where, question))

    def answers(self, questions: Sequence[str]) -> list[bool | RowFailure]:
        """The answer to each, the failure where it raised; one call of `where.many`, if it has that."""
        many = getattr(self.where, "many", None)
        if many is None:
            return [self._answer(question) for question in questions]
        try:
            answers = [is_true(answer) for answer in many(list(questions))]
            if len(answers) != len(questions):
                raise ValueError(f"it was asked about {len(questions)} texts and gave {len(answers)} answers")
        except Exception as error:
            return [RowFailure(f"where.many raised {message_of(error)}")] * len(questions)
        return list(answers)

    def _answer(self, question: str) -> bool | RowFailure:
        try:
            return self.accepts(question)
        except RowFailure as failure:
            return failure


def readable(data: bytes | bytearray) -> str:
    """The text up to its last whole character; invalid UTF-8 before that is U+FFFD."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        end = error.start if error.end == len(data) and error.reason == "unexpected end of data" else len(data)
        return data[:end].decode(errors="replace")


def run_together(
    askers: Sequence[tuple[Key, Generator[list[int], list[bool], Found]]],
    check: Callable[[list[tuple[Key, int]]], Sequence[bool | Exception]],
) -> list[Found | Exception]:
    """Runs generators side by side that ask about tokens; what each returns, or the exception in place of one of its answers.

    Each has a key. `check` is asked about (key, token), in one call for a round, and about each pair once.
    """
    found: dict[int, Found | Exception] = {}
    known: dict[tuple[Key, int], bool | Exception] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(askers)))
    while answers:
        asked = {}
        for at, own in answers.items():
            try:
                asked[at] = [(askers[at][0], token) for token in askers[at][1].send(own)]
            except StopIteration as end:
                found[at] = end.value
        new = [pair for pair in dict.fromkeys(chain(*asked.values())) if pair not in known]
        known.update(zip(new, check(new) if new else (), strict=True))
        answers = {}
        for at, pairs in asked.items():
            answers[at] = [known[pair] for pair in pairs]
            if failures := [one for one in answers[at] if isinstance(one, Exception)]:
                found[at] = failures[0]
                del answers[at]
    return [found[at] for at in range(len(askers))]
