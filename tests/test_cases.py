"""Each case of tests/cases through every engine, and through an oracle that shares no code with them."""

import json
import re
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction

import lark
import pytest

import grammarlm as gl
from grammarlm.integrations.serving.options import on_the_wire, read_options
from tests.cases import VERDICTS, Case, cases
from tests.cases.engines import ENGINES, subject
from tests.laws.vocabularies import every_byte
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.json_schema_oracle import Judge
from tests.oracles.regex_oracle import Oracle, python_flags

READ = [case for case in cases() if not case.error]
BROKEN = [case for case in cases() if case.error]


def ids(some: list[Case]) -> list[str]:
    return [f"{case.notation}: {case.name}" for case in some]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", READ, ids=ids(READ))
def test_engines(engine: str, case: Case) -> None:
    one = subject(case)
    if engine in case.refuses:
        with pytest.raises((gl.UnsupportedFeature, gl.LimitExceeded), match="canvas"):
            ENGINES[engine](one)
        return
    ENGINES[engine](one)


@pytest.mark.parametrize("case", BROKEN, ids=ids(BROKEN))
def test_what_is_refused_says_why(case: Case) -> None:
    kind = getattr(gl, case.error)
    with pytest.raises(kind, match=re.escape(case.says)) as caught:
        gl.compile(case.made(), every_byte().vocabulary())
    assert type(caught.value) is kind
    assert len(str(caught.value)) <= 500


ASKED = [
    case
    for case in READ
    if case.notation not in ("compositions", "items")
    and not (case.notation in ("gbnf", "ebnf") and "start" in case.options)  # an option of Lark for servers
]


@pytest.mark.parametrize("case", ASKED, ids=ids(ASKED))
def test_a_server_is_asked_for_the_same(case: Case) -> None:
    """A request names the grammar in words of its own: what comes of them is the case's."""
    if case.notation == "json_schema":
        asked = {"schema": case.grammar, **json.loads(case.options)}
    elif case.notation in ("regex", "choices"):
        asked = {case.notation: list(case.grammar) if case.notation == "choices" else case.grammar}
    else:
        asked = {"grammar": case.grammar, "notation": case.notation, **json.loads(case.options)}
    made = case.made()
    expected = made.as_generated() if case.notation == "json_schema" else made
    assert read_options(asked).grammar == expected
    wire = on_the_wire(asked)
    assert read_options(json.dumps(wire)).grammar == expected  # through another process
    assert on_the_wire(wire) == wire


# ---------------------------------------------------------------------- oracles


def stock_lark(case: Case) -> Callable[[str], bool]:
    options = json.loads(case.options)
    try:
        parser = lark.Lark(case.grammar, parser="lalr", **options)
    except lark.exceptions.GrammarError:
        parser = lark.Lark(case.grammar, parser="earley", lexer="dynamic", **options)

    def accepts(text: str) -> bool:
        try:
            parser.parse(text)
        except lark.exceptions.LarkError:
            return False
        return True

    return accepts


def matches(pattern: str) -> Callable[[str], bool]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        compiled = re.compile(pattern, python_flags(pattern))
    return lambda text: compiled.fullmatch(text) is not None


def oracles(case: Case) -> Iterator[Callable[[str], bool]]:
    """Each says whether a text is one of the language."""
    if case.same or case.notation == "regex":
        yield matches(case.same or str(case.grammar))
        return
    if case.notation == "choices":
        yield case.grammar.__contains__
    elif case.notation == "lark":
        yield stock_lark(case)
    elif case.notation in ("gbnf", "ebnf"):
        derivations = CfgOracle(case.made().rules(lambda: None))
        yield lambda text: derivations.is_complete(text.encode())
    elif case.notation == "json_schema":
        assert isinstance(case.grammar, str)
        options = json.loads(case.options)
        said = {name: options[name] for name in ("draft", "formats", "registry") if name in options}
        yield Judge(json.loads(str(case.grammar), parse_float=Fraction), **said).valid


def judged(case: Case) -> tuple[str, ...]:
    """What an oracle says something of: options that leave out valid texts are not jsonschema's."""
    options = json.loads(case.options)
    narrows = "whitespace" in options or options.get("property_order") == "schema"
    return ("accepted",) if narrows else VERDICTS


@pytest.mark.parametrize("case", READ, ids=ids(READ))
def test_the_case_is_right(case: Case) -> None:
    for accepts in oracles(case):
        for verdict in judged(case):
            for text in getattr(case, verdict):
                assert accepts(text) is (verdict == "accepted"), (verdict, text)
    for text in case.unfinished:
        assert any(other.startswith(text) and other != text for other in case.accepted), f"nothing begins with {text!r}"
    assert not set(case.accepted) & set(case.unfinished)


BEYOND = {
    "a count beyond llama.cpp's bound",
    "an empty look-behind",
}  # too large, or unknown, for the oracle of patterns
BEGUN = [case for case in READ if (case.same or case.notation in ("regex", "gbnf", "ebnf")) and case.name not in BEYOND]


@pytest.mark.parametrize("case", BEGUN, ids=ids(BEGUN))
def test_nothing_begins_as_what_is_refused(case: Case) -> None:
    if not case.same and case.notation != "regex":
        derivations = CfgOracle(case.made().rules(lambda: None))
        assert not [text for text in case.refused if derivations.is_viable(text.encode())]
        return
    oracle = Oracle(case.same or str(case.grammar), most_states=10_000)
    for data in case.texts("refused"):
        assert not oracle.completable_bytes(oracle.read(oracle.start, data)), data


def test_the_corpus() -> None:
    """Names are unique; each case has texts on both sides, or an error, and a sentence on why it is here."""
    assert len({(case.notation, case.name) for case in cases()}) == len(cases()) >= 120
    for case in cases():
        assert case.why.endswith("."), case.name
        assert bool(case.error) is not bool(case.accepted and case.refused), case.name
        assert bool(case.error) is bool(case.says), case.name
        assert set(case.refuses) <= set(ENGINES), case.name
