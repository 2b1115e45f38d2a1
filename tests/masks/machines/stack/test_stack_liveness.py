"""No dead ends in Lark grammars: a byte is allowed iff some text that stock lark accepts goes on with it.

All texts up to a length are tried with lark. Of these grammars every viable beginning needs few characters more, so for the shorter
beginnings that tells which bytes are viable, whatever makes a beginning dead: a cut of the lexer, a name that takes a keyword's
place, a comment that only a line's end may follow, a conflict that the tables decided.
"""

import itertools
import random
import re
from functools import cache

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.regular.syntax import parse_regex
from grammarlm.layout.stack import DOUBTS, EVERYTHING, UNCHECKED
from grammarlm.masks.machines.stack.program import StackProgram, Thread
from tests.internals import program_of
from tests.laws.laws import allowed_ids
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.lark_oracle import LarkOracle

BYTES = gl.Vocabulary([bytes([byte]) for byte in range(256)] + [b"</s>"], stop_ids=[256])
STOP = 256

# Grammar, its characters, how many of them complete any viable beginning at most. Beginnings of 7 less so many are judged.
GRAMMARS = {
    "shorter lexeme before its own letter": ('start: A "b" | A "a" "c"\nA: /a+/', "abc", 2),
    "second name never comes": ('start: A B?\nA: /a+/\nB: "a"', "ab", 1),
    "ends of numbers": ('start: FLOAT ".." | INT "." INT\nINT: /1+/\nFLOAT: /1+\\.1*/', "1.", 4),
    "range of numbers": ('start: NUMBER ".." NUMBER\nNUMBER: /1+(\\.1+)?/', "1.", 4),
    "range of numbers, spaced": (
        'start: NUMBER (".." NUMBER | "." "x")?\nNUMBER: /1+(\\.1+)?/\n%ignore " "',
        "1.x ",
        3,
    ),
    "lazy then greedy": ('start: A B? "!"\nA: /a.*?b/\nB: /b+/', "ab!", 3),
    "one name too few for LALR": ('start: x "b" "c" | y "b" "d"\nx: A\ny: A "b"\nA: /ab?/', "abcd", 3),
    "keyword or assignment": ('start: (KEY | NAME "=")*\nKEY: "if"\nNAME: /[if]+/', "if=", 2),
    "keyword alone": ('start: (KEY | NAME "=")*\nKEY: "if"\nNAME: /[if]+/\n%ignore " "', "if= ", 2),
    "keyword that a name shadows": ('start: KEY "!" | NAME "?"\nKEY: "a"\nNAME.2: /[ab]+/', "ab!?", 2),
    "keyword that a name shadows, spaced": (
        'start: KEY "!" | NAME "?"\nKEY: "a"\nNAME.2: /[ab]+/\n%ignore " "',
        "ab!? ",
        2,
    ),
    "keyword shadowed in one context": (
        'start: "(" KEY ")" | NAME KEY\nKEY: "a"\nNAME.2: /[ab]+/\n%ignore " "',
        "ab() ",
        4,
    ),
    "keyword in pattern's place": ('start: WORD NAME | NAME "!"\nWORD: "ab"\nNAME: /[ab]+/\n%ignore " "', "ab! ", 3),
    "comment to the end of the line": ('start: ("a" NL)* "b"\nNL: "\\n"\n%ignore /#c*/\n%ignore " "', "ab#c\n", 3),
    "comment where no line may end": ('start: ("a" "b" NL)* "b"\nNL: "\\n"\n%ignore /#c*/', "ab#\n", 4),
    "comment until the end": ('start: "a" "b"?\n%ignore /#[^\\n]*/', "ab#c", 1),
    "comment and line ends ignored": ('start: "a" "b"?\n%ignore /#c*/\n%ignore "\\n"', "ab#c\n", 3),
    "star in comments": ('start: "a" ("/" "a")*\n%ignore /\\/\\*b?\\*\\//', "a/*b", 3),
    "look-ahead for a mark": ('start: (A | B)+ "!"\nA: /a(?=b)/\nB: /b/', "ab!", 3),
    "look-ahead that is never met": ('start: A "c" | "b"\nA: /a(?=b)/', "abc", 1),
    "look-ahead that is never met at the end": ('start: "bd" "c" | A ("a" A)?\nA: /d(?=c)/', "abcd", 2),
    "look-ahead within, never met at the end": ('start: "bd" "c" | A ("a" A)?\nA: /(?=dc)d/', "abcd", 2),
    "look-ahead that a space meets": ('start: "b" "c" | A ("a" A)?\nA: /d(?= )/\n%ignore " "', "abcd ", 3),
    "ignored, but a name's text": ('start: "_" | /.+/\n%ignore "_"', "_ab", 1),
    "ignored, but within names": ('start: "b" W? " "?\nW: /[a ]+/\n%ignore " "', "ab ", 1),
    "ignored keyword in a name's place": ('start: NAME | KEY "!"\nKEY: "a"\nNAME: /[ab]+/\n%ignore KEY', "ab!", 1),
    "ignored keyword where no name is": (
        'start: "x" "y" | NAME KEY\nKEY: "a"\nNAME: /[ab]+/\n%ignore KEY\n%ignore " "',
        "abxy ",
        3,
    ),
    "ignored and used, beside others": ('start: A "b" | "c" B+\nA: "a"\nB: "a" | "d"\n%ignore A', "abcd", 2),
    "look-ahead against": ('start: A B? "c"?\nA: /a(?!b)/\nB: /[ac]+/', "abc", 1),
    "two bytes ahead": ('start: A ("b" "c" | "b" "d" | "c")\nA: /a(?!bc)/', "abcd", 3),
    "word boundary": ('start: A ("a" | "-")\nA: /a\\b/', "a-", 2),
    "dangling else": ('start: s\ns: "i" s "e" s | "i" s | "x"', "iex", 3),
    "shift takes the only way out": ('start: x "b" "c"\nx: "a" | "a" "b"', "abc", 3),
    "shift takes one of two ways out": ('start: x "b" "c" | "d"\nx: "a" | "a" "b"', "abcd", 4),
    "priority of a reduction": ('start: x "b" | y "c"\nx.2: "a"\ny: "a" | "d" "a"', "abcd", 2),
    "reduction that loses everywhere": ('start: x "b" | y "b" "c"\nx.2: "a"\ny: "a"', "abc", 2),
    "rule without any text": ('start: "a" | "b" x\nx: "c" x', "abc", 1),
    "rule without any text, inside": ('start: "a" x? "b"\nx: "c" y\ny: "d" y', "abcd", 2),
    "operators without space": ('start: N (OP N)*\nOP: "<" | "<=" | "="\nN: "-"* "1"', "<=-1", 2),
    "operators one by one": ('start: "1" (("<" | "=" | "<=" "=") "1")*', "<=1", 3),
    "strings side by side": ('start: S+\nS: /"a*"/ | /"a*"b/', '"ab', 2),
    "pieces of text": ('start: (T | "<" ">")*\nT: /[a ]+/', "a <>", 1),
    "space as a terminal": ('start: ("a" | S)* "b"\nS: / +/', "ab ", 1),
    "space before or after": ('start: "a" S "b" | "a" T "c"\nS: / +/\nT: /  +/', "abc ", 3),
    "tags": ('start: "<" S? ">" T? "/" S? ">"\nT: /[a ]+/\nS: / +/', "<a> /", 3),
    "longest string first": ('start: "ab" "c" | "a" "b" "d" | "abc" "e"', "abcde", 3),
    "optional everything": ("start: A? B? C?\nA: /a+b?/\nB: /b+c?/\nC: /c+/", "abc", 1),
    "either order": ("start: A B | B A\nA: /[ab]+/\nB: /b[ab]*c/", "abc", 3),
    "case": ('start: "If"i NAME | NAME "!"\nNAME: /[iIf]+/\n%ignore " "', "iIf! ", 3),
    "not LALR, two ends": ('start: x "b" "c" | y "b" "d"\nx: A\ny: A\nA: /a+/', "abcd", 3),
    "not LALR, spaced": ('start: x "b" "c" | y "b" "d"\nx: A\ny: A\nA: /a+/\n%ignore " "', "abcd ", 3),
    "not LALR, comments": ('start: x "b" | y "b" "b"\nx: A\ny: A\nA: /a+/\n%ignore /#c*/', "ab#c", 3),
    "not LALR, cut": ('start: x A "b" | y A "b" "b" | "c"\nx: A\ny: A\nA: /a+/', "abc", 2),
    "not LALR, recursive": ('start: p | q\np: "a" p "a" | A\nq: "a" q "b" | A\nA: /c+/', "abc", 4),
    "brackets and names": ('start: v\nv: NAME | "[" v ("," v)* "]"\nNAME: /a+/', "a[],", 5),
    "member of a number": (
        'start: x "." NAME | FLOAT | x\nx: INT\nINT: /1+/\nFLOAT: /1+\\.1+/\nNAME: /[a1]+/',
        "1.a",
        2,
    ),
}
NO_TEXT = {
    "own letter": 'start: A "a"\nA: /a+/',
    "own letter, in brackets": 'start: "(" A "a" ")" | A A\nA: /a+/',
    "two names": "start: NAME NAME\nNAME: /[a-z]+/",
    "shadowed everywhere": 'start: KEY\nKEY: "a"\nOTHER.2: /a/\n%ignore OTHER',
    "comment before a letter": 'start: C "a"\nC: /#[^\\n]*/',
    "look-ahead": 'start: A "c"\nA: /a(?=b)/',
    "not LALR": "start: x A | y A\nx: A\ny: A\nA: /a+/",
    "not LALR, look-ahead": 'start: x | y "c"\nx: A\ny: A\nA: /a(?=b)/',
    "rule": 'start: "a" start',
    "ignored": 'A: "a"\nstart: A\n%ignore A',
    "ignored, again and again": 'A: "a"\nstart: A+ | "b" A\n%ignore A',
    "ignored, of many texts": 'A: ("a" | "abb")~2 | /[b]{0,2}?/ "a"\nstart: A A+ | "a"\n%ignore A',
    "shift": 'start: x "b"\nx: "a" | "a" "b" "c" y\ny: "c" y',
}
LONGEST = 7


