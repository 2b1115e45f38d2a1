"""Single tokens of masked positions that make a second key like one of the row, with given tokens beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .another_key import makes_another
from .answers import MOST, Proof
from .keys import spelling_tokens
from .marked_row import ASKED, AVOIDED, FREE, Asked, MarkedRow, touch
from .trials import Trial

if TYPE_CHECKING:
    from .answers import PlainRow
    from .repeats import Repeats


@dataclass(frozen=True, eq=False)
class Candidates:
    """Tokens of one class that may be all of a key with what is beside them."""

    found: list[tuple[bytes, list[int]]]
    tokens: np.ndarray  # int64 [N]: the first of each
    classes: np.ndarray  # int32 [N]: their classes


class SecondKeys:
    """Those of one row."""

    def __init__(self, repeats: Repeats):
        self._repeats = repeats
        self._known_candidates = repeats.grid.candidates_of(repeats.keys, repeats.classes)
        self._known_apart: dict[int, tuple[Candidates, np.ndarray]] = {}

    def refuse(
        self, position: int, allowed: np.ndarray, keys: frozenset[bytes] | None, found: set[int], proof: Proof
    ) -> None:
        """Adds the tokens that spell a second key. `keys`: only those."""
        for key, tokens in self._spelling(position, allowed, keys, proof):
            if tokens[0] not in found and self._makes_second(position, tokens[0], key, proof):
                found.update(tokens)

    def _spelling(
        self, position: int, allowed: np.ndarray, keys: frozenset[bytes] | None, proof: Proof
    ) -> list[tuple[bytes, list[int]]]:
        """(key, tokens): tokens that a masked position may have, and that are all of a key of the row with given tokens beside it.
        They are of one class, and all do alike. Left out are those that need be no key there. `keys`: only these."""
        beside = self._repeats.beside(position)
        if beside is None:
            return []
        before, after = beside
        candidates = self._candidates(before.begins, after.ends, keys)
        if not candidates.found:
            return []
        may_be, least = allowed[candidates.classes], self._repeats.bound
        if least is not None and may_be.any():
            of = least.classes.of[candidates.tokens]
            may_be &= ~(self._are_apart(candidates) & least.classes_at(position)[of])
        if before.text or after.text:
            least = None
        found = [candidates.found[i] for i in np.flatnonzero(may_be).tolist()]
        if least is None or not found:
            return found
        kinds, asked = list[int](), dict[int, tuple[int, bytes]]()
        for key, tokens in found:
            token = tokens[0]  # plain tokens all do alike if they are of one class
            kind = int(least.classes.of[token]) if key == self._repeats.texts[token] else -1 - token
            kinds.append(kind)
            asked.setdefault(kind, (token, key))
        may_avoid = dict(zip(asked, self._may_avoid(position, list(asked.values()), proof), strict=True))
        return [one for one, kind in zip(found, kinds, strict=True) if not may_avoid[kind]]

    def _may_avoid(self, position: int, asked: list[tuple[int, bytes]], proof: Proof) -> list[bool]:
        """Of tokens and a key each: is there a completion with the token at a masked position that has not the key there?"""
        bound = self._repeats.bound
        if isinstance(bound, MarkedRow):
            return bound.may_avoid(position, asked)
        return [self._makes_another(position, token, key, proof) for token, key in asked]

    def _makes_another(self, position: int, token: int, key: bytes, proof: Proof) -> bool:
        """See another_key.py."""
        found = makes_another(self._repeats, position, token, key)
        if found:
            proof.reach = 1
        return found

    def _candidates(
        self, starts: frozenset[bytes], rests: frozenset[bytes], keys: frozenset[bytes] | None
    ) -> Candidates:
        """What tokens may spell between one of some beginnings of a key and one of some ends. `keys`: only these."""
        name = starts, rests
        if keys is not None or name not in self._known_candidates:
            found, of = list[tuple[bytes, list[int]]](), self._repeats.classes.of
            for key, groups in spelling_tokens(self._repeats.vocab).of(
                self._repeats.keys if keys is None else keys, starts, rests
            ):
                for group in groups:
                    by_class: dict[int, list[int]] = {}
                    for token in group:
                        by_class.setdefault(int(of[token]), []).append(token)
                    found += [(key, tokens) for tokens in by_class.values()]
            first = np.array([tokens[0] for _, tokens in found], np.int64)
            made = Candidates(found, first, of[first])
            if keys is not None:
                return made
            self._known_candidates[name] = made
        return self._known_candidates[name]

    @cached_property
    def _apart_keys(self) -> set[bytes]:
        """Those that no completion of `least` has in a place of the row."""
        apart = {key for key in self._repeats.twins if not self._repeats.given(key)}
        return (apart | set(self._repeats.shunned)) - self._repeats.had

    def _are_apart(self, candidates: Candidates) -> np.ndarray:
        """bool [N]: of which the key is one of those."""
        known = self._known_apart.get(id(candidates))
        if known is None:
            found = np.array([key in self._apart_keys for key, _ in candidates.found], bool)
            known = self._known_apart[id(candidates)] = candidates, found
        return known[1]

    def _may_have_two(self, token: int, key: bytes) -> bool:
        """May a token end one such key and begin another?"""
        text = self._repeats.texts[token]
        return text.count(b'"') > (2 if b'"%s"' % key in text else 1)

    def _makes_second(self, position: int, token: int, key: bytes, proof: Proof) -> bool:
        """Does the token at the position make a second key like this one, whatever else is filled in?"""
        if (token, key) in proof.never:
            return False
        here, behind = (position, 0), (position + 1, 0)
        others = [span for span in self._repeats.spans(key) if span.end < here or span.begin > behind]
        if not (others or key in self._repeats.had or self._may_have_two(token, key)):
            return False
        trial = self._trial(position, token, key)
        made = trial.made
        others = [span for span in others if not any(touch(span, one) for one in made)]
        if not made or not (others or key in self._repeats.had or len(made) > 1):
            return False
        if position == 0 and not others and all(span.end < behind for span in made):
            return not self._repeats.grid.begins([token])  # all that precedes is read

        def leads(row: MarkedRow | PlainRow | None, number: int, asked: Asked) -> bool:
            return isinstance(row, MarkedRow) and row.leads_with(trial, number, asked)

        if not self._repeats.twins and self._makes_another(position, token, key, proof):
            return False
        if self._repeats.marked_bound is not None and leads(self._repeats.marked_bound, 0, AVOIDED):
            return False  # it need not be one
        may_be = self._repeats.low is not None and leads(self._repeats.named(MOST), 0, ASKED)
        if not may_be and not leads(self._repeats.most, 0, ASKED):
            proof.never.add((token, key))
            return False  # no key there
        if self._repeats.low is not None and leads(self._repeats.named((key,)), 0, FREE):
            proof.rows[(key,)] = None
            return False
        if not leads(self._repeats.with_key(key), 0, FREE):
            return True
        proof.is_whole = False
        return False

    def _trial(self, position: int, token: int, key: bytes) -> Trial:
        before, after = self._repeats.beside(position) or (None, None)
        assert before is not None
        assert after is not None
        trials = self._repeats.grid.trials.between(before, after)
        return trials.of(token, self._repeats.texts[token], key, self._repeats.tokens)
