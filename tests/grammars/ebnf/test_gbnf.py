"""Gbnf reads what llama.cpp's parser reads: the trees it makes, the languages they have, and what it says of broken texts."""

import contextlib

import pytest

import grammarlm as gl
from grammarlm.grammars.cfg.rules import (
    Alternatives,
    Call,
    Chars,
    Node,
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
X = 'x ::= "x"\n'  # a rule to call, before the root


def read(text: str, **options: str) -> Rules:
    return gl.Gbnf(text, **options).rules(lambda: None)


def root(body: str) -> Node:
    return read(f"root ::= {body}").bodies["root"]


def call(text: str, name: str, which: int = 0) -> Call:
    """The call of `name` where it stands in the text for the `which`-th time."""
    at = -1
    for _ in range(which + 1):
        at = text.index(name, at + 1)
    return Call(name, at)


@pytest.mark.parametrize(
    ("body", "node"),
    [
        ('"a"', A),
        ('""', EMPTY),
        ("", EMPTY),
        ("()", EMPTY),
        ('"" ""', EMPTY),
        ('"a" "b"', AB),
        ('"a" ("b")', AB),
        ('"a" "" (((("b"))))', AB),
        ('("a" "b") "b"', Text(b"abb")),
        ('"a" | "b"', Alternatives((A, B))),
        ('("a" | "b")', Alternatives((A, B))),
        ('"a" |', Alternatives((A, EMPTY))),
        ('| "a"', Alternatives((EMPTY, A))),
        ("|", Alternatives((EMPTY, EMPTY))),
        ('("a" |) "b"', Sequence((Alternatives((A, EMPTY)), B))),
        ('"a" ("b" | "a" "b") "a"', Sequence((A, Alternatives((B, AB)), A))),
        ('"a" [0-9] "b"', Sequence((A, DIGIT, B))),
        ('("a" | "b") | "a"', Alternatives((Alternatives((A, B)), A))),
    ],
)
def test_sequences_and_alternatives(body: str, node: Node) -> None:
    assert root(body) == node


@pytest.mark.parametrize(
    ("body", "node"),
    [
        ('"a"*', Repeat(A, 0, None)),
        ('"a"+', Repeat(A, 1, None)),
        ('"a"?', Repeat(A, 0, 1)),
        ('"a" *', Repeat(A, 0, None)),
        ('"ab"*', Repeat(AB, 0, None)),
        ('"a" "b"*', Sequence((A, Repeat(B, 0, None)))),
        ('("a" "b")*', Repeat(AB, 0, None)),
        ('"a"{3}', Repeat(A, 3, 3)),
        ('"a"{3,}', Repeat(A, 3, None)),
        ('"a"{3,5}', Repeat(A, 3, 5)),
        ('"a"{ 3 , 5 }', Repeat(A, 3, 5)),
        ('"a"{003}', Repeat(A, 3, 3)),
        ('"a"{0,5}', Repeat(A, 0, 5)),
        ('"a"{1,1}', A),
        ('"a"{1}', A),
        ('"a"{0}', EMPTY),
        ('"a"{0,0} "b"', B),
        ('"a"{3000}', Repeat(A, 3000, 3000)),
        ('"a"{0,1000000000}', Repeat(A, 0, 1_000_000_000)),
        ('"a"?*', Repeat(Repeat(A, 0, 1), 0, None)),
        ('"a"{2}+', Repeat(Repeat(A, 2, 2), 1, None)),
        ("()*", EMPTY),
        ("[0-9]{1,3}", Repeat(DIGIT, 1, 3)),
        (".*", Repeat(Chars(charset.ALL), 0, None)),
    ],
)
def test_repeats(body: str, node: Node) -> None:
    assert root(body) == node


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r'"\""', '"'),
        (r'"\\"', "\\"),
        (r'"\\\""', '\\"'),
        (r'"\n\r\t"', "\n\r\t"),
        (r'"\[\]\-"', "[]-"),
        (r'"\x41\x7f"', "A\x7f"),
        (r'"\x411"', "A1"),
        (r'"\xe9"', "é"),
        (r'"\u00e9\u4E2D"', "é中"),
        (r'"\U0001F600"', "😀"),
        ('"é中😀"', "é中😀"),
        ('"# no comment | ( [ { <"', "# no comment | ( [ { <"),
        ('"two\nlines"', "two\nlines"),
        (r'"\x00"', "\0"),
    ],
)
def test_literals(body: str, text: str) -> None:
    assert root(body) == Text(text.encode())