@cache
def constraint(text: str) -> gl.Constraint:
    return gl.compile(gl.Lark(text), BYTES)


def program(text: str) -> StackProgram:
    return program_of(constraint(text))


@cache
def beginnings(text: str, alphabet: str, longest: int = LONGEST) -> tuple[frozenset[str], frozenset[str]]:
    """All texts up to that length that lark accepts, and all their beginnings: every string is tried."""
    oracle = LarkOracle(text)
    strings = ("".join(s) for n in range(longest + 1) for s in itertools.product(alphabet, repeat=n))
    accepted = (
        frozenset(filter(oracle.accepts, strings))
        if len(alphabet) <= 4
        else frozenset(oracle.enumerate_language(alphabet, longest))
    )
    return accepted, frozenset(t[:end] for t in accepted for end in range(len(t) + 1))


def allowed(matcher: gl.Matcher) -> set[int]:
    return allowed_ids(matcher, BYTES)


ARE_LONG = ("star in comments", "brackets and names")  # shorter texts do not tell their beginnings apart


@pytest.mark.parametrize(
    ("name", "longest"),
    [
        *((name, LONGEST if name in ARE_LONG else LONGEST - 1) for name in GRAMMARS),
        *(pytest.param(name, LONGEST, marks=pytest.mark.proof) for name in GRAMMARS if name not in ARE_LONG),
    ],
)
def test_masks_allow_the_viable_bytes(name: str, longest: int) -> None:
    text, alphabet, needed = GRAMMARS[name]
    accepted, viable = beginnings(text, alphabet, longest)
    matcher, tried = constraint(text).matcher(), 0
    for beginning in sorted(viable, key=len):
        if len(beginning) + 1 + needed > longest:
            break
        assert matcher.advance_bytes(beginning.encode()) is True, beginning
        following = allowed(matcher)
        expected = {ord(character) for character in alphabet if beginning + character in viable}
        assert {t for t in following if t != STOP and chr(t) in alphabet} == expected, beginning
        assert (STOP in following) is (beginning in accepted), beginning
        assert following, beginning
        matcher.reset()
        tried += 1
    assert tried > 1


