"""The format `regex`: expressions that every ECMA-262 reader accepts, as a regular language.

Strict syntax, with and without the flag u. Nesting depth is limited, and what needs unbounded memory or comparison is left out.
Everything in the language is a valid expression; these valid ones are missing:

    groups deeper than DEPTH, named groups, back-references
    look-arounds within a look-around or deeper than in one group, groups in them deeper than LOOK_DEPTH
    {n,m} with numbers of more than three digits, or equal first digits of three (but {n00,m})
    ranges of characters in a class that do not begin with an ASCII character, or end with an escape
    properties other than the categories and a few more

So what is not in the language need not be broken, and the opposite of the format is refused.

Each open bracket is part of the state, so the number of states is that of the stacks of brackets times 700. The limits keep it
small enough to make all states beforehand (masks/machines/json/formats.py). In 1,606 patterns of real schemas, 13 have groups
eight deep; look-arounds stand outside of groups or in one, and have groups at most two deep.
"""

from __future__ import annotations

from grammarlm.grammars.regular import charset, utf8
from grammarlm.grammars.regular.charset import CharSet
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.syntax import parse_regex
from grammarlm.grammars.regular.terms import FOREVER, NIL, Term

DEPTH = 8
LOOK_DEPTH = 2

_HEX = "[0-9A-Fa-f]"
_CATEGORIES = (
    "L|Lu|Ll|Lt|LC|Lm|Lo|M|Mn|Mc|Me|N|Nd|Nl|No|P|Pc|Pd|Ps|Pe|Pi|Pf|Po|S|Sm|Sc|Sk|So|Z|Zs|Zl|Zp|C|Cc|Cf|Co|Cn|Letter|"
    "ASCII|Any|Alphabetic|Lowercase|Uppercase|White_Space|Emoji|"
    "Script=(?:Arabic|Cyrillic|Greek|Han|Hangul|Hebrew|Hiragana|Katakana|Latin|Thai)"
)
_ESCAPE = (
    rf"\\(?:[dDsSwWfnrtv^$\\.*+?()\[\]{{}}|/]|c[A-Za-z]|x{_HEX}{{2}}|u{_HEX}{{4}}|u\{{(?:10{_HEX}{{4}}|{_HEX}{{1,5}})\}}"
    rf"|[pP]\{{(?:{_CATEGORIES})\}})"
)
_PLAIN = r"[^\^$\\.*+?()\[\]{}|]"
_ASSERTION = r"\^|\$|\\[bB]"


def regex_term(algebra: Algebra) -> Term:
    """The language of the expressions."""
    word, cat, alt = algebra.word, algebra.sequence, algebra.alt

    def parsed(expression: str) -> Term:
        return parse_regex(expression, algebra)

    atom = alt([parsed(rf"{_PLAIN}|\.|{_ESCAPE}"), _character_class(algebra)])
    repeated = alt([NIL, cat([alt([parsed(r"[*+?]"), _counted(algebra)]), alt([NIL, word(b"?")])])])
    kinds = alt([NIL, word(b"?:")])
    simple = [cat([atom, repeated]), parsed(_ASSERTION), word(b"|")]

    def body(*nested: Term) -> Term:
        return algebra.repeat(alt([*simple, *nested]), 0, FOREVER)

    def group(inner: Term) -> Term:
        return cat([word(b"("), kinds, inner, word(b")"), repeated])

    bodies = [body()]  # by the depth of the groups in them, without look-arounds
    while len(bodies) < DEPTH:
        bodies.append(body(group(bodies[-1])))
    look = cat([algebra.words([b"(?=", b"(?!", b"(?<=", b"(?<!"]), bodies[LOOK_DEPTH], word(b")")])
    return body(look, group(body(look, group(bodies[DEPTH - 2]))))


def _counted(algebra: Algebra) -> Term:
    """{n}, {n,} or {n,m} where n is not greater than m."""
    forms = [r"(?:0|[1-9][0-9]{0,2}),?", r"[0-9],[1-9][0-9]{1,2}", r"[1-9][0-9],[1-9][0-9]{2}"]
    forms += [f"{low},[{low}-9]" for low in range(10)]
    for low in range(1, 10):
        forms += [f"{low}{unit},{low}[{unit}-9]" for unit in range(10)]
        forms.append(f"{low}00,{low}[0-9]{{2}}")
        if low < 9:
            forms += [f"{low}[0-9],[{low + 1}-9][0-9]", f"{low}[0-9]{{2}},[{low + 1}-9][0-9]{{2}}"]
    return parse_regex(rf"\{{(?:{'|'.join(forms)})\}}", algebra)


# ---- classes: [ ^ - items - ]


def _character_class(algebra: Algebra) -> Term:
    minus = algebra.alt([NIL, algebra.word(b"-")])
    single = parse_regex(rf"[^\\\]\-]|{_ESCAPE}|\\[b\-]", algebra)
    ranges = algebra.cat(algebra.alt(_ranges(algebra)), minus)  # [0-9-_]: after a range, a minus is itself
    items = algebra.repeat(algebra.alt([single, ranges]), 0, FOREVER)
    negation = algebra.alt([NIL, algebra.word(b"^")])
    return algebra.sequence([algebra.word(b"["), negation, minus, items, minus, algebra.word(b"]")])


def _ranges(algebra: Algebra) -> list[Term]:
    """Ranges from an ASCII character to a later character."""
    barred: CharSet = tuple((ord(c), ord(c)) for c in "-[\\]^")
    allowed = charset.intersect(charset.negate(charset.union(barred)), ((0x21, charset.LAST),))
    found = []
    for code_point in range(0x21, 0x7F):
        if charset.contains(allowed, code_point):
            later = charset.intersect(allowed, ((code_point, charset.LAST),))
            low = algebra.word(bytes([code_point, ord("-")]))
            found.append(algebra.cat(low, algebra.chars(utf8.encode(later))))
    return found