@pytest.mark.parametrize(
    ("body", "chars"),
    [
        ("[a]", "a"),
        ("[abc]", "abc"),
        ("[cab]", "abc"),
        ("[a-ce]", "abce"),
        ("[a-]", "-a"),
        ("[-a]", "-a"),
        ("[+--]", "+,-"),
        ("[a-b-d]", "-abd"),
        (r"[a\-c]", "-ac"),
        (r"[\]\[]", "[]"),
        (r'["\\]', '"\\'),
        (r"[\"]", '"'),
        ("[[]", "["),
        ("[ #]", " #"),
        (r"[\n\t\r]", "\t\n\r"),
        (r"[\x41-\x43]", "ABC"),
        (r"[\u00e0-\u00e2]", "àáâ"),
        ("[à-â]", "àáâ"),
        ("[a^]", "^a"),
        ("[\n]", "\n"),
    ],
)
def test_classes(body: str, chars: str) -> None:
    found = root(body)
    assert isinstance(found, Chars)
    assert [c for low, high in found.chars for c in range(low, high + 1)] == sorted(map(ord, chars))


def test_classes_of_many_characters_leave_surrogates_out() -> None:
    assert root("[^a]") == Chars(((0, 96), (98, 0xD7FF), (0xE000, 0x10FFFF)))
    assert root("[^^]") == Chars(((0, 93), (95, 0xD7FF), (0xE000, 0x10FFFF)))
    assert root(r"[\x00-\U0010ffff]") == Chars(charset.ALL)
    assert root(r"[\ud700-\ue000]") == Chars(((0xD700, 0xD7FF), (0xE000, 0xE000)))
    assert root(".") == Chars(charset.ALL)


@pytest.mark.parametrize("body", [r"[\ud800]", r"[^\x00-\U0010ffff]", "[\ud800-\udfff]"])
def test_a_class_of_nothing_is_nothing(body: str) -> None:
    assert root(body) == Alternatives(())


def test_a_rule_ends_with_its_line_but_for_brackets_and_bars() -> None:
    text = """
    # before the first rule

    root ::=   # a comment, then a line break
      first |  # another

      ( second
        first  # in brackets
        | "c"
      )+ "d"
    first ::= "a" # after a rule
    second\t::= "b"
    """
    assert read(text).bodies == {
        "root": Alternatives(
            (
                call(text, "first", 1),
                Sequence(
                    (
                        Repeat(
                            Alternatives((Sequence((call(text, "second"), call(text, "first", 2))), Text(b"c"))),
                            1,
                            None,
                        ),
                        Text(b"d"),
                    )
                ),
            )
        ),
        "first": A,
        "second": B,
    }


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n\r\n", " # c\n", "\t\n  "])
def test_every_line_break_ends_a_rule(end: str) -> None:
    assert read(f'root ::= "a"{end}b ::= "b"').bodies == {"root": A, "b": B}
    assert read(f'root ::= "a"{end}').bodies == {"root": A}


@pytest.mark.parametrize("name", ["a", "A", "a-b", "a_b", "-", "1", "0x", "-1-", "Root"])
def test_names(name: str) -> None:
    assert read(f'root ::= {name}\n{name} ::= "a"').bodies == {"root": Call(name, 9), name: A}


