"""What the walks of a table automaton over tokens mean: each token is read by itself, byte by byte.

A table has a row a state and a column a byte class, 0 is dead. Rows may be missing, and so may be the answer to whether tokens can
complete a text from a state; a walk then says which one it needs. It needs no more than what some token meets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DEAD = 0


@dataclass
class TableOracle:
    """The whole table, nothing missing."""

    rows: Sequence[Sequence[int]]  # [state][byte class]
    class_of: Sequence[int]  # [byte]
    usable: Sequence[bool]  # [state]: can tokens complete a text from here?
    texts: Mapping[int, bytes]  # the tokens that a mask may allow for their bytes

    def path(self, state: int, data: bytes) -> list[int]:
        """The states from `state` on, as far as the bytes can be read; the last one is DEAD where they cannot."""
        states = [state]
        for byte in data:
            if states[-1] == DEAD:
                break
            states.append(self.rows[states[-1]][self.class_of[byte]])
        return states

    def after(self, state: int, token: int) -> int:
        """The state after a token, usable or not; DEAD where it cannot be read."""
        return self.path(state, self.texts[token])[-1] if token in self.texts else DEAD

    def allowed(self, state: int) -> set[int]:
        """The tokens that can be read and lead to a usable state."""
        return {token for token in self.texts if (after := self.after(state, token)) != DEAD and self.usable[after]}

    def reached(self, state: int) -> set[int]:
        """The states that tokens lead to."""
        return {self.after(state, token) for token in self.texts} - {DEAD}

    def read_from(self, state: int) -> set[int]:
        """The states whose rows a walk over all tokens reads."""
        return {here for data in self.texts.values() for here in self.path(state, data)[: len(data)]} - {DEAD}