@pytest.mark.parametrize("name", GRAMMARS)
def test_walks_end_where_lark_accepts(name: str) -> None:
    """Walks along masks meet no dead end, and whatever they end with is a text of lark's."""
    text, alphabet, _ = GRAMMARS[name]
    oracle, rng, ended = LarkOracle(text), random.Random(name), 0
    for _ in range(20):
        matcher, data = constraint(text).matcher(), ""
        for step in range(60):
            following = sorted(allowed(matcher))
            assert following, data
            if STOP in following and (step > 8 or rng.random() < 0.3):
                assert oracle.accepts(data), data
                ended += 1
                break
            familiar = [t for t in following if t != STOP and chr(t) in alphabet]
            if not familiar:
                break
            token = rng.choice(familiar)
            assert matcher.advance(token) is True
            data += chr(token)
    assert ended


@pytest.mark.parametrize("name", NO_TEXT)
def test_no_text_at_all(name: str) -> None:
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(gl.Lark(NO_TEXT[name]), BYTES)


# Rules over bytes, under a border that all of the text must satisfy, beside a way to write every text of the rules.
INTERSECTIONS = {
    "counted": ('root ::= "a" root "b" | "c"', "(aa)*c?b*", "abc"),
    "nothing in common": ('root ::= "a" root "b" | "c"', "a+b+", "abc"),
    "odd and even": ('root ::= "a" root "a" | "b"', "(aa)*(a|b)(aa)*", "ab"),
    "brackets": ('root ::= "" | "(" root ")" root', r"\(\(.*\)\)", "()"),
    "brackets, never two": ('root ::= "" | "(" root ")" root', r"(\([^(]*)*", "()"),
    "left recursion": ('root ::= root "+" t | t\nt ::= "a" | "(" root ")"', r"[a+]*\(a\)", "a+()"),
    "too long": ('root ::= "a" root "b" | "c"', "a{3}c?b{4}", "abc"),
}


