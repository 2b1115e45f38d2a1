"""Parser of Python's regular expressions: from text to a term of terms.py.

One pass with an explicit stack of open groups, so nesting depth does not matter. A group collects branches, a branch collects
items: literal characters (bytes), a set of characters (CharSet), or a term. Literals stay separate until the branch ends, so that a
quantifier applies to the last character only, and 50,000 alternatives of plain text become one WORDS term.

The language is that of `re.fullmatch`. `\\d \\s \\w \\b` and case-insensitivity are ASCII unless the pattern says `(?u)`;
`\\p{name}`, `\\P{name}`, `(?<name>...)`, `\\e`, `\\u{...}` and `\\x{...}` are accepted, to which Python gives no meaning. Refused
by name: back-references, conditional and atomic groups, possessive repeats, look-behind of more than one character: these are not
regular, or do not mean a set of texts that can be computed exactly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from grammarlm.errors import UnsupportedFeature

from . import charset
from .anchors import Anchors
from .charset import CharSet
from .derivatives import Algebra
from .scanner import DOTALL, IGNORECASE, MULTILINE, UNICODE, VERBOSE
from .terms import FOREVER, NIL, NOTHING, Term

Item = bytes | tuple | Term

FLAGS = {"i": IGNORECASE, "m": MULTILINE, "s": DOTALL, "x": VERBOSE, "u": UNICODE, "a": 0}
QUANTIFIERS = "*+?{"
SHORT = 1_000  # shorter patterns are not weighed
# Characters that stand for themselves, unless the flags i or x are set.
PLAIN = re.compile(r"[^\\.\[(){*+?|^$\ud800-\udfff]+")
# Measured bytes of memory: for a part with its term, a member of a set, any other letter.
PER_PART, PER_MEMBER, PER_LETTER = 400, 140, 6
PARTS = "([.\\*+?{|^$"
MEMBERS = re.compile(r"\[[^\]]*")
LETTERS_ARE_PARTS = re.compile(r"\(\?[a-zA-Z]*[ix]")


@dataclass
class Group:
    """An open group: what it does when it closes, and what it has collected."""

    start: int
    flags: int  # to be restored after it
    kind: str = "group"  # or "ahead", "behind"
    negated: bool = False
    branches: list[list[Item]] = field(default_factory=lambda: [[]])


def parse_regex(pattern: str | bytes, algebra: Algebra) -> Term:
    """The language of the pattern: byte strings in UTF-8 (or plain bytes, for a bytes pattern)."""
    return RegexParser(pattern, algebra).run()


class RegexParser(Anchors):
    """One pass over a pattern. json_schema/strings/ecma.py derives another dialect from it."""

    def __init__(self, pattern: str | bytes, algebra: Algebra):
        super().__init__(pattern, algebra)
        self.repeatable = False  # can a quantifier apply to what comes before this place?
        self.quantified = False  # ... and has it one already?
        self.groups = [Group(0, 0)]
        self.names: set[str] = set()
        self.global_letters = ""  # the flags set for the whole pattern so far

    # ------------------------------------------------------------------ the loop

    def run(self) -> Term:
        self.read()
        return self.whole(self.body(self.groups[0]))

    def read(self) -> None:
        """Reads all of the pattern into the one remaining group, `groups[0]`."""
        if len(self.text) > SHORT:
            self.weigh()
        while self.at < len(self.text):
            start, char = self.at, self.text[self.at]
            if self.flags & VERBOSE and char in " \t\n\r\v\f#":
                self.at += 1
                if char == "#":
                    self.skip_comment("\n")
                continue
            if char in QUANTIFIERS and self.quantifier(start):
                continue
            self.at += 1
            if char == "(":
                self.open(start)
            elif char == ")":
                if len(self.groups) == 1:
                    raise self.error("unbalanced parenthesis: ')' without '('", start)
                self.close()
            elif char == "|":
                self.algebra.tick()
                self.groups[-1].branches.append([])
                self.repeatable = False
            elif char == "[":
                self.push(self.bracket(start))
            elif char == ".":
                self.push(self.universe() if self.flags & DOTALL else self.dot())
            elif char in "^$":
                self.anchor(self.caret_anchor() if char == "^" else self.dollar())
            elif char == "\\":
                self.escape(start)
            elif self.flags & (IGNORECASE | VERBOSE) or (plain := PLAIN.match(self.text, start)) is None:
                self.literal(ord(char), start)
            else:
                self.literals(plain.group())
        if len(self.groups) > 1:
            raise self.error("missing ), unterminated subpattern: '(' is not closed", self.groups[-1].start)

    def weigh(self) -> None:
        """Estimates the memory of a long pattern before reading it; its sets only if the other parts fit."""
        text, weigh = self.text, self.algebra.weigh
        what = f"the regex of {len(text):,} characters"
        each = PER_PART if LETTERS_ARE_PARTS.search(text) else PER_LETTER
        weigh(each * len(text), what)
        for mark in PARTS:
            weigh(PER_PART * text.count(mark), what)
        if "[" in text:
            weigh(PER_MEMBER * sum(map(len, MEMBERS.findall(text))), what)

    def dot(self) -> CharSet:
        return self.complement(self.LINE_ENDS)

    def push(self, item: Item) -> None:
        self.algebra.tick()
        self.groups[-1].branches[-1].append(item)
        self.repeatable, self.quantified = True, False

    def anchor(self, term: Term) -> None:
        self.push(term)
        self.repeatable = False

    def literal(self, code_point: int, start: int) -> None:
        if charset.SURROGATES[0] <= code_point <= charset.SURROGATES[1]:
            raise self.error(f"U+{code_point:04X} is half of a surrogate pair, which no UTF-8 text contains", start)
        if self.flags & IGNORECASE:
            self.push(self.fold(((code_point, code_point),)))
        else:
            self.push(bytes([code_point]) if self.binary else chr(code_point).encode())

    def literals(self, text: str) -> None:
        """Pushes a run of literals, the first of which has been read; the last stays separate, since a quantifier may follow."""
        self.at += len(text) - 1
        encoding = "latin-1" if self.binary else "utf-8"
        if len(text) > 1:
            self.push(text[:-1].encode(encoding))
        self.push(text[-1].encode(encoding))

    # ------------------------------------------------------------------ escapes and anchors

    def escape(self, start: int) -> None:
        letter = self.escape_letter(start)
        if letter in "dDsSwW":
            self.push(self.category(letter))
        elif letter in "pP":
            self.push(self.property(letter, start))
        elif letter in "bB":
            self.anchor(self.word_boundary(letter == "B"))
        elif letter == "A":
            self.anchor(self.preceded_by((), start=True))
        elif letter in "Zz":
            self.anchor(self.algebra.look(NIL))
        elif letter in "123456789" and not self.is_octal():
            raise self.error(f"\\{letter} is a backreference, which no automaton can follow", start, UnsupportedFeature)
        else:
            self.literal(self.escaped_character(letter, start), start)

    # ------------------------------------------------------------------ groups

    def open(self, start: int) -> None:
        self.algebra.tick()
        group = Group(start, self.flags)
        if self.take("?"):
            if self.take("#"):
                if not self.skip_comment(")"):
                    raise self.error("a comment is not closed: ')' is missing", start)
                return
            if self.take("P"):
                if not self.take("<"):
                    if self.take("="):
                        raise self.error(
                            "(?P=name) is a backreference, which no automaton can follow", start, UnsupportedFeature
                        )
                    raise self.error(f"unknown extension ?P{self.peek()}", start + 1)
                self.name_group(start)
            elif self.take("="):
                group.kind = "ahead"
            elif self.take("!"):
                group.kind, group.negated = "ahead", True
            elif self.take("<="):
                group.kind = "behind"
            elif self.take("<!"):
                group.kind, group.negated = "behind", True
            elif self.take("<"):
                self.name_group(start)
            elif self.take(">"):
                raise self.error("an atomic group (?>...) does not mean a set of texts", start, UnsupportedFeature)
            elif self.take("("):
                raise self.error(
                    "a conditional group is a backreference, which no automaton can follow", start, UnsupportedFeature
                )
            elif not self.take(":") and self.inline_flags(start):
                return
        self.groups.append(group)
        self.repeatable = False

    def name_group(self, start: int) -> None:
        here = self.at
        name = self.until(">", "a group name", start)
        if not name.isidentifier():
            raise self.error(f"bad character in group name {name!r}", here)
        if name in self.names:
            raise self.error(f"redefinition of group name {name!r}", here)
        self.names.add(name)

    def inline_flags(self, start: int) -> bool:
        """(?i) sets flags from the start of the pattern on (True), (?i:...) within the group (False)."""
        added, removed, minus, here = 0, 0, False, self.at
        while self.peek() not in ("", ")", ":"):
            char = self.peek()
            self.at += 1
            if char == "-" and not minus:
                minus = True
            elif char == "L":
                raise self.error("the flag L depends on the locale", start, UnsupportedFeature)
            elif char not in FLAGS or (minus and char in "au") or (self.binary and char == "u"):
                where = start + 1 if self.at == here + 1 else self.at - 1
                raise self.error(f"unknown flag or extension ?{self.text[here : self.at]}", where)
            else:
                added |= 0 if minus else FLAGS[char]
                removed |= FLAGS[char] if minus else UNICODE * (char == "a")
        if self.peek() == "":
            raise self.error("unexpected end of pattern in (?", start)
        letters = self.text[here : self.at]
        if added & removed & ~UNICODE or ("a" in letters and "u" in letters):
            raise self.error("a flag is turned on and off, or a and u are both given", start)
        if self.at == here or self.text[self.at - 1] == "-":
            raise self.error("missing flag", self.at if self.at > here else start + 1)
        self.at += 1
        if self.text[self.at - 1] == ":":
            self.flags = (self.flags | added) & ~removed
            return False
        if minus:
            raise self.error("missing : after flags to be turned off, as in (?-i:...)", self.at - 1)
        if len(self.groups) > 1 or self.groups[0].branches != [[]]:
            raise self.error("global flags are not at the start of the expression", start)
        self.global_letters += letters
        if "a" in self.global_letters and "u" in self.global_letters:
            raise self.error("the flags a and u are incompatible", start)
        self.flags = (self.flags | added) & ~removed
        return True

    def close(self) -> None:
        group = self.groups.pop()
        self.flags = group.flags
        if group.kind == "behind":
            self.push(self.lookbehind(group))
            return
        body = self.body(group)
        if group.kind == "ahead":
            ahead = self.followed(body, self.anything)
            body = self.algebra.look(self.algebra.without(ahead) if group.negated else ahead)
        self.push(body)

    def followed(self, term: Term, rest: Term) -> Term:
        """The term, then the rest, with the look-ahead in the term decided."""
        return self.algebra.settle(term, rest) if term.look else self.algebra.cat(term, rest)

    def lookbehind(self, group: Group) -> Term:
        if [] in group.branches:  # the empty text always precedes
            return self.algebra.alt(()) if group.negated else NIL
        sets = []
        for branch in group.branches:
            if len(branch) != 1 or isinstance(branch[0], Term):
                raise self.error(
                    "a look-behind of anything but one character is not supported", group.start, UnsupportedFeature
                )
            item = branch[0]
            sets.append(item if isinstance(item, tuple) else self.single(item))
        chars = charset.union(*sets)
        return (
            self.preceded_by(self.complement(chars), start=True)
            if group.negated
            else self.preceded_by(chars, start=False)
        )

    def single(self, literal: bytes) -> CharSet:
        code_point = literal[0] if self.binary else ord(literal.decode())
        return ((code_point, code_point),)

    def term(self, item: Item) -> Term:
        if isinstance(item, bytes):
            return self.algebra.word(item)
        return self.set_term(item) if isinstance(item, tuple) else item

    def body(self, group: Group) -> Term:
        """The branches as one term; those of plain text become one WORDS term."""
        if len(group.branches) == 1:
            return self.branch(group.branches[0])
        words: list[bytes] = []
        others: list[Term] = []
        for branch in group.branches:
            if all(type(item) is bytes for item in branch):
                words.append(b"".join(branch))  # type: ignore[arg-type]
            else:
                others.append(self.branch(branch))
        return self.algebra.alt([self.algebra.words(words), *others])

    def branch(self, items: list[Item]) -> Term:
        terms: list[Term] = []
        run: list[bytes] = []
        for item in items:
            if isinstance(item, bytes):
                run.append(item)
                continue
            if run:
                terms.append(self.algebra.word(b"".join(run)))
                run = []
            terms.append(self.term(item))
        if run:
            terms.append(self.algebra.word(b"".join(run)))
        return self.algebra.sequence(terms)

    # ------------------------------------------------------------------ repeats

    def quantifier(self, start: int) -> bool:
        """Reads * + ? {m,n} with its suffix; False where a brace is a literal."""
        char = self.text[start]
        if char == "{":
            bounds = self.braces()
            if bounds is None:
                return False
            low, high = bounds
        else:
            self.at += 1
            low, high = (1 if char == "+" else 0), (1.0 if char == "?" else FOREVER)
        items = self.groups[-1].branches[-1]
        if not items or not self.repeatable:
            raise self.error("nothing to repeat", start)
        if self.quantified:
            raise self.error("multiple repeat", start)
        if high < low:
            raise self.error("min repeat greater than max repeat", start)
        if self.peek() == "+":
            raise self.error("a possessive repeat does not mean a set of texts", start, UnsupportedFeature)
        self.take("?")  # a lazy repeat matches the same texts
        self.push(self.repeated(self.term(items.pop()), low, high, start))
        self.quantified = True
        return True

    def repeated(self, body: Term, low: int, high: float, start: int) -> Term:
        """Repeat of a body that may read nothing but look around. Such a turn adds a condition and no text, so only required turns
        need be such."""
        algebra = self.algebra
        if not body.look or not algebra.may_be_empty(body, anywhere=True):
            return algebra.repeat(body, low, high)
        reading = algebra.nonempty_part(body, anywhere=True)
        if low == 0 or body.nullable:
            return algebra.repeat(reading, 0, high)
        if low == 1 or reading is NOTHING:
            return algebra.cat(body, algebra.repeat(reading, 0, high - 1))
        raise self.error(
            "a repeat of at least 2 turns that may be empty and look around (such as \\b or $) is not supported",
            start,
            UnsupportedFeature,
        )

    def braces(self) -> tuple[int, float] | None:
        """{m}, {m,}, {,n} or {m,n}; None (nothing read) where the brace is a literal."""
        close = self.text.find("}", self.at, self.at + 50)
        inside = self.text[self.at + 1 : close] if close > 0 else ""
        low, comma, high = inside.partition(",")
        if not (low or comma) or any(part and not (part.isascii() and part.isdigit()) for part in (low, high)):
            return None
        self.at = close + 1
        if not comma:
            return int(low), int(low)
        return int(low or 0), int(high) if high else FOREVER

    # ------------------------------------------------------------------ the whole

    def whole(self, body: Term) -> Term:
        """The language of the whole text: look-around sees this text only."""
        if self.behind:
            at_start = sum(1 << i for i, (_, start) in enumerate(self.behind) if start)
            body = self.algebra.resolve(body, at_start)
        body = self.algebra.trim(body)
        if not body.look and not body.prev:
            return body
        tracker = self.tracker()
        return self.algebra.scope(body, tracker, tracker)
