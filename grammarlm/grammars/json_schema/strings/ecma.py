"""ECMA-262 regular expressions, as in JSON Schema's `pattern`, compiled to terms over the UTF-8 bytes of a string.

A pattern is a search: `b` matches "abc". It is read in Unicode mode, where `.` is a code point and `\\u{1F600}` one character, and
leniently, since many real patterns are not strict ECMA: `[\\w-.]`, needless escapes, a lone brace, `(?i)`, `(?P<n>...)`, `{,3}`,
`\\A` and `\\Z` mean what their authors meant. The reader is that of Python's syntax (grammars/regular/syntax.py), except for these:

    $           the very end                        \\d \\w \\b    ASCII
    .           no \\n, \\r, U+2028, U+2029           \\s          ECMA's white space, U+FEFF too
    [] [^]      no character, any character         \\cX \\u{X}   a control, a code point; \\uD83D\\uDE00 is one
    (?<n>...)   a named group

**Anchors are eliminated.** Most patterns have `^` and `$` only at the ends of their branches, or nowhere. So a branch drops them
there, and gets "any text" on each side without an anchor: `^a|b$` is `a any | any b`. What may be empty next to "any text" is
dropped (a leading `x*` has no effect, `x+` is `x`). Any other `^` is decided, too: right at the start it is the empty text,
elsewhere it is impossible, and the search is "read from the start, or any text and then read from elsewhere". Only `\\b`,
look-behind of one character and `$` within a repeat are left to the algebra's look-around.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from grammarlm.errors import GrammarError, UnsupportedFeature
from grammarlm.grammars.regular import charset, utf8
from grammarlm.grammars.regular.charset import CharSet
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.scanner import HEX, MULTILINE, UNICODE
from grammarlm.grammars.regular.syntax import FLAGS, Group, Item, RegexParser
from grammarlm.grammars.regular.terms import ALT, AND, CAT, LOOK, NIL, NOT, NOTHING, PREV, REP, Term

from .text_algebra import every_string

LINE_ENDS: CharSet = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
SPACES: CharSet = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
CATEGORIES: dict[str, CharSet] = {"d": charset.DIGITS, "s": SPACES, "w": charset.WORD}
CATEGORIES |= {letter.upper(): charset.negate(chars) for letter, chars in CATEGORIES.items()}

INLINE_FLAGS = re.compile(r"\?([imsx]*)(?:-([imsx]+))?\)")
LEADS, TRAILS = range(0xD800, 0xDC00), range(0xDC00, 0xE000)
SHOWN = 80  # characters of a pattern in a message


def parse_ecma(pattern: str, algebra: Algebra) -> Term:
    """The strings in which the pattern is found, in UTF-8; a GrammarError names the pattern."""
    try:
        return EcmaParser(pattern, algebra).search()
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"pattern {pattern[:SHOWN]!r}: {error}", position=error.position) from None
    except GrammarError as error:
        if type(error) is not GrammarError:
            raise
        raise GrammarError(f"pattern {pattern[:SHOWN]!r}: {error}", position=error.position) from None


class EcmaParser(RegexParser):
    EXTENDED = False
    LENIENT_CLASSES = True
    LINE_ENDS = LINE_ENDS
    INSIDE_EMPTY = True

    def __init__(self, pattern: str, algebra: Algebra):
        super().__init__(pattern, algebra)
        self.flags = UNICODE  # of case alone: categories are ASCII
        self.every = self.anything = every_string(algebra)
        self.end = algebra.look(NIL)

    # ------------------------------------------------------------------ characters

    def category(self, letter: str) -> CharSet:
        return CATEGORIES[letter]

    def literal(self, code_point: int, start: int) -> None:
        if charset.SURROGATES[0] <= code_point <= charset.SURROGATES[1]:
            self.push(())  # half a surrogate pair: no string contains one
        else:
            super().literal(code_point, start)

    def escaped_character(self, letter: str, start: int, in_bracket: bool = False) -> int:
        if letter == "u":
            return self.unicode_escape(start)
        if letter == "c":
            control = self.peek()
            if not (control.isascii() and control.isalpha()):
                raise self.error("\\c takes a letter", start)
            self.at += 1
            return ord(control) & 31
        if letter in "NU":
            raise self.error(f"bad escape \\{letter}", start)
        return super().escaped_character(letter, start, in_bracket)

    def unicode_escape(self, start: int) -> int:
        if self.take("{"):
            digits = self.until("}", "\\u{", start)
            if not digits or any(d not in HEX for d in digits) or int(digits, 16) > charset.LAST:
                raise self.error(f"\\u{{{digits[:20]}}} is no character", start)
            return int(digits, 16)
        first = self.hex_escape("u", start)
        here = self.at
        if first in LEADS and self.take("\\u") and not self.take("{"):
            second = self.hex_escape("u", start)
            if second in TRAILS:
                return 0x10000 + ((first - LEADS.start) << 10) + (second - TRAILS.start)
        self.at = here
        return first

    # ------------------------------------------------------------------ groups and look-around

    def escape(self, start: int) -> None:
        if self.text.startswith("k<", start + 1):
            raise self.error("\\k<name> is a backreference, which no automaton can follow", start, UnsupportedFeature)
        super().escape(start)

    def open(self, start: int) -> None:
        """A group, as in Python except for (?<name>...), and (?i), which applies from there to the end of its group."""
        if self.text.startswith("?<", self.at) and self.text[self.at + 2 : self.at + 3] not in ("=", "!", ""):
            self.at += 2
            name = self.until(">", "a group name", start)
            if name in self.names:
                raise self.error(f"redefinition of group name {name!r}", start)
            self.names.add(name)
            self.groups.append(Group(start, self.flags))
            self.repeatable = False
        elif flags := INLINE_FLAGS.match(self.text, self.at):
            self.at = flags.end()
            for letter in flags[1]:
                self.flags |= FLAGS[letter]
            for letter in flags[2] or "":
                self.flags &= ~FLAGS[letter]
        else:
            super().open(start)

    def dollar(self) -> Term:
        if not self.flags & MULTILINE:
            return self.end
        return self.followed_by(LINE_ENDS, end=True)

    def anywhere(self, body: Term) -> Term:
        """Any text, the body, any text; where the body contains `^`, the text before it is empty."""
        algebra, rest = self.algebra, self.every
        if not body.prev:
            return algebra.cat(self.every, self.followed(body, rest))
        here = self.followed(without_prev(algebra, algebra.resolve(body, 1)), rest)
        elsewhere = self.followed(without_prev(algebra, body), rest)
        # At least one character, so that elsewhere is not the start: (?!^a) would not notice that.
        one = algebra.chars(utf8.encode(charset.ALL))
        return algebra.alt((here, algebra.sequence((one, self.every, elsewhere))))

    # ------------------------------------------------------------------ the search

    def search(self) -> Term:
        """All strings in which the pattern is found."""
        self.read()
        found: list[Term] = []
        plain: dict[tuple[bool, bool], list[list[Item]]] = {}
        for branch in self.groups[0].branches:
            items, starts, ends = self.without_anchors(branch)
            if any(isinstance(i, Term) and (i.look or i.prev) for i in items):
                found.append(self.looking(branch))
            else:
                plain.setdefault((starts, ends), []).append(items)
        for (starts, ends), branches in plain.items():
            positions = (() if starts else (0,)) + (() if ends else (-1,))
            core = self.body(Group(0, 0, branches=[self.shortened(items, positions) for items in branches]))
            before, later = NIL if starts else self.every, NIL if ends else self.every
            if core is NIL and before is later:
                found.append(before)
            else:
                found.append(self.algebra.sequence((before, core, later)))
        return self.algebra.alt(found) if len(found) > 1 else found[0]

    def without_anchors(self, items: list[Item]) -> tuple[list[Item], bool, bool]:
        """The branch without leading `^` and trailing `$`, and whether they were there."""
        starts = ends = False
        low, high = 0, len(items)
        while low < high and self.is_start(items[low]):
            low, starts = low + 1, True
        while low < high and items[high - 1] is self.end:
            high, ends = high - 1, True
        return items[low:high], starts, ends

    def is_start(self, item: Item) -> bool:
        return isinstance(item, Term) and item.kind == PREV and self.behind[item.data] == ((), True)

    def shortened(self, items: list[Item], positions: Iterable[int]) -> list[Item]:
        """Removes what is redundant next to "any text" from the first and last item: x* is dropped, x+ becomes x."""
        items = list(items)
        for position in positions:
            while items and isinstance(item := items[position], Term) and item.kind == REP:
                (body,), (low, _) = item.parts, item.data
                items[position] = self.algebra.repeat(body, low, low)
                if items[position] is not NIL:
                    break
                del items[position]
        return items

    def looking(self, items: list[Item]) -> Term:
        """The strings in which a branch with look-around is found."""
        algebra, body = self.algebra, self.branch(items)
        if not body.prev or all(behind == ((), True) for behind in self.behind):
            return self.scoped(self.anywhere(body))
        text = algebra.cat(self.every, self.followed(body, self.every))
        at_start = sum(1 << i for i, (_, start) in enumerate(self.behind) if start)
        return self.scoped(algebra.resolve(text, at_start))

    def followed(self, term: Term, rest: Term) -> Term:
        """`term`, then `rest`, with the look-ahead at the end of `term` decided: (a|b$) and any text is `a any|b`."""
        algebra = self.algebra
        if not term.look:
            return algebra.cat(term, rest)
        if term.kind == LOOK:
            return algebra.settle(term, rest)
        if term.kind == CAT:
            spine = []
            while term.kind == CAT:
                spine.append(term.parts[0])
                term = term.parts[1]
            for part in (term, *reversed(spine)):
                rest = self.followed(part, rest)
            return rest
        if term.kind == ALT:
            return algebra.alt(self.followed(p, rest) for p in term.parts)
        return algebra.cat(term, rest)

    def scoped(self, term: Term) -> Term:
        """Limits the remaining look-around to this string."""
        if not term.look and not term.prev:
            return term
        tracker = self.tracker()
        return self.algebra.scope(term, tracker, tracker)


def without_prev(algebra: Algebra, term: Term) -> Term:
    """The term where no PREV holds."""
    if not term.prev:
        return term
    kind, parts = term.kind, term.parts
    if kind == PREV:
        return NOTHING
    if kind == CAT:
        spine = []
        while term.kind == CAT:
            spine.append(without_prev(algebra, term.parts[0]))
            term = term.parts[1]
        return algebra.sequence([*spine, without_prev(algebra, term)])
    parts = tuple(without_prev(algebra, part) for part in parts)
    if kind == REP:
        return algebra.repeat(parts[0], *term.data)
    if kind == NOT:
        return algebra.without(parts[0])
    if kind == LOOK:
        return algebra.look(parts[0])
    make = {ALT: algebra.alt, AND: algebra.both}[kind]
    return make(parts)
