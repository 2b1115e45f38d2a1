"""Ebnf reads what xgrammar reads (test_ebnf_peer.py asks xgrammar itself), and says what is wrong with the rest."""

import contextlib
import re

import pytest

import grammarlm as gl
from grammarlm.grammars.cfg.rules import (
    Alternatives,
    Call,
    Chars,
    Node,
    Pattern,
    Repeat,
    Rules,
    Sequence,
    Text,
    Token,
)
from grammarlm.grammars.regular import charset
from tests.grammars.ebnf.reader_laws import HOSTILE, check_clock, check_place
from tests.oracles.cfg_oracle import CfgOracle

EMPTY = Sequence(())
A, B, AB = Text(b"a"), Text(b"b"), Text(b"ab")
DIGIT = Chars(((48, 57),))


def read(text: str, **options: str) -> Rules:
    return gl.Ebnf(text, **options).rules(lambda: None)


def root(body: str) -> Node:
    return read(f"root ::= {body}").bodies["root"]


@pytest.mark.parametrize(
    ("body", "node"),
    [
        ('"a"', A),
        ('""', EMPTY),
        ("()", EMPTY),
        ("( # nothing\n )", EMPTY),
        ('"a" ()', A),
        ('"a" "" "b"', AB),
        ('"a" (("b"))', AB),
        ('"a"\n"b"', AB),
        ('"a" # c\n "b"', AB),
        ('"a" | "b"', Alternatives((A, B))),
        ('"a"\n\n  | "b"\n  | ""', Alternatives((A, B, EMPTY))),
        ('("a" | "b") "a"', Sequence((Alternatives((A, B)), A))),
        ('"a"*', Repeat(A, 0, None)),
        ('"a" +', Repeat(A, 1, None)),
        ('"a"\n?', Repeat(A, 0, 1)),
        ('"a"{2}', Repeat(A, 2, 2)),
        ('"a"{2,}', Repeat(A, 2, None)),
        ('"a"{2,-1}', Repeat(A, 2, None)),
        ('"a"{2,3}', Repeat(A, 2, 3)),
        ('"a"{ 2 # low\n, 3\n}', Repeat(A, 2, 3)),
        ('"a"{0}', EMPTY),
        ('"a"{1}', A),
        ('""*', EMPTY),
        ('("a"*)+', Repeat(Repeat(A, 0, None), 1, None)),
        ("[0-9]+", Repeat(DIGIT, 1, None)),
    ],
)
def test_structure(body: str, node: Node) -> None:
    assert root(body) == node


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r'"\"\\\'\?\/"', "\"\\'?/"),
        (r'"\a\b\e\f\n\r\t\v\0"', "\a\b\x1b\f\n\r\t\v\0"),
        (r'"\x41"', "A"),
        (r'"\xA"', "\n"),
        (r'"\x1F600"', "😀"),
        (r'"\x41 B"', "A B"),
        (r'"\x000041B"', "\u041b"),  # as many digits as there are
        (r'"\u0041B"', "AB"),
        (r'"\U0001F600"', "😀"),
        (r'"\012"', "\x0012"),
        ('"é中😀"', "é中😀"),
        ('"# | ( [ ::= "', "# | ( [ ::= "),
    ],
)
def test_literals(body: str, text: str) -> None:
    assert root(body) == Text(text.encode())


@pytest.mark.parametrize(
    ("body", "chars"),
    [
        ("[abc]", "abc"),
        ("[a-cx]", "abcx"),
        ("[a-]", "-a"),
        ("[-a]", "-a"),
        ("[+--]", "+,-"),
        ("[a-b-d]", "-abd"),
        ("[a^]", "^a"),
        (r"[\^\$\\\.\*\+\?\(\)\[\]\{\}\|\/\-\'\"]", "^$\\.*+?()[]{}|/-'\""),
        (r"[a\-c]", "-ac"),
        (r"[\x41-\x43\n]", "ABC\n"),
        (r"[\u00e0-\u00e2]", "àáâ"),
        ("[ #]", " #"),
        ("[[(]", "[("),
    ],
)
def test_classes(body: str, chars: str) -> None:
    found = root(body)
    assert isinstance(found, Chars)
    assert [c for low, high in found.chars for c in range(low, high + 1)] == sorted(map(ord, chars))


