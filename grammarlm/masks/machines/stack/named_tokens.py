"""The ids of special tokens by their names in a vocabulary."""

from __future__ import annotations

import difflib
from functools import cached_property

from grammarlm.errors import GrammarError
from grammarlm.masks.filters import greedy
from grammarlm.vocab.vocabulary import Vocabulary


class NamedTokens:
    """The special tokens of a vocabulary by their texts, without stop ids: the end of a text is not part of it."""

    def __init__(self, vocab: Vocabulary):
        self.vocab = vocab

    @cached_property
    def _by_text(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for token in sorted({*self.vocab.special_ids} - {*self.vocab.stop_ids}):
            found.setdefault(self.vocab.token_bytes(token).decode("utf-8", "replace"), []).append(token)
        found.pop("", None)
        return found

    def id_of(self, name: str | int, position: int) -> int | None:
        """The id that a grammar means by a text or an id; GrammarError where it is not a special token, or a stop id. None where
        the vocabulary has no tokens for names: the name is text."""
        if self.vocab.names_are_text:
            return None
        token = name if isinstance(name, int) else self._called(name, position)
        if not 0 <= token < self.vocab.size:
            raise GrammarError(
                f"there is no token {token}: the ids of this vocabulary are 0 to {self.vocab.size - 1}",
                position=position,
            )
        shown = f"the token {token} ({self.vocab.token_bytes(token)!r:.80})"
        if token in self.vocab.stop_ids:
            raise GrammarError(
                f"{shown} ends a text, so it cannot be part of one; leave it out, or give the vocabulary other stop_ids",
                position=position,
            )
        if isinstance(name, str) and token not in self.vocab.special_ids:
            raise GrammarError(
                f"{shown} is ordinary text in this vocabulary; write its text as a string, or its id for this one token",
                position=position,
            )
        if not self.vocab.token_bytes(token):
            raise GrammarError(f"the id {token} has no token, so no mask can allow it", position=position)
        return token

    def _called(self, name: str, position: int) -> int:
        ids = self._by_text.get(name, [])
        if len(ids) == 1:
            return ids[0]
        if ids:
            raise GrammarError(
                f"{len(ids)} special tokens have the text {name!r:.80} (ids {', '.join(map(str, ids[:5]))}); say which by its id",
                position=position,
            )
        if (token := self._ordinary(name)) is not None:
            return token  # refused by the caller, by its id
        near = difflib.get_close_matches(name, self._by_text, 3, 0.5) or list(self._by_text)[:3]
        hint = f"there are {', '.join(f'{text!r:.60}' for text in near)}" if near else "it has none at all"
        raise GrammarError(f"this vocabulary has no special token {name!r:.80}; {hint}", position=position)

    def _ordinary(self, name: str) -> int | None:
        """A stop id or a text token with this text."""
        data = name.encode("utf-8", "replace")
        stop = next((t for t in self.vocab.stop_ids if self.vocab.token_bytes(t) == data), None)
        spelled = greedy.cut(self.vocab, data) if stop is None else None
        return spelled[0] if spelled and len(spelled) == 1 else stop
