"""What is asked for of one answer: what it is held to, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grammarlm.errors import GrammarError, UnsupportedFeature
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.token_facts import pack_ids
from grammarlm.vocab.vocabulary import Vocabulary

from .answer_format import AnswerFormat
from .predicate import Predicate
from .settings import Settings


@dataclass(frozen=True)
class AnswerSpec:
    """The constraint of the answers to one prompt, and how they are drawn."""

    vocab: Vocabulary
    settings: Settings
    form: AnswerFormat
    constraint: Constraint | None  # of the form's grammar; None: any text
    where: Callable[[str], bool] | None = None
    healed_suffix: bytes = b""  # the end of the prompt, to be generated again (healing.py)
    prompt: tuple[int, ...] = ()  # ids that the repetition penalty counts besides the answer
    was_cached: bool = False  # the constraint
    compile_seconds: float = 0.0

    @cached_property
    def stop_row(self) -> np.ndarray:
        return pack_ids(self.vocab.stop_ids, self.vocab.words)

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
            except UnsupportedFeature:  # a schema combined with other grammars has no budgets: stats.closes says so
                pass
            except GrammarError:
                raise
            except ValueError as error:
                raise ValueError(
                    f"{error}; raise max_tokens, or pass close=False, and a text that is not finished by then is cut"
                ) from None
        return self.constraint.matcher(), False
