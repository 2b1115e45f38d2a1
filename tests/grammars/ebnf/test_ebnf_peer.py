"""Ebnf beside xgrammar's own parser: what it takes, what it refuses, and the languages of random grammars and patterns."""

import itertools
import random
from pathlib import Path

import pytest

import grammarlm as gl
from tests.corpus_files import read_toml
from tests.oracles.cfg_oracle import CfgOracle

xgrammar = pytest.importorskip("xgrammar")
testing = pytest.importorskip("xgrammar.testing")

CORPUS = read_toml(Path(__file__).parents[2] / "corpus" / "notations.toml")["ebnf"]


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


@pytest.mark.parametrize("text", CORPUS["alike"])
def test_what_is_a_grammar(text: str) -> None:
    assert ours(text) == theirs(text)


@pytest.mark.parametrize("text", CORPUS["refused"])
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
