"""Ebnf beside xgrammar's own parser: what it takes, what it refuses, and the languages of random grammars and patterns."""

import itertools
import random
import re

import pytest

import grammarlm as gl
from tests.oracles.cfg_oracle import CfgOracle

xgrammar = pytest.importorskip("xgrammar")
testing = pytest.importorskip("xgrammar.testing")

# What xgrammar takes and we refuse by name, or as an error: no characters, and macros and options that we do not have.
REFUSED = [
    r'root ::= "\ud83d\ude00"',
    r'root ::= "\U00110000"',
    r"root ::= [\U00110000]",
    r'root ::= Regex("a\\bb")',
    'root ::= Regex("(?=a)a")',
    'root ::= Regex("a++")',
    'root ::= Regex("a^b")',
    'root[lazy] ::= "a"',
    'root[capture="x", max_tokens=3] ::= "a"',
    "root ::= ExcludeToken(1)",
    'root ::= Substring("a", "b")',
    'root ::= TagDispatch(("a", x))\nx ::= "b"',
    'root ::= TokenTagDispatch((1, x))\nx ::= "b"',
]
TEXTS = [
    'root ::= ""*',
    'root ::= "a"*+',
    'root ::= "a"* # c\n +',
    "root ::= []",
    "root ::= [^]",
    'root ::= "a" | ',
    'root ::= | "a"',
    "root ::= ",
    'root ::= ("a" | )',
    'root ::= "a" ( )',
    "root ::= ( # c\n )",
    'root ::= "a" (= "b")',
    'root ::= "a" (= "b" "c"?) # c',
    'root ::= "a" (= "b") "c"',
    'root ::= "a" (= "b")*',
    'root ::= ("a" (= "b"))',
    'root ::= (= "b")',
    'root ::= "a" (=)',
    'root ::= a "b"\na ::= "a" | "b" (= "b")',
    r'root ::= "\x41" "\x1F600" "\u0041\U00000041" "\x41g"',
    r'root ::= "\'\"\?\\\a\b\f\n\r\t\v\0\e\/"',
    r'root ::= "\012"',
    r'root ::= "\-"',
    r'root ::= "\]"',
    r'root ::= "\q"',
    r'root ::= "\x"',
    r'root ::= "\u12"',
    r"root ::= [\^\$\\\.\*\+\?\(\)\[\]\{\}\|\/\-]",
    r"root ::= [\x41-\x5A\n\e]",
    r"root ::= [\d]",
    "root ::= [a-]",
    "root ::= [-a]",
    "root ::= [+--]",
    "root ::= [a-b-c]",
    "root ::= [^-a]",
    "root ::= [^^]",
    "root ::= [a^]",
    "root ::= [a---]",
    "root ::= [z-a]",
    "root ::= [a\nb]",
    'root ::= "a"{2}',
    'root ::= "a"{2,}',
    'root ::= "a"{2,3}',
    'root ::= "a" { 2 # c\n , 3 }',
    'root ::= "a"{2,-1}',
    'root ::= "a"{2,-2}',
    'root ::= "a"{0}',
    'root ::= "a"{0,0}',
    'root ::= "a"{,3}',
    'root ::= "a"{3,1}',
    'root ::= "a"{}',
    'root ::= "a"{1 0}',
    'root ::= "a"{1000000000000000000}',
    'root ::= "a" a.b-c_d\na.b-c_d ::= "x"',
    'root ::= .\n. ::= "x"',
    'root ::= -1\n-1 ::= "x"',
    'root ::= 1\n1 ::= "x"',
    "root ::= .",
    'root ::= true\ntrue ::= "x"',
    'root ::= Token\nToken ::= "x"',
    "root ::= Token(1, 2)",
    "root ::= Token ( 1 # c\n )*",
    "root ::= Token()",
    "root ::= Token(-1)",
    'root ::= Token("a")',
    "root ::= Token(1,)",
    'root ::= Tokens\nTokens ::= "x"',
    'root ::= Regex("[0-9]+") "a"',
    'root ::= Regex ( "a" , flags = "i" )',
    'root ::= Regex("a", flags="x")',
    'root ::= Regex("a", "b")',
    "root ::= Regex(a)",
    'root ::= Regex("a", json_string=true)',
    'root ::= Regex("a", json_string = false, flags="i")',
    'root ::= Regex("a", json_string=maybe)',
    'root ::= Regex("(?i)a")',
    'root ::= Regex("(?<n>a)(?P<n>b)(?<1>c)")',
    "root ::= Regex()",
    'root ::= "a"\nroot ::= "b"',
    'root ::= "a" b ::= "c"',
    'root ::= b\n\t b ::= "c"',
    'root ::= b\rb ::= "c"',
    'root\n# c\n::= "a"',
    'root ::= "a"\n"b"\n| "c"',
    'root::="a"',
    'root ::= "a" // x',
    "root ::= /a/",
    "root ::= 'a'",
    "root ::= <a>",
    'root ::= "a\nb"',
    'root ::= "a',
    "root ::= [a",
    'root ::= ("a"',
    'root ::= "a")',
    'root ::= a\nb ::= "x"',
    'a ::= "x"',
    '"a"',
    "root",
    "",
    "# only a comment",
    '\x0croot ::= "a"',
    'root ::= "é中😀" [é-ü]',
    'root ::= "a" ::= "b"',
    'root : "a"',
    'root[a] ::= "a"',
]


