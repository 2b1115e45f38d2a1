"""Strings as they are, without quotes and escapes: what a schema says of strings, as a regular language.

RawStrings((StringShape(minimum=1, maximum=9),))
"""

from __future__ import annotations

from dataclasses import dataclass

from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.json_schema.shapes import shapes
from grammarlm.grammars.json_schema.strings.languages import Languages
from grammarlm.grammars.json_schema.strings.text_algebra import EVERY_CHARACTER
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import FOREVER, Term


@dataclass(frozen=True)
class RawStrings(Grammar):
    """The strings of some shapes as they are, without quotes and escapes."""

    of_shapes: tuple[shapes.StringShape, ...]

    def language(self, algebra: Algebra) -> Term:
        languages = Languages(lambda: algebra)
        return algebra.alt([self._of(shape, languages, algebra) for shape in self.of_shapes])

    def _of(self, shape: shapes.StringShape, languages: Languages, algebra: Algebra) -> Term:
        if shape.values is not None:
            return languages.term(frozenset({("words", shape.values, True)}))
        term = languages.term(shape.language)
        if not shape.minimum and shape.maximum is None:
            return term
        most = FOREVER if shape.maximum is None else shape.maximum
        return algebra.both([term, algebra.repeat(algebra.chars(EVERY_CHARACTER), shape.minimum, most)])