def test_classes_of_many_characters_and_of_none() -> None:
    assert root("[^]") == Chars(charset.ALL)
    assert root("[]") == Alternatives(())
    assert root("[^^-]") == Chars(((0, 44), (46, 93), (95, 0xD7FF), (0xE000, 0x10FFFF)))
    assert root(r"[\ud700-\ue000]") == Chars(((0xD700, 0xD7FF), (0xE000, 0xE000)))
    assert root(r"[\ud800-\udfff]") == Alternatives(())


def test_rules_end_where_the_next_one_begins() -> None:
    text = '\n  root ::= a.b\n  _c-1\n\ta.b\n::= "a" # not here: x ::= y\n_c-1 # the name\n # still\n ::=\n\n"b"'
    assert read(text) == Rules("root", {"root": Sequence((Call("a.b", 12), Call("_c-1", 18))), "a.b": A, "_c-1": B})


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", " # c\n", "\n\n\t "])
def test_a_rule_begins_after_any_line_break(end: str) -> None:
    assert read(f'root ::= "a"{end}b ::= "b"').bodies == {"root": A, "b": B}


@pytest.mark.parametrize("name", ["a", "_", "-", ".", "a.b", "-1", "A_b-2.c", "Tokens", "Regexp", "Exclude", "trueish"])
def test_names(name: str) -> None:
    assert read(f'root ::= {name}\n{name} ::= "a"').bodies == {"root": Call(name, 9), name: A}


def test_another_start() -> None:
    assert read('a ::= "a"', start="a") == Rules("a", {"a": A})


def test_tokens() -> None:
    assert root("Token(128010)") == Token(128010, 9)
    assert root("Token (\n 7 )") == Token(7, 9)
    assert root("Token(2, 1, 2, # 5\n 003)") == Alternatives((Token(1, 9), Token(2, 9), Token(3, 9)))
    assert root('"a" Token(1)* "b"') == Sequence((A, Repeat(Token(1, 13), 0, None), B))


@pytest.mark.parametrize(
    ("call", "pattern"),
    [
        ('Regex("[0-9]+")', "(?s:[0-9]+)"),
        (r'Regex("\\d+\\.\\d{2,3}")', r"(?s:\d+\.\d{2,3})"),
        ('Regex("a|b.c")', "(?s:a|b.c)"),
        ('Regex("a.b", flags="")', "a.b"),
        ('Regex("a.b", flags="u")', "a.b"),
        ('Regex("a.b", flags="si")', "(?is:a.b)"),
        ('Regex ( "a" , flags = "i" )', "(?i:a)"),
        ('Regex("a", json_string=false)', "(?s:a)"),
        ('Regex("^a$")', "(?s:a)"),
        ('Regex("^")', "(?s:)"),
        ('Regex("$")', "(?s:)"),
        (r'Regex("a\\$")', r"(?s:a\$)"),
        ('Regex("")', "(?s:)"),
        (r'Regex("(?:[^a-c\\]]\\W)*?(x)?\\x41\\u00e9")', r"(?s:(?:[^a-c\]]\W)*?(x)?\x41\u00e9)"),
        ('Regex("a # b ( ::= c)")', "(?s:a # b ( ::= c))"),
        ('Regex("(?i)^a.$")', "(?is:a.)"),
        ('Regex("(?i)a", flags="")', "(?i:a)"),
        (r'Regex("(?<n>a)(?P<n>\\u{e9}[\\e\\cA]})")', r"(?s:(a)(\U000000e9[\x1b\x01]}))"),
        ('Regex("a|b", json_string=true)', r'(?=[^"\\\x00-\x1f]*\Z)(?:(?s:a|b))'),
    ],
)
def test_regular_expressions(call: str, pattern: str) -> None:
    assert root(call) == Pattern(pattern, 9)
    assert read(f'root ::= {call}* "a"').bodies["root"] == Sequence((Repeat(Pattern(pattern, 9), 0, None), A))


