"""where=: what a caller's predicate says about a text.

It gets whole characters only, and is not asked about what it has accepted already: a token that completes no character is no
question, and an end is one only if the text is empty or stops within a character.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .failures import RowFailure, answer_of, message_of


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
            answers = [bool(answer) for answer in many(list(questions))]
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
