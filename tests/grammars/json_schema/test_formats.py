"""Formats: against the checkers of `jsonschema` on mutated strings, the calendar, the addresses of `ipaddress`, and the suite."""

import ipaddress
import json
import random
import re
import warnings
from datetime import date, timedelta

import pytest

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.strings.formats import CHECKED, FORMATS, KNOWN, format_term
from grammarlm.grammars.json_schema.strings.languages import Languages
from tests.corpus_files import tables
from tests.real_data import SUITE, needs_data

jsonschema = pytest.importorskip("jsonschema")

REFUSED = {"idn-hostname"}
ENFORCED = sorted(FORMATS - REFUSED)
TAKEN = {  # invalid, and in the language: CHECKED says so
    "hostname": lambda text: "xn--" in text.lower()
}
LEFT_OUT = {  # valid, but in no language of ours: CHECKED says so
    "regex": lambda text: "(?<n" in text
}

LANGUAGES = Languages()
NEARLY = tables("json_schema")["nearly"]
BY_HAND = tables("json_schema")["formats"]


def conforms(name, text):
    return LANGUAGES.has(frozenset({("format", name, True)}), text)


def mutated(rng, text, letters):
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(text) + 1)
        cut = rng.randrange(2)
        text = text[:at] + rng.choice(["", *letters]) + text[at + cut :]
    return text


# Checkers that take more than the documents say; of what we accept they must accept all.
LOOSER = {
    "duration": "isoduration takes fractions, signs, dates in place of counts, and P1Y2D",
    "email": "jsonschema takes anything with an @ in it",
    "idn-email": "jsonschema takes anything with an @ in it",
    "uuid": "UUID() leaves out braces, blanks, `urn:` and hyphens before it counts digits",
    "uri-template": "uri_template takes a % without digits, and empty names",
}


def deviates(name, text):
    """Is the checker known to be wrong here?"""
    if text.endswith("\n"):  # `$` in a pattern of a checker holds before a final newline
        return True
    if name in ("date", "time", "date-time"):  # the checkers know no second 60 and no year 0
        return ":60" in text or text.startswith("0000")
    if name == "hostname":  # fqdn takes a final dot, Unicode digits, letters that fold to ASCII, and any Punycode
        return text.endswith(".") or not text.isascii() or "xn--" in text.lower()
    if name in ("uri", "uri-reference", "iri", "iri-reference"):  # 01 as an octet, or no `::1` at all, between brackets
        return "[" in text
    if name == "relative-json-pointer":  # jsonschema takes no digit after a 0, as in 100
        return "0" in text.split("/")[0] or not text.isascii()
    return False


@pytest.mark.parametrize("name", sorted(NEARLY))
def test_agrees_with_the_checker(name):
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    if name not in checker.checkers:
        pytest.skip("its package is not installed")
    rng = random.Random(name)
    letters = sorted(set("".join(NEARLY[name]))) + list("0Zz-:/.~%é৪ \n")
    accepted = 0
    for _ in range(300 if name.startswith("iri") else 2000):  # rfc3987_syntax takes milliseconds
        text = mutated(rng, rng.choice(NEARLY[name]), letters)
        ours, theirs = conforms(name, text), checker.conforms(text, name)
        accepted += ours
        if name in LOOSER:
            assert theirs or not ours, text
        elif not deviates(name, text):
            assert ours == theirs, text
    assert accepted > 100


def test_every_day_of_the_calendar():
    for year in (1, 4, 100, 400, 1582, 1900, 2000, 2023, 2024, 9996, 9999):
        day = date(year, 1, 1)
        days = set()
        while day.year == year:
            days.add(day.isoformat())
            if day == date.max:
                break
            day += timedelta(days=1)
        for month in range(14):
            for number in range(33):
                text = f"{year:04}-{month:02}-{number:02}"
                assert conforms("date", text) == (text in days), text