@pytest.mark.parametrize(
    "pattern",
    [
        r"\\bfoo",
        "(?=a)a",
        "(?P<n-1>a)",
        "a(?i)",
        "(?i:a)",
        r"(a)\\1",
        "a++",
        "a+?+",
        "a**",
        "a{,2}",
        "a{x}",
        "a{ 2 }",
        "{",
        "]",
        "[]",
        "[^]",
        "[]a]",
        "a$b",
        "a^b",
        "$a",
        "^*a",
        "(*)",
        r"\\p{L}",
        r"\\c1",
        r"\\01",
        r"\\Z",
        r"\\q",
        r"\\u{}",
        r"\\u{0000041}",
        r"\\ud800",
        r"\\x4",
    ],
)
def test_what_regex_dialects_read_in_two_ways_is_refused(pattern: str) -> None:
    with pytest.raises(gl.UnsupportedFeature, match=r"^Regex\(\) with '.*' at position \d+ is not supported: "):
        root(f'"a" Regex("{pattern}")')


def test_a_look_ahead_is_a_hint_and_dropped() -> None:
    text = 'root ::= a "b" (= "c" (a | "d"))\na ::= "a" | "b" (= [bc]*)\n'
    assert read(text).bodies == {"root": Sequence((Call("a", 9), B)), "a": Alternatives((A, B))}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('TagDispatch(("<tool>", root), loop_after_dispatch=false)', "TagDispatch() is not supported"),
        ("TokenTagDispatch((1, root))", "TokenTagDispatch() is not supported"),
        ("ExcludeToken(1, 2)", "ExcludeToken() is not supported"),
        ('Substring("a", "b")', "Substring() is not supported"),
    ],
)
def test_other_macros_are_refused_by_name(body: str, words: str) -> None:
    with pytest.raises(gl.UnsupportedFeature) as caught:
        root(f'"a" {body} "b"')
    assert str(caught.value).startswith(f"{words}, at line 1, column 14 of the EBNF text:\n")


