"""What the rest of a text must satisfy where a lexeme ended: borders, which are sets of terms, numbered as **atoms**.

All atoms of a border must be satisfied; the empty set is satisfied by anything. What no text satisfies any more is never an atom.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.regular.terms import ANYTHING, Term

if TYPE_CHECKING:
    from grammarlm.masks.machines.stack.program import StackProgram

DEAD = -1
SATISFIED = -2  # of an atom: nothing is demanded any more
Border = frozenset[int]
FREE: Border = frozenset()


class Borders:
    """The atoms of one program, all that follow from one another, and what each byte makes of them."""

    def __init__(self, program: StackProgram, terms: Iterable[Term]):
        """`terms`: of all borders that there may be at first."""
        self._program = program
        self._atoms: list[Term] = []
        self._numbers: dict[Term, int] = {}
        self._alive: dict[Border, bool] = {}
        for term in terms:
            self.joined(FREE, term)
        self.rows = self._merged(self._followed())  # int32 [atoms, columns]: the atom after a byte, SATISFIED or DEAD

    def joined(self, border: Border, term: Term) -> Border:
        """Both; the atom is numbered."""
        if term is ANYTHING:
            return border
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = len(self._atoms)
            self._atoms.append(term)
        return border if number == SATISFIED else border | {number}

    def knows(self, border: Term) -> bool:
        return border is ANYTHING or border in self._numbers

    def both(self, border: Border, term: Term) -> Border | None:
        """None where no text satisfies both."""
        rest = self.joined(border, term)
        return rest if len(rest) < 2 or self.is_alive(rest) else None

    def is_alive(self, border: Border) -> bool:
        """Is there a text that satisfies all atoms? Those of one atom are dropped where they are made."""
        known = self._alive.get(border)
        if known is None:
            both = self._program.algebra.both(tuple(self._atoms[atom] for atom in border)) if border else ANYTHING
            known = self._alive[border] = self._program.is_alive(both)
        return known

    def may_end(self, border: Border) -> bool:
        return all(self._atoms[atom].nullable for atom in border)

    def after(self, border: Border, column: int) -> Border | None:
        """The border after a byte; None where it cannot be satisfied any more."""
        if not border:
            return border
        after = {int(self.rows[atom, column]) for atom in border}
        left = frozenset(after - {SATISFIED})
        return None if DEAD in after or (len(left) > 1 and not self.is_alive(left)) else left

    def _followed(self) -> np.ndarray:
        """int32 [atoms, columns]: the term after each byte, by its number; more are numbered until each has a row."""
        program, columns = self._program, len(self._program.byte_sets.samples)
        rows: list[np.ndarray] = []
        while len(rows) < len(self._atoms):
            program.clock.check()
            row = np.full(columns, DEAD, np.int32)
            for bits, target in program.algebra.edges(self._atoms[len(rows)]):
                if program.is_alive(target):
                    after = next(iter(self.joined(FREE, target)), SATISFIED)
                    row[list(program.byte_sets.classes_in(bits))] = after
            rows.append(row)
            if len(rows) > program.limits.max_states:
                raise LimitExceeded(
                    "a canvas: the grammar's borders need more states than limits.max_states; simplify it"
                )
        return np.array(rows, np.int32).reshape(-1, columns)

    def _merged(self, rows: np.ndarray) -> np.ndarray:
        """Rows in which atoms that the same texts satisfy are one: the first of them. Terms are not equal whenever they could be:
        after `wh` a name may end where no letter follows, and where not `ile` and then no letter follow."""
        count, columns = rows.shape
        ends = [atom.nullable for atom in self._atoms]
        # The last two: SATISFIED and DEAD, of whose rows each leads to itself.
        groups = np.array([*ends, True, 2], np.int64)
        whole = np.where(rows == SATISFIED, count, np.where(rows == DEAD, count + 1, rows))
        whole = np.concatenate([whole, np.full((1, columns), count), np.full((1, columns), count + 1)])
        size = 0
        while size != (size := len(np.unique(groups))):
            self._program.clock.check()
            _, groups = np.unique(np.column_stack([groups, groups[whole]]), axis=0, return_inverse=True)
            groups = groups.ravel()
        first: dict[int, int] = {int(groups[count]): SATISFIED, int(groups[count + 1]): DEAD}
        stands = np.array(
            [first.setdefault(group, atom) for atom, group in enumerate(groups[:count].tolist())], np.int64
        )
        for term, atom in self._numbers.items():
            self._numbers[term] = int(stands[atom])
        return np.where(rows >= 0, stands[np.maximum(rows, 0)] if count else rows, rows).astype(np.int32)
