"""Look-around (zero-width assertions) in terms.

**LOOK** constrains everything after it, so it is resolved with its rest: `settle(LOOK(p), rest)` is `rest AND p`. **PREV** is
resolved right after each character: SCOPE reads characters in parallel with its body, knows which PREV sets contain the last one,
and replaces each PREV that is now in front by nothing or by the empty set. Everywhere else a leading PREV counts as the empty set.
That is right because the resolved alternative is present, too (and, below a NOT, because what is read before the PREV is then
restricted to nonempty texts).
"""

from __future__ import annotations

from .terms import ALT, AND, CAT, LOOK, NIL, NOT, NOTHING, PREV, REP, Term, Terms, accepts_empty


class LookAround(Terms):
    """Terms with the laws of LOOK and PREV."""

    def trim(self, term: Term) -> Term:
        """The term at the end of a text: LOOKs with nothing after them are decided, so that a final `$` costs nothing."""
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
        """term then rest, without leading LOOKs."""
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
        raise AssertionError(f"a look-ahead inside a term of kind {term.kind} with something after it")

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
            read = self.cat(self.nonempty_part(head) if parts[1].denies else head, parts[1])
            return self.alt((read, self.cat(self.empty_part(head), self.resolve(parts[1], holds))))
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
        # An iteration that is empty here may be followed by as many empty ones as the minimum still requires.
        owed = 0 if first.nullable else max(low - 1, 0)
        read = self.nonempty_part(first) if term.denies and self.may_be_empty(first) else first
        again = self.cat(read, self.repeat(parts[0], owed, high - 1))
        return self.alt((again, NIL)) if low == 0 or first.nullable else again

    # Splits a term into its empty and nonempty texts. With `anywhere` the question is about all positions, where a PREV may hold;
    # without it about a position whose PREVs have been resolved, and the remaining ones do not hold.

    def may_be_empty(self, term: Term, anywhere: bool = False) -> bool:
        """Can the term match without reading a byte, if every LOOK in it holds?"""
        kind, parts = term.kind, term.parts
        if term.nullable or not _looks(term, anywhere):
            return term.nullable
        if kind in (CAT, AND):
            return all(self.may_be_empty(p, anywhere) for p in parts)
        if kind == ALT:
            return any(self.may_be_empty(p, anywhere) for p in parts)
        return kind == LOOK or (kind == PREV and anywhere) or (kind == REP and self.may_be_empty(parts[0], anywhere))

    def empty_part(self, term: Term, anywhere: bool = False) -> Term:
        """The condition under which the term reads nothing: NIL, or its LOOKs (and PREVs)."""
        kind, parts = term.kind, term.parts
        if term.nullable:
            return NIL
        if not _looks(term, anywhere):
            return NOTHING
        if kind == LOOK or (kind == PREV and anywhere):
            return term
        if kind == CAT:
            return self.cat(self.empty_part(parts[0], anywhere), self.empty_part(parts[1], anywhere))
        if kind == ALT:
            return self.alt(self.empty_part(p, anywhere) for p in parts)
        if kind == REP:
            return self.empty_part(parts[0], anywhere)
        return NOTHING

    def nonempty_part(self, term: Term, anywhere: bool = False) -> Term:
        """The texts of the term without the empty one; LOOKs alone read nothing."""
        kind, parts = term.kind, term.parts
        if not self.may_be_empty(term, anywhere):
            return term
        if kind == CAT:
            first = self.cat(self.nonempty_part(parts[0], anywhere), parts[1])
            return self.alt(
                (first, self.cat(self.empty_part(parts[0], anywhere), self.nonempty_part(parts[1], anywhere)))
            )
        if kind == ALT:
            return self.alt(self.nonempty_part(p, anywhere) for p in parts)
        if kind == REP:
            (low, high), first = term.data, self.nonempty_part(parts[0], anywhere)
            return self.cat(first, self.repeat(parts[0], max(low - 1, 0), high - 1))
        if kind in (LOOK, PREV) or term is NIL:
            return NOTHING
        return self.both((term, self.without(NIL)))


def _looks(term: Term, anywhere: bool) -> bool:
    return term.look or (anywhere and term.prev)