def ours(text: str) -> bool:
    try:
        gl.Ebnf(text).rules(lambda: None)
    except gl.GrammarError:
        return False
    return True


def theirs(text: str) -> bool:
    try:
        xgrammar.Grammar.from_ebnf(text)
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_a_grammar(text: str) -> None:
    assert ours(text) == theirs(text)


@pytest.mark.parametrize("text", REFUSED)
def test_what_only_xgrammar_takes(text: str) -> None:
    assert theirs(text)
    assert not ours(text)


def test_what_only_we_take() -> None:
    """Alternatives in a hint, and brackets in brackets without end."""
    for text in ('root ::= "a" (= "b" | "c")', "root ::= " + "(" * 1001 + '"a"' + ")" * 1001):
        assert ours(text)
        assert not theirs(text)


def random_grammar(rng: random.Random) -> str:
    """Rules a, b and root over the letters x, y and é, with all that the notation has but tokens."""

    def item(depth: int) -> str:
        kind = rng.randrange(9 if depth else 6)
        if kind == 0:
            return rng.choice(['""', "()", '"x"', '"xy"', '"é"', r'"\x79"', r'"\u00e9"'])
        if kind == 1:
            return rng.choice(["[x]", "[^x]", "[xy]", "[x-z]", "[^]", "[]", "[é-]", r"[\x78\-é]"])
        if kind == 2:
            return rng.choice(["a", "b"])
        if kind == 3:
            return rng.choice(['Regex("x+y?")', 'Regex("[xé]{1,2}")', 'Regex("(x|y)*é")'])
        if kind == 4:
            return rng.choice(['"x" # c\n', '("y")', '(("x"))'])
        if kind == 5:
            return rng.choice(['"x"', '"y"', '"é"'])
        return f"({alternatives(depth - 1)})" if kind < 8 else f"( {alternatives(depth - 1)}\n)"

    def repeated(depth: int) -> str:
        return item(depth) + rng.choice([""] * 8 + ["*", "+", "?", "{2}", "{1,2}", "{2,}", "{0}", " *"])

    def alternatives(depth: int) -> str:
        parts = [" ".join(repeated(depth) for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(1, 3))]
        return rng.choice([" | ", "|", "\n | "]).join(parts)

    hint = rng.choice(["", "", ' (= "x" b?)'])
    return f"root ::= {alternatives(2)}\na ::= {alternatives(1)}{hint}\nb ::= {alternatives(1)}\n"


PROBES = ["".join(letters) for n in range(5) for letters in itertools.product("xyé", repeat=n)] + ["-", "z", "\n", "x-"]