def test_names_may_touch_what_follows() -> None:
    text = X + 'root::=x"a"x[0-9]x(x)x*x'
    parts = [Call("x", i) for i, c in enumerate(text) if c == "x" and i > len(X)]
    assert read(text).bodies["root"] == Sequence(
        (parts[0], A, parts[1], DIGIT, parts[2], parts[3], Repeat(parts[4], 0, None), parts[5])
    )


def test_of_two_rules_with_one_name_the_second_holds() -> None:
    rules = read('root ::= "a"\nx ::= "b"\nroot ::= "b"')
    assert rules.bodies == {"root": B, "x": B}


def test_tokens_by_id_and_by_text() -> None:
    assert root("<[1000]>") == Token(1000, 9)
    assert root("<think>") == Token("<think>", 9)
    assert root("<|tool call|>") == Token("<|tool call|>", 9)
    assert root("</s>* <[0]>") == Sequence((Repeat(Token("</s>", 9), 0, None), Token(0, 15)))


def test_another_start() -> None:
    text = 'root ::= "a"\nother ::= root'
    assert read(text, start="other") == Rules("other", {"root": A, "other": Call("root", 23)})


def test_descriptions_are_values() -> None:
    assert gl.Gbnf("root ::= x") == gl.Gbnf("root ::= x")
    assert gl.Gbnf("root ::= x") != gl.Gbnf("root ::= x", start="x")
    assert gl.Gbnf("root ::= x") != gl.Ebnf("root ::= x")
    assert hash(gl.Gbnf("root ::= x")) == hash(gl.Gbnf("root ::= x"))
    with pytest.raises(TypeError, match=r"^Gbnf\(\) takes a grammar and the name of a rule as str, not bytes$"):
        gl.Gbnf(b"root ::= x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"not int$"):
        gl.Gbnf("", start=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        gl.Gbnf("root ::= x", "root")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'root ::= "a" item\n',
            "there is no rule 'item', at line 1, column 14 of the GBNF text:\nroot ::= \"a\" item\n             ^",
        ),
        (
            'a ::= "x"\nb ::= a',
            "there is no rule 'root', where texts start (rules: a, b), at line 1, column 1 of the GBNF text:\n"
            'a ::= "x"\n'
            "^",
        ),
        (
            'root ::= "a"\n  | "b"',
            "the rule ended with its line; it goes on after a '|' at a line's end, or in brackets, "
            "at line 2, column 3 of the GBNF text:\n"
            '  | "b"\n'
            "  ^",
        ),
        (
            "root ::= [0-9] [z-a]",
            "bad range z-a: its ends are the wrong way round, at line 1, column 17 of the GBNF text:\n"
            "root ::= [0-9] [z-a]\n"
            "                ^",
        ),
        (
            'root ::= "a"{3,1}',
            "{3,1} repeats at least 3 and at most 1 times, at line 1, column 13 of the GBNF text:\n"
            'root ::= "a"{3,1}\n'
            "            ^",
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
        ('root ::= "abc', 9, "this string is not closed: '\"' is missing"),
        ('root ::= "abc\\"', 9, "this string is not closed"),
        ('root ::= "abc\\', 9, "this string is not closed"),
        ("root ::= [abc", 9, "this character class is not closed: ']' is missing"),
        ("root ::= [abc\\]", 9, "this character class is not closed"),
        ('root ::= ("a" ("b")', 9, "'(' is not closed: ')' is missing"),
        ('root ::= ("a"\nb ::= "b"', 9, "'(' is not closed"),
        ('root ::= "a")', 12, "')' without a '('"),
        ("root ::= []", 9, "this character class is empty"),
        ("root ::= [^]", 9, "this character class is empty"),
        ("root ::= *", 9, "nothing to repeat before '*'"),
        ('root ::= "a" | +', 15, "nothing to repeat before '+'"),
        ('root ::= ({2} "a")', 10, "nothing to repeat before '{'"),
        ('root ::= "a"{,3}', 12, "'{' begins a repeat: {3}, {3,} or {3,5}"),
        ('root ::= "a"{}', 12, "'{' begins a repeat"),
        ('root ::= "a"{2', 12, "'{' begins a repeat"),
        ('root ::= "a"{-1}', 12, "'{' begins a repeat"),
        ('root ::= "a"{2,-1}', 12, "a repeat up to -1 times"),
        ('root ::= "a"{1234567890123456}', 12, "this count has more than 15 digits"),
        ("root ::= <[12345678901]>", 9, "no token has the id 12345678901"),
        ("root ::= <[1234567890123456]>", 9, "this token's id has more than 15 digits"),
        ("root ::= <[12>", 9, "'<[' begins a token by its id"),
        ("root ::= <[]>", 9, "'<[' begins a token by its id"),
        ("root ::= <[INST]>", 9, "'<[' begins a token by its id"),
        ("root ::= <[²]>", 9, "'<[' begins a token by its id"),
        ("root ::= <think", 9, "there is no '>'"),
        ("root ::= !x", 9, "unexpected '!'"),
        (r'root ::= "ab\q"', 12, r"unknown escape \q; there are \n \r \t"),
        (r'root ::= "\x4"', 10, r"incomplete escape: \x takes 2 hexadecimal digits"),
        (r'root ::= "\u12"', 10, r"incomplete escape: \u takes 4 hexadecimal digits"),
        (r"root ::= [a\U0000004]", 11, r"incomplete escape: \U takes 8 hexadecimal digits"),
        (r'root ::= "\U00110000"', 10, r"\U00110000 is no character: the last one is U+10FFFF"),
        (r'root ::= "\ud83d\ude00"', 9, "U+D83D is half of a surrogate pair"),
        ('root ::= "\ud83d"', 9, "U+D83D is half of a surrogate pair"),
        (r"root ::= [a-\x20]", 10, r"bad range a-\x20"),
        ("root ::= [a--]", 10, "bad range a--"),
        ("root ::= 'a'", 9, 'unexpected "\'"'),
        ("root ::= a::b", 10, "unexpected ':'"),
        ('root ::= "a"\0', 12, r"unexpected '\x00'"),
        ('"a"', 0, "a rule is expected here: its name, then ::="),
        ("root", 0, "a rule is expected here"),
        ("root = x", 0, "a rule is expected here"),
        ("root\n::= x", 0, "a rule is expected here"),
        ('root ::= "a"\n"b"', 13, "a rule is expected here"),
        ('root ::= "a" b ::= "b"', 13, "a rule begins inside the rule 'root'"),
        ('a ::=\nroot ::= "b"', 6, "a rule begins inside the rule 'a'"),
        ('a ::= "b" |\nroot ::= "b"', 12, "a rule begins inside the rule 'a'"),
        ("\ufeffroot ::= ()", 0, "a rule is expected here"),
        ('root ::= "a"\x0c', 12, r"unexpected '\x0c'"),
        ("root ::= x\nroot ::= ()", 9, "there is no rule 'x'"),
    ],
)
def test_errors_say_where(text: str, position: int, words: str) -> None:
    with pytest.raises(gl.GrammarError) as caught:
        read(text)
    check_place(caught.value, "GBNF", text, position, words)