@pytest.mark.parametrize(
    "options",
    [
        "lazy",
        "capture",
        'capture="x"',
        "max_tokens=5",
        "max_tokens = 5, lazy",
        "max_chars=9",
        "temperature=0.7",
        "capture_hidden_stop_bytes=1",
        'stop_capture="x"',
    ],
)
def test_rule_options_are_refused_by_name(options: str) -> None:
    name = re.match(r"\w+", options).group()  # type: ignore[union-attr]
    for before in ("", 'b ::= "b"\n', "# c\n b ::= b\n"):
        text = f'{before}root[{options}] ::= "a"'
        with pytest.raises(gl.UnsupportedFeature) as caught:
            read(text)
        assert str(caught.value).startswith(f"the rule option {name} is not supported, at line ")
        assert caught.value.position == text.index("root")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'root ::= "a" |\n',
            'something is missing here; the empty text is written "", at line 2, column 1 of the EBNF text:\n\n^',
        ),
        (
            'root ::= item\n  (","  itm)*\nitem ::= "a"',
            "there is no rule 'itm', at line 2, column 9 of the EBNF text:\n  (\",\"  itm)*\n        ^",
        ),
        (
            'root ::= "a"*+',
            "two repeats of one thing; brackets go between them: (x+)?, at line 1, column 14 of the EBNF text:\n"
            'root ::= "a"*+\n'
            "             ^",
        ),
        (
            'root ::= "a" b ::= "b"',
            "a rule begins on a line of its own, at line 1, column 14 of the EBNF text:\n"
            'root ::= "a" b ::= "b"\n'
            "             ^",
        ),
    ],
)
def test_whole_messages(text: str, message: str) -> None:
    with pytest.raises(gl.GrammarError) as caught:
        read(text)
    assert str(caught.value) == message
    assert type(caught.value) is gl.GrammarError


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "there is no rule 'root', where texts start (rules: none at all)"),
        ("a ::= ()", 0, "there is no rule 'root', where texts start (rules: a)"),
        ("root ::=", 8, "something is missing here"),
        ("root ::= | ()", 9, "something is missing here"),
        ("root ::= () | | ()", 14, "something is missing here"),
        ('root ::= ("a" | )', 16, "something is missing here"),
        ("root ::= (|())", 10, "something is missing here"),
        ("root ::=\nb ::= ()", 9, "something is missing here"),
        ("root ::= ()\nroot ::= ()", 12, "there are two rules 'root'"),
        ("true ::= ()", 0, "true is a value, not the name of a rule"),
        ("root ::= (()\nb ::= ()", 9, "'(' is not closed"),
        ("root ::= (", 9, "'(' is not closed"),
        ("root ::= ())", 11, "')' without a '('"),
        ('root ::= "a', 9, "this string is not closed"),
        ('root ::= "a\nb"', 9, "this string is not closed"),
        ('root ::= "a\\', 9, "this string is not closed"),
        ("root ::= [a", 9, "this character class is not closed"),
        ("root ::= [a\n]", 9, "this character class is not closed"),
        ("root ::= [b-a]", 10, "bad range b-a"),
        (r"root ::= [\d]", 10, r"unknown escape \d"),
        (r'root ::= "\-"', 10, r"unknown escape \-"),
        (r'root ::= "\]"', 10, r"unknown escape \]"),
        (r'root ::= "\x"', 10, r"incomplete escape: \x takes hexadecimal digits"),
        (r'root ::= "\u12"', 10, r"incomplete escape: \u takes 4 hexadecimal digits"),
        (r'root ::= "\x110000"', 10, r"\x110000 is no character"),
        (r'root ::= "\ud800"', 9, "U+D800 is half of a surrogate pair"),
        ("root ::= *", 9, "nothing to repeat before '*'"),
        ('root ::= "a" | {2}', 15, "nothing to repeat before '{'"),
        ('root ::= "a"{3,1}', 12, "{3,1} repeats at least 3 and at most 1 times"),
        ('root ::= "a"{,3}', 12, "'{' begins a repeat"),
        ('root ::= "a"{2,-2}', 12, "a repeat up to -2 times"),
        ('root ::= "a"{1 000}', 12, "'{' begins a repeat"),
        ('root ::= "a"{1000000000000000000}', 12, "more than 15 digits"),
        ('root ::= "a"{2} # c\n{3}', 20, "two repeats of one thing"),
        ('root ::= ("a" (= "b"))', 14, "a look-ahead (= ...) stands at the end of a rule"),
        ('root ::= "a" (= "b") "c"', 21, "a rule is expected here"),
        ('root ::= "a" (= "b")*', 20, "a rule is expected here"),
        ('root ::= "a" (= )', 16, "something is missing here"),
        ('root ::= "a" (= "b" | )', 22, "something is missing here"),
        ('root ::= "a" (= "b"', 13, "'(' is not closed"),
        ('root ::= "a" (= b)', 16, "there is no rule 'b'"),
        ("root ::= (= ())", 9, "something is missing here"),
        ("root ::= .", 9, "there is no rule '.'"),
        ("root ::= <a>", 9, "unexpected '<'"),
        ("root ::= 'a'", 9, 'unexpected "\'"'),
        ("root ::= /a/", 9, "unexpected '/'"),
        ('root ::= "a" // c', 13, "unexpected '/'"),
        ("root ::= 1", 9, "unexpected '1'"),
        ('root ::= "a" ::= "b"', 13, "unexpected '::='"),
        ('root ::= x[a] ::= "b"\nx ::= ()', 14, "unexpected '::='"),
        ("::= ()", 0, "a rule is expected here"),
        ("1 ::= ()", 0, "a rule is expected here"),
        ("root : ()", 0, "a rule is expected here"),
        ("Token(1)", 0, "a rule is expected here"),
        ("root ::= Token", 9, "Token() takes ids of tokens"),
        ("root ::= Token()", 9, "Token() takes ids of tokens"),
        ("root ::= Token(-1)", 9, "Token() takes ids of tokens"),
        ("root ::= Token(a)", 9, "Token() takes ids of tokens"),
        ("root ::= Token(1,)", 9, "Token() takes ids of tokens"),
        ("root ::= Token(1", 9, "Token() takes ids of tokens"),
        ("root ::= Token(4294967296)", 9, "no token has the id 4294967296"),
        ("root ::= Token(1234567890123456)", 9, "more than 15 digits"),
        ("root ::= Regex(a)", 9, "Regex() takes a pattern"),
        ('root ::= Regex("a', 9, "Regex() takes a pattern"),
        ('root ::= Regex("a", "b")', 9, "Regex() takes a pattern"),
        ('root ::= Regex("a", flag="i")', 9, "Regex() takes a pattern"),
        ('root ::= Regex("a", flags="x")', 9, "unknown flag 'x' of Regex()"),
        (r'root ::= Regex("a", flags="\q")', 27, r"unknown escape \q"),
        (r'root ::= Regex("\d")', 16, r"unknown escape \d"),
        ('root ::= "a"\0', 12, r"unexpected '\x00'"),
    ],
)
def test_errors_say_where(text: str, position: int, words: str) -> None:
    with pytest.raises(gl.GrammarError) as caught:
        read(text)
    check_place(caught.value, "EBNF", text, position, words)


