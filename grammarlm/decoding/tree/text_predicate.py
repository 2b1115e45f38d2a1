"""What where= says about texts of a tree: the questions of a step are asked together, each once."""

from __future__ import annotations

from collections.abc import Sequence

from grammarlm.decoding.failures import Ending, RowFailure
from grammarlm.decoding.settings import AnswerSpec

from .steps import Dead
from .text_node import TextNode


class TextPredicate:
    """The predicates of all prompts, the answers of this step, and the bytes of the texts that are asked about."""

    def __init__(self, specs: Sequence[AnswerSpec]):
        self._specs = specs
        self._data: dict[TextNode, bytes] = {}
        self._answers: dict[tuple[int, str], bool | RowFailure] = {}
        self.asked = 0  # questions

    def next_step(self, texts: Sequence[TextNode]) -> None:
        """Drops what was known but of these texts and those that they go on from."""
        self._answers.clear()
        near = {*texts, *(text.parent for text in texts)}
        self._data = {text: data for text, data in self._data.items() if text in near}

    def held(self, pairs: Sequence[tuple[TextNode, int]]) -> list[bool]:
        """As `holds`, but raises Dead where the predicate raised."""
        answers = self.holds(pairs)
        for (text, _), answer in zip(pairs, answers, strict=True):
            if isinstance(answer, Exception):
                raise Dead(text, Ending.of(answer))
        return [bool(answer) for answer in answers]

    def holds(self, pairs: Sequence[tuple[TextNode, int]]) -> list[bool | RowFailure]:
        """Does where= accept the text with this token appended? New questions go to `where.many` as one call, if it has that.

        If it raised, the exception takes the answer's place.
        """
        asked = [self._question(text, token) for text, token in pairs]
        new = [key for key in dict.fromkeys(asked) if key is not None and key not in self._answers]
        for number in dict.fromkeys(number for number, _ in new):
            questions = [question for of, question in new if of == number]
            answers = self._specs[number].predicate.answers(questions)
            self.asked += len(questions)
            self._answers.update(((number, one), answer) for one, answer in zip(questions, answers, strict=True))
        return [True if key is None else self._answers[key] for key in asked]

    def _question(self, text: TextNode, token: int) -> tuple[int, str] | None:
        """The prompt, and what to ask its predicate; None: nothing."""
        spec = self._specs[text.prompt]
        if spec.where is None:
            return None
        data = self.data(text)
        is_end = token in spec.vocab.stop_ids
        asked = spec.predicate.question_of_end(data) if is_end else spec.predicate.question(data, spec.bytes_of(token))
        return None if asked is None else (text.prompt, asked)

    def data(self, text: TextNode) -> bytes:
        """The bytes of the tokens."""
        if text.parent is None:
            return b""
        if text not in self._data:
            known = self._data.get(text.parent)
            rest = text.tokens() if known is None else [text.token]
            self._data[text] = (known or b"") + b"".join(map(self._specs[text.prompt].bytes_of, rest))
        return self._data[text]