@pytest.mark.parametrize("token", ["!<[1000]>", "!<think>", "!</think>*"])
def test_negated_tokens_are_refused_by_name(token: str) -> None:
    with pytest.raises(
        gl.UnsupportedFeature, match=r"^!<.*> ?\(any token but one\) is not supported, at line 1, column 14"
    ):
        read(f"root ::= <a> {token}")


def test_long_things_do_not_hide_where_the_error_is() -> None:
    with pytest.raises(gl.GrammarError, match=r"column 10 of the GBNF text:\n.*\n *\^$"):
        read("root ::= " + "x" * 10_000)


JSON = r"""
# objects and arrays; what they hold may be anything
root    ::= object | array
value   ::= object | array | string | number | ("true" | "false" | "null") ws
object  ::= "{" ws ( member ("," ws member)* )? "}" ws
member  ::= string ":" ws value
array   ::= "[" ws (
    value
    ("," ws value)*
  )? "]" ws
string  ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number  ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [1-9] [0-9]{0,15})? ws
ws      ::= | " " | "\n" [ \t]{0,20}
"""
ARITHMETIC = r"""
root   ::= (sum "=" ws number "\n")+
sum    ::= product ([-+] ws product)*
product ::= atom ([*/] ws atom)*
atom   ::= name | number | "(" ws sum ")" ws
name   ::= [a-z] [a-z0-9_]* ws
number ::= [0-9]+ ws
ws     ::= [ \t\n]*
"""
LIST = r"""
root ::= entry+
# everything but line ends, also those beyond ASCII
entry ::= "- " [^\r\n\x0b\x0c\x85\u2028\u2029]+ "\n"
"""
CHESS = r"""
root    ::= "1. " move " " move "\n" ([1-9] [0-9]? ". " move " " move "\n")+
move    ::= (pawn | piece | castle) [+#]?
piece   ::= [NBKQR] [a-h]? [1-8]? "x"? square    # the square it leaves, where two could go
pawn    ::= ([a-h] "x")? square ("=" [NBQR])?
castle  ::= "O-O" "-O"?
square  ::= [a-h] [1-8]
"""
JAPANESE = r"""
root     ::= word ([ \t\n] word)*
word     ::= hiragana+ | katakana+ | [、-〾] | [一-鿿]+
hiragana ::= [ぁ-ゟ]
katakana ::= [ァ-ヿ]
"""