JSON = r"""
# what xgrammar's users write for JSON, hint included
root ::= any
any ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (string ws ":" ws any (ws "," ws string ws ":" ws any)*)? ws "}"
array ::= "[" (ws | ws any (ws "," ws any)* ws) "]"
string ::= "\"" char_sequence
char_sequence ::= "\"" | [^\0-\x1f\"\\\r\n] char_sequence | "\\" escape char_sequence (= [ \n\t]* [,}\]:])
escape ::= ["\\/bfnrt] | "u" [A-Fa-f0-9]{4}
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+-]? [0-9]+)?
ws ::= [ \n\t]*
"""


@pytest.mark.parametrize(
    ("grammar", "accepts", "rejects"),
    [
        (
            JSON,
            ['"a"', "-0.5e+1", '{"a": [ ], "é" :\n{}}', '["\\u00e9\\"", null]'],
            ["", '"a', "01", "{,}", '{"a"}', '["\n"]', "[1,]"],
        ),
        (
            'root ::= root "+" term | term\nterm ::= [0-9]+ | "(" root ")"',
            ["1", "1+2+3", "(1+(2))+3"],
            ["", "+", "1+", "(1", "1)"],
        ),
        (
            r'root ::= Regex("[a-z]+(,[a-z]+)*") ";" Regex("k.", flags="i")',
            ["a,bc;Kx", "z;k\r"],
            ["a,;kx", "A;kx", "a;k", "a;k\n"],
        ),
    ],
    ids=["json", "left recursion", "regex"],
)
def test_languages(grammar: str, accepts: list[str], rejects: list[str]) -> None:
    oracle = CfgOracle(read(grammar))
    assert [text for text in accepts if not oracle.is_complete(text.encode())] == []
    assert [text for text in rejects if oracle.is_complete(text.encode())] == []


def test_where_the_notations_agree_they_make_the_same_rules() -> None:
    text = 'root ::= (a | "b" [^x-z\\n])* "\\x41" a{2,3} # c\n\na ::= "é" "\\u00e9" (a "" | ()) |\n  [\\x41-\\]] "a"+\n'
    assert read(text) == gl.Gbnf(text).rules(lambda: None)


@pytest.mark.parametrize("name", [*HOSTILE, "regex"])
def test_hostile_texts_are_read_under_the_clock(name: str) -> None:
    check_clock(gl.Ebnf(HOSTILE.get(name, 'root ::= Regex("' + "a" * 100_000 + '")')), name)


@pytest.mark.parametrize(
    "unit",
    [
        *('(|"[{#\\\r'),
        *("(=", '"\\', "[^", "{1", "::=", "a::=", "\na::=", "x ", "x[lazy"),
        *("Token(", "Token(1,", "Token (# \n", 'Regex("', 'Regex("a'),
    ],
)
def test_nothing_is_scanned_again_and_again(unit: str) -> None:
    """A reader that looks for an end from every place where one might be missing takes minutes for each of these."""
    text = 'root ::= "a" ' + unit * 200_000
    with contextlib.suppress(gl.GrammarError):
        read(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"aé"', True),
        ('"A"', True),
        ('"a\\""', False),
        ('"a\n"', False),
        ('"a"', True),
        ('"b"', False),
        ('"a\x7f"', True),
    ],
)
def test_the_engine_reads_what_a_string_of_json_has(text: str, expected: bool) -> None:
    vocab = gl.Vocabulary([*(bytes([b]) for b in range(256)), b"</s>"], stop_ids=[256])
    grammar = gl.Ebnf(r'root ::= "\"" Regex("(?i)a.*", json_string=true) "\"" ')
    matcher = gl.compile(grammar, vocab).matcher()
    assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting) == expected
