"""What a grammar may become: counted before it is made, so that a text that expands without bound is refused at once."""

from __future__ import annotations

from collections.abc import Callable

from grammarlm.errors import GrammarError, LimitExceeded
from grammarlm.grammars.lark.scanner import error

CHARACTERS_PER_SYMBOL = 10  # of names of templates with their arguments, and of regular expressions


class Budget:
    """The symbols of all rules, and the characters of what is written out: names of instances, terminals' expressions."""

    def __init__(self, text: str, max_depth: int, max_size: int, tick: Callable[[], None]):
        """`max_depth`: of brackets. `tick` is called regularly, and raises where the caller's time is over."""
        self.text, self.max_depth, self.max_size, self.tick = text, max_depth, max_size, tick
        self.symbols = self.characters = 0

    def error(self, message: str, at: int, kind: type[GrammarError] = GrammarError) -> GrammarError:
        return error(self.text, message, at, kind)

    def check_size(self, symbols: int, at: int) -> None:
        if symbols > self.max_size:
            raise self.error(
                f"the alternatives multiply out to more than {self.max_size} symbols; give some of them names",
                at,
                LimitExceeded,
            )

    def grow(self, symbols: int, name: str, at: int) -> None:
        self.symbols += symbols
        if self.symbols > self.max_size:
            raise self.error(f"with {name} the rules expand to more than {self.max_size} symbols", at, LimitExceeded)

    def write(self, characters: int, message: str, at: int) -> None:
        self.characters += characters
        if self.characters > CHARACTERS_PER_SYMBOL * self.max_size:
            raise self.error(message, at, LimitExceeded)
