"""Why a token may not stand at a position of a row, in words."""

from __future__ import annotations

from grammarlm.errors import shorten
from grammarlm.vocab.vocabulary import Vocabulary

from .classes import NEVER, STOP, TokenClasses
from .protocol import MASKED, Passes


def explain(vocab: Vocabulary, classes: TokenClasses, passes: Passes, row: list[int], position: int, token: int) -> str:
    """ "allowed", or the reason against it."""
    if not 0 <= token < vocab.size:
        return f"not in the vocabulary: ids are 0 to {vocab.size - 1}"
    spelled = vocab.token_bytes(token)
    name = f"the token {token} ({spelled!r:.60})"
    kind = int(classes.of[token])
    if kind == NEVER:
        if token in vocab.special_ids:
            return f"{name} is special, and no text has it"
        return f"{name} has no bytes" if not spelled else f"{name} stands in no text of the language"
    if not passes.is_completable:
        return shorten(_incomplete(passes, classes, row))
    if passes.classes_at(position)[kind]:
        return "allowed"
    if not passes.reads(position, kind):
        what = "the text cannot end here" if kind == STOP else f"{name} cannot be read here"
        return shorten(f"{what}, whatever stands at the masked positions before position {position}")
    return shorten(
        f"{name} can be read at position {position}, but then the tokens and masked positions after it do not complete a text"
    )


def _incomplete(passes: Passes, classes: TokenClasses, row: list[int]) -> str:
    for i, token in enumerate(row):
        if token != MASKED and not passes.reads(i, int(classes.of[token])):
            return (
                f"the row cannot be completed: its token {token} at position {i} cannot be read after what precedes it"
            )
    return "the row cannot be completed: its tokens can be read, but no text ends within it"