@pytest.mark.parametrize("seed", range(60))
def test_languages_of_random_grammars(seed: int) -> None:
    text = random_grammar(random.Random(seed))
    oracle = CfgOracle(gl.Ebnf(text).rules(lambda: None))
    grammar = xgrammar.Grammar.from_ebnf(text)
    different = [
        probe
        for probe in PROBES
        if oracle.is_complete(probe.encode()) != testing._is_grammar_accept_string(grammar, probe)
    ]
    assert not different, text


def random_pattern(rng: random.Random) -> str:
    """What Regex() lets pass, as it stands in a literal."""
    atoms = [
        *"akK.1é\n _",
        r"\\d",
        r"\\W",
        r"\\s",
        r"\\.",
        r"\\x6b",
        "[a-k]",
        "[^k]",
        r"[\\w.]",
        r"[^\\da]",
        "(a|K)",
        "(?:k1)",
        "()",
    ]
    atoms += [
        r"\\u{6b}",
        r"[\\u{61}-\\u{00006b}]".replace("0000", "00"),
        r"\\e",
        r"\\cA",
        r"[\\b\\e]",
        "(?<n>a|1)",
        "(?P<n>K)",
        "(?<1>)",
        "}",
    ]
    repeats = [""] * 6 + ["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "{1,2}?"]
    parts = [
        rng.choice(atoms).replace("\n", r"\n") + rng.choice(repeats) + rng.choice([""] * 5 + ["|"])
        for _ in range(rng.randint(1, 4))
    ]
    begin = rng.choice(["", "^", "(?i)", "(?i)^"])
    return begin + "".join(parts) + rng.choice(["", "$"])


# What xgrammar refuses too, or reads as no one else does: a pattern, and a word of what is said about it.
REASONS = {
    r"\\p{L}": "Unicode properties",
    r"a\\bb": "word boundaries",
    r"\\Ba": "word boundaries",
    "(?=a)a": "look-ahead",
    "(?!a)b": "look-ahead",
    "(?<=a)b": "look-behind",
    "(?<!a)b": "look-behind",
    r"(a)\\1": "back-reference",
    r"(?<n>a)\\k<n>": "back-reference",
    "a(?i)b": "at the beginning",
    "(?i:a)": "at the beginning",
    "a^b": "anchor in the middle",
    "a$b": "anchor in the middle",
    "a++": "alike",
}


@pytest.mark.parametrize("pattern", REASONS)
def test_refusals_have_their_reasons(pattern: str) -> None:
    with pytest.raises(gl.UnsupportedFeature, match=re.escape(REASONS[pattern])):
        gl.Ebnf(f'root ::= Regex("{pattern}")').rules(lambda: None)


def test_what_a_string_of_json_has_without_escapes() -> None:
    """Every character of ASCII, and some more, beside xgrammar: in a pattern that takes them all."""
    text = 'root ::= Regex("[^é]", json_string=true)'
    oracle = CfgOracle(gl.Ebnf(text).rules(lambda: None))
    grammar = xgrammar.Grammar.from_ebnf(text)
    for probe in [*map(chr, range(128)), "é", "ü", "😀", "ab", "\\n"]:
        assert oracle.is_complete(probe.encode()) == testing._is_grammar_accept_string(grammar, probe), probe


@pytest.mark.parametrize("seed", range(150))
def test_patterns_mean_the_same(seed: int) -> None:
    """Each way of reading them: xgrammar's, and Python's in the oracle."""
    rng = random.Random(seed)
    flags = rng.choice(["", ', flags=""', ', flags="i"', ', flags="s"', ', flags="siu"'])
    flags += rng.choice(["", "", ", json_string=true", ", json_string=false"])
    text = f'root ::= Regex("{random_pattern(rng)}"{flags})'
    oracle = CfgOracle(gl.Ebnf(text).rules(lambda: None))
    grammar = xgrammar.Grammar.from_ebnf(text)
    probes = ["", *("".join(rng.choices('aAkK.1é\n _\u212a\x1b\x01}"\\', k=rng.randint(1, 5))) for _ in range(60))]
    different = [
        probe
        for probe in probes
        if oracle.is_complete(probe.encode()) != testing._is_grammar_accept_string(grammar, probe)
    ]
    assert not different, text