def check_intersection(both: Grammar, texts: set[str], alphabet: str, longest: int) -> None:
    """The masks after every beginning of up to `longest` characters are those of a grammar with just these texts."""
    if not texts:
        with pytest.raises(gl.UnsatisfiableGrammar):
            gl.compile(both, BYTES)
        return
    viable = {text[:end] for text in texts for end in range(len(text) + 1)}
    matcher = gl.compile(both, BYTES).matcher()
    for beginning in sorted((text for text in viable if len(text) <= longest), key=len):
        assert matcher.advance_bytes(beginning.encode()) is True, beginning
        expected = {ord(character) for character in alphabet if beginning + character in viable}
        assert allowed(matcher) - {STOP} == expected, beginning
        assert (STOP in allowed(matcher)) is (beginning in texts), beginning
        matcher.reset()


@pytest.mark.parametrize("name", INTERSECTIONS)
def test_threads_under_any_border(name: str) -> None:
    """Of each beginning: is there a text of the rules that goes on so and that the border matches?"""
    grammar, border, alphabet = INTERSECTIONS[name]
    oracle = CfgOracle(gl.Gbnf(grammar).rules(lambda: None))
    made = program_of(gl.compile(gl.Gbnf(grammar), BYTES))
    term = parse_regex(border, made.algebra)
    strings = ["".join(s) for n in range(10) for s in itertools.product(alphabet, repeat=n)]
    texts = {s for s in strings if re.fullmatch(border, s) and oracle.is_complete(s.encode())}
    assert made.trust.liveness.alive(Thread(made.start_state, (), term)) is bool(texts)
    check_intersection(gl.Gbnf(grammar) & gl.Regex(border), texts, alphabet, 3)


