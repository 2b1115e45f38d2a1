"""Look-around in terms: what stands between characters and reads none.

**LOOK** acts on everything behind it, so it is resolved where it meets its rest: `settle(LOOK(p), rest)` is `rest AND p`.
**PREV** is resolved right behind each character: SCOPE reads characters beside its body, knows which of the PREV sets the last
one is in, and replaces the PREVs that now stand in front by nothing or by the empty set. Everywhere else a PREV in front counts
as the empty set, which is right because the resolved alternative is there beside it (and, where a NOT stands above the PREV,
because what is read before it is then restricted to what is not empty).
"""

from __future__ import annotations

from .terms import ALT, AND, CAT, LOOK, NIL, NOT, NOTHING, PREV, REP, Term, Terms, accepts_empty


class LookAround(Terms):
    """Terms, and the laws of LOOK and PREV."""

    def trim(self, term: Term) -> Term:
        """The term at the end of a text: LOOKs with nothing behind them are decided, so that `$` at the end costs nothing."""
        if not term.look:
            return term
        if term.kind == LOOK and not term.parts[0].prev:
            return NIL if accepts_empty(term.parts[0]) else NOTHING
        if term.kind == CAT:
            spine = []
            while term.kind == CAT:
                spine.append(term.parts[0])
                term = term.parts[1]
            return self.sequence([*spine, self.trim(term)])
        if term.kind == ALT:
            return self.alt(self.trim(p) for p in term.parts)
        return term

    def settle(self, term: Term, rest: Term) -> Term:
        """term then rest, with no LOOK left where nothing has been read before it."""
        if not term.look:
            return self.cat(term, rest)
        if term.kind == LOOK:
            return self.both((self.settle(rest, NIL), self.settle(term.parts[0], NIL)))
        if term.kind == CAT:
            return self.settle(term.parts[0], self.cat(term.parts[1], rest))
        if term.kind == ALT:
            return self.alt(self.settle(p, rest) for p in term.parts)
        if term.kind == AND and rest is NIL:
            return self.both(self.settle(p, NIL) for p in term.parts)
        if term.kind == NOT and rest is NIL:
            return self.without(self.settle(term.parts[0], NIL))
        if term.kind == REP:
            (body,), (low, high) = term.parts, term.data
            fewer = self.repeat(body, max(low - 1, 0), high - 1)
            again = self.settle(body, self.cat(fewer, rest))
            return self.alt((again, self.settle(rest, NIL))) if low == 0 else again
        raise AssertionError(f"a look-ahead inside a term of kind {term.kind} with something behind it")

    def resolve(self, term: Term, holds: int) -> Term:
        """The same language at a position where exactly the PREV sets with a bit in `holds` contain the last character."""
        if not term.prev:
            return term
        kind, parts = term.kind, term.parts
        if kind == PREV:
            return NIL if holds >> term.data & 1 else NOTHING
        if kind == CAT:
            head = self.resolve(parts[0], holds)
            if not parts[1].prev or not self.may_be_empty(head):
                return self.cat(head, parts[1])
            read = self.cat(self._nonempty_part(head) if parts[1].denies else head, parts[1])
            return self.alt((read, self.cat(self._empty_part(head), self.resolve(parts[1], holds))))
        if kind == ALT:
            return self.alt(self.resolve(p, holds) for p in parts)
        if kind == AND:
            return self.both(self.resolve(p, holds) for p in parts)
        if kind == NOT:
            return self.without(self.resolve(parts[0], holds))
        if kind == LOOK:
            return self.look(self.resolve(parts[0], holds))
        low, high = term.data  # REP
        first = self.resolve(parts[0], holds)
        # An iteration that is empty here may be followed by as many empty ones as are still owed.
        owed = 0 if first.nullable else max(low - 1, 0)
        read = self._nonempty_part(first) if term.denies and self.may_be_empty(first) else first
        again = self.cat(read, self.repeat(parts[0], owed, high - 1))
        return self.alt((again, NIL)) if low == 0 or first.nullable else again

    def may_be_empty(self, term: Term) -> bool:
        """Can the term be read without a byte, if every LOOK in it holds?"""
        kind, parts = term.kind, term.parts
        if not term.look or term.nullable:
            return term.nullable
        if kind in (CAT, AND):
            return all(self.may_be_empty(p) for p in parts)
        if kind == ALT:
            return any(self.may_be_empty(p) for p in parts)
        return kind == LOOK or (kind == REP and self.may_be_empty(parts[0]))

    def _empty_part(self, term: Term) -> Term:
        """What the term demands of the rest where it reads nothing itself: NIL, or its LOOKs."""
        kind, parts = term.kind, term.parts
        if term.nullable or not term.look:
            return NIL if term.nullable else NOTHING
        if kind == LOOK:
            return term
        if kind == CAT:
            return self.cat(self._empty_part(parts[0]), self._empty_part(parts[1]))
        if kind == ALT:
            return self.alt(self._empty_part(p) for p in parts)
        if kind == REP:
            return self._empty_part(parts[0])
        return NOTHING

    def _nonempty_part(self, term: Term) -> Term:
        """The texts of the term without the empty one; LOOKs alone read nothing."""
        kind, parts = term.kind, term.parts
        if not self.may_be_empty(term):
            return term
        if kind == CAT:
            later = self.cat(self._empty_part(parts[0]), self._nonempty_part(parts[1]))
            return self.alt((self.cat(self._nonempty_part(parts[0]), parts[1]), later))
        if kind == ALT:
            return self.alt(self._nonempty_part(p) for p in parts)
        if kind == REP:
            return self.cat(
                self._nonempty_part(parts[0]), self.repeat(parts[0], max(term.data[0] - 1, 0), term.data[1] - 1)
            )
        if kind in (LOOK, PREV) or term is NIL:
            return NOTHING
        return self.both((term, self.without(NIL)))