@pytest.mark.parametrize(
    ("grammar", "accepts", "rejects"),
    [
        (
            JSON,
            ["{}", "[1, -2.5e+3]", '{"a": [true, null], "b": {"c": "\\u00e9 \\n 中"}}', '{\n\t"x": 0}\n'],
            ["1", '"a"', "{,}", '{"a"\n\n: 1}', '["\n"]', "[01]", '["\x7f"]', "[1,]", '{"a": 1'],
        ),
        (
            ARITHMETIC,
            ["1=1\n", "1 + 2 * (x_1 - 3) = 4\n\n", "((((a))))=0\nb=1\n"],
            ["1", "1+=2\n", "(1=1\n", "1==1\n", "a=b\n"],
        ),
        (LIST, ["- a\n", "- é 中 \t\n- - -\n"], ["- \n", "- a", "a\n", "- a\u2028b\n", "- a\x85\n", ""]),
        (
            CHESS,
            ["1. e4 e5\n2. Nf3 Nc6\n", "1. e4 d5\n2. exd5 Qxd5\n13. O-O-O+ bxa8=Q#\n"],
            ["1. e4 e5\n", "1. e9 e5\n2. a1 a1\n", "1. e4 e5\n100. a1 a1\n", "1. o-o e5\n2. a1 a1\n"],
        ),
        (JAPANESE, ["ひらがな", "カナ 漢字\n、"], ["", "kana", "ひカ", "ひ  ら"]),
    ],
    ids=["json", "arithmetic", "list", "chess", "japanese"],
)
def test_grammars_in_the_manner_of_llama_cpp(grammar: str, accepts: list[str], rejects: list[str]) -> None:
    oracle = CfgOracle(read(grammar))
    assert [text for text in accepts if not oracle.is_complete(text.encode())] == []
    assert [text for text in rejects if oracle.is_complete(text.encode())] == []


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_read_under_the_clock(name: str) -> None:
    check_clock(gl.Gbnf(HOSTILE[name]), name)


@pytest.mark.parametrize(
    "unit",
    ["(", '"', '"\\', "[", "[^", "{", "{1", "<", "!<", "#", "::=", "a::=", "|", "\\", "*", "\r", "x ", "a ::= #", "]"],
)
def test_nothing_is_scanned_again_and_again(unit: str) -> None:
    """A reader that looks for an end from every place where one might be missing takes minutes for each of these."""
    text = 'root ::= "a" ' + unit * 200_000
    with contextlib.suppress(gl.GrammarError):
        read(text)