LARK_INTERSECTIONS = {
    "spaced names": ('start: NAME ("," NAME)*\nNAME: /a+/\n%ignore " "', "[a ]*,a a?", "a, "),
    "spaced names, nothing in common": ('start: NAME ("," NAME)*\nNAME: /a+/\n%ignore " "', "a a|,+", "a, "),
    "no space": ('start: A "b" | A "a" "c"\nA: /a+/', "a{2,3}[bc]", "abc"),
    "comments": ('start: "a" ("/" "a")*\n%ignore /\\/\\*b?\\*\\//', r"a/\*?b?\*?/.*", "a/*b"),
    "not LALR": ('start: x "b" "c" | y "b" "d"\nx: A\ny: A\nA: /a+/', ".{4}", "abcd"),
    "keyword": ('start: "if" NAME | NAME "!"\nNAME: /[if]+/\n%ignore " "', "[if]{2} ?!?i", "if! "),
}


@pytest.mark.parametrize("name", LARK_INTERSECTIONS)
def test_lark_under_a_border(name: str) -> None:
    grammar, border, alphabet = LARK_INTERSECTIONS[name]
    texts = {text for text in beginnings(grammar, alphabet)[0] if re.fullmatch(border, text)}
    check_intersection(gl.Lark(grammar) & gl.Regex(border), texts, alphabet, 2)


# What is proved once, and what is asked about: with a lexer whose lexemes a space may part, nothing is left to ask.
LEVELS = {
    "no lexer": (gl.Gbnf('root ::= "a" root | "b"'), UNCHECKED, False),
    "spaces": (gl.Lark('start: NAME ("=" NAME)* | "if" NAME\nNAME: /[a-z]+/\n%ignore " "'), DOUBTS, False),
    "comments": (
        gl.Lark('start: (NAME | "/" | "*")+\nNAME: /[a-z]+/\n%ignore /\\/\\*.*?\\*\\//\n%ignore " "'),
        DOUBTS,
        False,
    ),
    "strings": (gl.Lark('start: "(" start ")" | "a"'), DOUBTS, False),
    "a decided conflict": (gl.Lark('start: "i" start ["e" start] | N\nN: /x+/\n%ignore " "'), DOUBTS, False),
    "a rule without texts": (gl.Lark('start: x "b" | "d"\nx: "a" | "a" "b" y\ny: "c" y'), EVERYTHING, True),
    "a lexer beside text": (gl.Text() + gl.Lark('start: "a"'), DOUBTS, False),
    "a lexer behind a name": (gl.Regex("[a-z]+") + gl.Lark("start: A+\nA: /[a-z]/"), DOUBTS, False),
    "a lexer before a letter": (gl.Lark("start: A | B\nA: /a+/\nB: /b+/") + gl.Regex("a"), EVERYTHING, True),
    "not LALR": (gl.Lark('start: x "b" "c" | y "b" "d"\nx: A\ny: A\nA: /a+/'), DOUBTS, False),
    "a space that comes once": (gl.Lark('start: (S | "a")+\nS: / +/'), DOUBTS, False),
}


@pytest.mark.parametrize("name", LEVELS)
def test_what_is_proved_once(name: str) -> None:
    grammar, level, walks = LEVELS[name]
    for _ in range(2):  # the second time it is remembered
        trust = program_of(gl.compile(grammar, BYTES)).trust
        assert (trust.level, trust.needs_walks) == (level, walks)


def test_too_many_states_are_refused_by_name() -> None:
    both = gl.Gbnf('root ::= "a" root "b" | "c"') & gl.Regex("(a{97})*c(b{89})*")
    with pytest.raises(gl.UnsupportedFeature, match="not decided within the limits"):
        gl.compile(both, BYTES, limits=gl.Limits(max_states=200))
