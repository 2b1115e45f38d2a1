"""Languages, lengths and string shapes, against all short strings over a small alphabet."""

import itertools
import random
from decimal import Decimal

import pytest

from grammarlm.errors import GrammarError, UnsupportedFeature
from grammarlm.grammars.json_schema.shapes.shapes import EVERY_STRING, StringShape
from grammarlm.grammars.json_schema.strings import strings
from grammarlm.grammars.json_schema.strings.automaton import Explored
from grammarlm.grammars.json_schema.strings.languages import Languages
from grammarlm.grammars.json_schema.strings.lengths import added, interval

ALPHABET = "ab🐲"
LONGEST = 6
TEXTS = ["".join(t) for n in range(LONGEST + 1) for t in itertools.product(ALPHABET, repeat=n)]
ONLY = ("pattern", f"^[{ALPHABET}]*$", True)  # keeps a language to strings that are listed here

PATTERNS = [
    "^a*$",
    "^(ab)*$",
    "^(ab|🐲{3})*$",
    "^a{2,4}$",
    "^(aa){1,2}$",
    "^(a|bbb)$",
    "b",
    "^(?!a)",
    "^(?=.*b).{2}$",
    "🐲$",
    r"^a\b",
    "^(aab?){2}",
    "^[ab]{0,3}🐲?$",
    "^(a{3}|b{2}){2,}$",
    "^$",
    "a$b",
]


def random_language(rng):
    parts = {ONLY}
    for _ in range(rng.randrange(1, 4)):
        if rng.random() < 0.2:
            parts.add(("words", tuple(rng.sample(TEXTS[:60], rng.randrange(1, 8))), rng.random() < 0.4))
        else:
            parts.add(("pattern", rng.choice(PATTERNS), rng.random() < 0.6))
    return frozenset(parts)


def members(language, languages):
    """By each part alone: the parts are tested elsewhere."""
    return [t for t in TEXTS if all(languages.has(frozenset({part}), t) for part in language)]


@pytest.mark.parametrize("seed", range(60))
def test_language_against_all_short_strings(seed):
    rng = random.Random(seed)
    languages = Languages()
    language = random_language(rng)
    expected = members(language, languages)
    assert [t for t in TEXTS if languages.has(language, t)] == expected
    assert languages.is_empty(language) <= (not expected)
    lengths = languages.lengths_from(languages.term(language), LONGEST)
    assert {n for n in range(LONGEST + 1) if lengths >> n & 1} == {len(t) for t in expected}
    assert languages.is_empty(language) == (lengths == 0)
    for low in range(LONGEST + 1):
        for high in range(low, LONGEST + 1):
            inside = [t for t in expected if low <= len(t) <= high]
            assert languages.fits(language, low, high) == bool(inside)
            assert languages.count(language, low, high, 50) == min(len(inside), 50)
    if not lengths >> LONGEST + 1:
        assert languages.count(language, 0, None, 10_000) == len(expected)


@pytest.mark.parametrize("seed", range(40))
def test_lengths_of_the_term_are_those_of_its_states(seed):
    """What is put together from the parts of a term is what an exploration of its automaton finds, for each of its states."""
    rng = random.Random(seed)
    languages = Languages()
    pattern = rng.choice([p for p in PATTERNS if "\\b" not in p])
    explored = Explored(languages.algebra, languages.term(frozenset({("pattern", pattern, True)})), 10_000)
    for most in (0, 1, 5, 40):
        for term in explored.terms:
            assert languages.lengths_from(term, most) == explored.lengths(term, most), (pattern, most)


def nested(rng, depth):
    """A pattern of repeats in repeats, bounded and unbounded."""
    if not depth:
        return rng.choice(["a", "b", "[ab]", "ab", "é"])
    inner = "".join(nested(rng, depth - 1) for _ in range(rng.randrange(1, 3)))
    alternative = f"|{nested(rng, depth - 1)}" if rng.random() < 0.3 else ""
    return f"({inner}{alternative}){rng.choice(['', '?', '*', '+', '{2}', '{2,}', '{0,2}', '{1,3}'])}"


@pytest.mark.parametrize("seed", range(150))
def test_lengths_of_repeats_in_repeats(seed):
    """`(a+b)?` has no word of one character: none or some turns of a body without a greatest length leave a gap."""
    languages, pattern = Languages(), f"^{nested(random.Random(f'repeats {seed}'), 3)}$"
    explored = Explored(languages.algebra, languages.term(frozenset({("pattern", pattern, True)})), 10_000)
    for most in (0, 1, 4, 20):
        for term in explored.terms:
            assert languages.lengths_from(term, most) == explored.lengths(term, most), (pattern, most)


def test_lengths_beyond():
    languages = Languages()
    even = frozenset({("pattern", "^(ab)*$", True)})
    assert languages.lengths_from(languages.term(even), 5) == 0b1010101
    assert languages.lengths_from(languages.term(even), 6) == 0b11010101
    assert languages.fits(even, 1_000_000, None)
    assert not languages.fits(even, 5, 5)
    assert languages.fits(frozenset({("pattern", "^[a-z]{2,9}$", True)}), 9, 1_000_000)
    assert languages.fits(frozenset({("pattern", "^.{0,1000000}$", True)}), 999_999, 1_000_000)
    assert not languages.fits(frozenset({("pattern", "^.{0,1000000}$", True)}), 1_000_001, None)
    with pytest.raises(UnsupportedFeature, match="4096"):
        languages.fits(even, 10_001, 10_001)


def test_sets_of_lengths():
    assert interval(2, 4, 9) == 0b11100
    assert interval(2, float("inf"), 3) == 0b11100
    assert interval(7, 9, 3) == 1 << 4
    assert interval(3, 2, 9) == 0
    assert added(0b101, 0b1000, 9) == 0b101000
    assert added(0b101, 0b1000, 4) == 0b101000
    assert added(0b10001, 0b10001, 3) == 0b10001


