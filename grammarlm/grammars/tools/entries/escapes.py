r"""Strings in which some characters are written as others, as in 'it\'s' or &lt;p&gt;.

    escaped = Escaped((("'", "\\'"), ("\\", "\\\\")))
    escaped.write("it's")           "it\\'s"
    escaped.read("it\\'s")          "it's"

What is written for a character begins with a letter that announces it. A string that has this letter, but no spelling for it, could
not be read back, so it is none of these strings. Where a pattern or a format holds them, they are those without such characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from grammarlm.grammars.choices import Choices
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.json_schema.shapes import shapes
from grammarlm.grammars.regular.regex import Regex

from .raw_strings import RawStrings


@dataclass(frozen=True)
class Escaped:
    """`pairs`: characters, and what is written for each."""

    pairs: tuple[tuple[str, str], ...]

    @cached_property
    def special(self) -> frozenset[str]:
        """The letters that never stand for themselves."""
        return frozenset(letter for character, written in self.pairs for letter in (character, written[0]))

    @cached_property
    def plain(self) -> str:
        """A pattern of one of the other letters."""
        return f"[^{''.join(map(re.escape, sorted(self.special)))}]" if self.pairs else "(?s:.)"

    @cached_property
    def unit(self) -> str:
        """A pattern of what is written for one character."""
        return "|".join([self.plain, *sorted((re.escape(written) for _, written in self.pairs), key=len, reverse=True)])

    @cached_property
    def _written(self) -> re.Pattern[str]:
        return re.compile(f"(?:{self.unit})*")

    def ends_before(self, marks: Iterable[str]) -> bool:
        """Whether no string has the beginning of one of the marks, so that it ends there by itself."""
        return all(mark[:1] in self.special for mark in marks)

    def write(self, text: str) -> str:
        known = dict(self.pairs)
        return "".join(known.get(letter, letter) for letter in text)

    def read(self, written: str) -> str:
        known = {text: character for character, text in self.pairs}
        return "".join(known.get(part, part) for part in re.findall(self.unit, written))

    def end(self, text: str, at: int) -> int:
        """Where the string that begins here ends, if it ends by itself."""
        found = self._written.match(text, at)
        assert found is not None
        return found.end()

    def strings(self, of_shapes: Iterable[shapes.StringShape]) -> list[Grammar]:
        """The strings of some shapes, as they are written."""
        found: list[Grammar] = []
        for shape in of_shapes:
            if shape.values is not None:
                listed = [text for value in shape.values if self.read(text := self.write(value)) == value]
                found += [Choices(listed)] if listed else []
            elif shape.language:
                found.append(RawStrings((shape,)) & Regex(f"{self.plain}*"))
            else:
                times = f"{{{shape.minimum},{'' if shape.maximum is None else shape.maximum}}}"
                found.append(Regex(f"(?:{self.unit}){times}"))
        return found
