"""Languages of keys: those of patternProperties, and which keys belong to them."""

from __future__ import annotations

import re

from grammarlm.errors import GrammarError, placed_error
from grammarlm.grammars.json_schema.shapes.shapes import Language
from grammarlm.grammars.json_schema.strings.formats import SOUND
from grammarlm.grammars.json_schema.strings.languages import Languages, only_format

_WORD = r"[A-Za-z0-9_ -]+"  # literal text of a pattern
_WORDS = re.compile(rf"\^(?:({_WORD})|\(({_WORD}(?:\|{_WORD})*)\))\$")


class KeyLanguages:
    """Those of one schema, read once."""

    def __init__(self, languages: Languages):
        self._languages = languages
        self._patterns: dict[str, Language] = {}
        self._words: dict[tuple[str, ...], frozenset[str]] = {}

    def pattern(self, text: str, pointer: str) -> Language:
        """The language of a key of patternProperties, in the schema at the pointer."""
        known = self._patterns.get(text)
        if known is None:
            listed = words_of(text)
            if listed is None:
                known = frozenset([("pattern", text, True)])
                check_language(self._languages, known, f"{pointer}/patternProperties")
            else:
                known = frozenset([("words", listed, True)])
            self._patterns[text] = known
        return known

    def has(self, language: Language, name: str) -> bool:
        """Is a key in a language? Lists of words use a hash lookup instead of a walk."""
        rest = []
        for part in language:
            if part[0] == "words":
                words = self._words.get(part[1])  # type: ignore[arg-type]
                if words is None:
                    words = self._words[part[1]] = frozenset(part[1])  # type: ignore[index]
                if (name in words) is not part[2]:
                    return False
            else:
                rest.append(part)
        return not rest or self._languages.has(language if len(rest) == len(language) else frozenset(rest), name)


def check_language(languages: Languages, language: Language, pointer: str) -> None:
    """Raises the errors of a pattern or format here, where the pointer is known."""
    if only_format(language) in SOUND:
        return
    try:
        languages.term(language)
    except GrammarError as error:
        if error.pointer is None:
            raise placed_error(error, pointer) from None
        raise


def words_of(pattern: str) -> tuple[str, ...] | None:
    """The words of a pattern such as ^name$ or ^(a|b)$; None where it is of another form."""
    found = _WORDS.fullmatch(pattern)
    if found is None:
        return None
    return (found[1],) if found[1] else tuple(dict.fromkeys(found[2].split("|")))