def test_too_many_states():
    languages = Languages()
    # The k-th character from the end, of two kinds: 2 ** k states each.
    language = frozenset({("pattern", "a.{16}$", True), ("pattern", "b.{15}$", False), ("pattern", "^(?!.*c)", True)})
    with pytest.raises(UnsupportedFeature, match="10000 states"):
        languages.lengths_from(languages.term(language), 3)


def test_shares_of_an_empty_intersection():
    languages = Languages()
    assert languages.is_empty(frozenset({("pattern", "^[a-z]+$", True), ("pattern", "^[0-9]+$", True)}))
    assert languages.is_empty(frozenset({("pattern", "^a", True), ("pattern", "^a", False)}))
    assert not languages.is_empty(frozenset({("pattern", "^a", False)}))
    assert languages.is_empty(frozenset({("pattern", "", False)}))
    assert languages.is_empty(frozenset({("words", ("x", "y"), True), ("words", ("x", "y", "z"), False)}))
    assert not languages.is_empty(EVERY_STRING)
    assert languages.is_empty(frozenset({("format", "date", True), ("pattern", "^....-02-30", True)}))


def test_half_a_surrogate_pair_is_no_string():
    languages = Languages()
    assert languages.is_empty(frozenset({("words", ("\ud800",), True)}))
    assert not languages.has(frozenset({("words", ("a",), False)}), "\ud800")


def test_read():
    assert strings.read({"type": "string"}) == StringShape()
    assert strings.read({"minLength": 2.0, "maxLength": Decimal(5)}) == StringShape(2, 5)
    pattern = ("pattern", "a", True)
    assert strings.read({"pattern": "a", "format": "date"}).language == {pattern, ("format", "date", True)}
    assert strings.read({"pattern": "a", "format": "date"}, "annotation").language == {pattern}
    assert strings.read({"format": "unheard-of"}) == StringShape()


@pytest.mark.parametrize(
    "schema",
    [{"minLength": -1}, {"maxLength": "5"}, {"minLength": True}, {"maxLength": 1.5}, {"pattern": 1}, {"format": None}],
)
def test_read_refuses(schema):
    with pytest.raises(GrammarError, match=next(iter(schema))):
        strings.read(schema)


def test_a_hostname_is_at_most_253_long():
    languages = Languages()
    shape = strings.read({"format": "hostname"})
    assert shape.maximum == 253
    for text in ("a.b", ".".join(["a" * 62] * 4) + ".a", ".".join(["a" * 62] * 4) + ".ab", "a_b", "xn--a"):
        expected = languages.has(frozenset({("format", "hostname", True)}), text)
        assert strings.has(shape, text, languages) == expected
        assert any(strings.has(s, text, languages) for s in strings.opposites(shape)) != expected


def random_shape(rng):
    if rng.random() < 0.2:
        return StringShape(values=tuple(rng.sample(TEXTS[:60], rng.randrange(6))))
    minimum = rng.choice([0, 0, 1, 3])
    maximum = rng.choice([None, 2, 5])
    return StringShape(minimum, maximum, random_language(rng) if rng.random() < 0.7 else frozenset({ONLY}))


def count(shape: StringShape, most: int, languages: Languages) -> int:
    if shape.values is not None:
        return min(len(set(shape.values)), most)
    return languages.count(shape.language, shape.minimum, shape.maximum, most)


@pytest.mark.parametrize("seed", range(60))
def test_shapes_against_all_short_strings(seed):
    rng = random.Random(seed)
    languages = Languages()
    a, b = random_shape(rng), random_shape(rng)
    in_a = {t for t in TEXTS if strings.has(a, t, languages)}
    in_b = {t for t in TEXTS if strings.has(b, t, languages)}
    both = strings.both(a, b, languages)
    for meet in (both, strings.settled(both, languages)):
        assert {t for t in TEXTS if strings.has(meet, t, languages)} == in_a & in_b
        assert strings.is_empty(meet, languages) <= (not in_a & in_b)
        if meet.maximum is not None or meet.values is not None:
            assert strings.is_empty(meet, languages) == (not in_a & in_b)
            assert count(meet, 40, languages) == min(len(in_a & in_b), 40)
    others = set()
    for shape in strings.opposites(a):
        others |= {t for t in TEXTS if strings.has(shape, t, languages)}
    assert others == set(TEXTS) - in_a


def test_settled_drops_bounds_that_hold_anyway():
    languages = Languages()

    def bounds(**schema):
        shape = strings.settled(strings.read(schema), languages)
        return shape.minimum, shape.maximum

    assert bounds(format="date", minLength=1, maxLength=10) == (0, None)
    assert bounds(format="date", minLength=11) == (11, None)
    assert bounds(pattern="^a{2,5}$", minLength=3, maxLength=5) == (3, None)
    assert bounds(pattern="^a{2,5}$", minLength=2, maxLength=4) == (0, 4)
    assert bounds(pattern="^(?!b)a{2,5}$", minLength=2, maxLength=5) == (0, None)
    assert bounds(pattern="^(?!b)", minLength=1, maxLength=5) == (1, 5)
    assert bounds(minLength=1) == (1, None)


def test_any_string():
    languages = Languages()
    assert count(StringShape(), 100, languages) == 100
    assert count(StringShape(maximum=0), 100, languages) == 1
    assert count(StringShape(maximum=1), 10**9, languages) == 1 + 0x110000 - 0x800
    assert strings.opposites(StringShape()) == []
    assert not strings.is_empty(StringShape(10**6, 10**6), languages)
    assert strings.is_empty(StringShape(3, 2), languages)