def test_leap_seconds_are_those_of_utc():
    """The second :60 where UTC has 23:59, by arithmetic."""
    for hour in range(24):
        for minute in range(60):
            for sign in "+-":
                for offset in range(0, 24 * 60, 15):
                    text = f"{hour:02}:{minute:02}:60{sign}{offset // 60:02}:{offset % 60:02}"
                    utc = (hour * 60 + minute + (-offset if sign == "+" else offset)) % (24 * 60)
                    assert conforms("time", text) == (utc == 23 * 60 + 59), text


def test_addresses_are_those_of_ipaddress():
    rng = random.Random(7)
    for _ in range(3000):
        groups = [rng.choice(["0", "1", "ab", "fFff", "", "0001", "12345"]) for _ in range(rng.randrange(2, 10))]
        text = ":".join(groups) + rng.choice(["", "", ":1.2.3.4", "::", ":255.0.0.256"])
        try:
            expected = bool(ipaddress.IPv6Address(text))
        except ValueError:
            expected = False
        assert conforms("ipv6", text) == expected, text


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    conforming, others = BY_HAND[name]
    assert [text for text in conforming if not conforms(name, text)] == []
    assert [text for text in others if conforms(name, text)] == []


def test_what_each_format_checks_is_said() -> None:
    assert set(ENFORCED) == set(CHECKED)
    assert not set(KNOWN) & FORMATS


def test_a_hostname_is_the_domain_of_an_address() -> None:
    """Both are labels of RFC 1123, but an address has no limits of length."""
    rng = random.Random(3)
    for _ in range(2000):
        text = mutated(rng, mutated(rng, rng.choice(["xn--p1ai.com", "a-b.c", "www.x"]), "-.xnX0é_"), "-.")
        assert conforms("hostname", text) == conforms("email", "a@" + text), text


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_by_name(name):
    with pytest.raises(UnsupportedFeature, match=name):
        conforms(name, "")


def test_what_lacks_the_format_regex_is_refused():
    """The complement of a language that is too small would hold expressions."""
    with pytest.raises(UnsupportedFeature, match="opposite of format 'regex'"):
        LANGUAGES.has(frozenset([("format", "regex", False)]), "(")


def test_a_format_and_its_opposite_have_no_string():
    """Decided without a search: the states of `regex` and of what lacks it took ten seconds."""
    assert LANGUAGES.is_empty(frozenset([("format", "regex", True), ("format", "regex", False)]))
    assert LANGUAGES.is_empty(frozenset([("pattern", "a", True), ("pattern", "a", False), ("format", "regex", True)]))


def test_what_is_a_regex_compiles():
    """Python's reader as the oracle, for what it shares with ECMA-262."""
    rng = random.Random(5)
    accepted = 0
    for _ in range(6000):
        text = rng.choice(
            ["(a|b)*[^x]{2,3}", r"\d+\.[a-z-]$", "^(?:x(?=y)|[0-9])?", "[!-z]{10,20}?", r"\x41[\x20-\x7f]"]
        )
        text = mutated(rng, mutated(rng, text, "()[]{}*+?|^$.,-\\:=!019az"), "()[]{}\\-,0")
        if not conforms("regex", text):
            continue
        accepted += 1
        if not any(other in text for other in ("[]", "[^]", "(?<", r"\c")):  # Python has no such, or means others by it
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # of "--" and "[[" in a class, which other syntaxes read as set operations
                re.compile(text)
    assert accepted > 1000


def test_an_automaton_of_a_format_is_made_once():
    term = format_term("date", LANGUAGES.algebra)
    other = Languages()
    assert format_term("date", other.algebra) is term
    assert other.algebra.edges(term) is LANGUAGES.algebra.edges(term)


@needs_data
@pytest.mark.parametrize("draft", ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"])
def test_the_suite(draft):
    compared = 0
    for path in sorted((SUITE / "tests" / draft / "optional" / "format").glob("*.json")):
        for group in json.loads(path.read_text()):
            name = group["schema"].get("format")
            for test in group["tests"]:
                text = test["data"]
                if name not in ENFORCED or not isinstance(text, str):
                    continue
                expected = test["valid"] and not (name in LEFT_OUT and LEFT_OUT[name](text))
                expected = expected or (name in TAKEN and TAKEN[name](text))
                assert conforms(name, text) == expected, (path.name, text)
                compared += 1
    assert compared > 100
