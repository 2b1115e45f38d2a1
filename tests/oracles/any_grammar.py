"""Which texts a grammar has, whatever its kind: each part is read by what shares no code with the machines.

Patterns by Python's re, Lark by stock lark, rules by Earley's recogniser, schemas by jsonschema, parts in a row by trying every way
of cutting a text. `begins_of` says which beginnings may be some text's: of one that is it says yes, of some others, too.
"""

import functools
import json
import operator
import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from grammarlm.grammars.choices import Choices
from grammarlm.grammars.compose import Choice, Difference, Grammar, Intersection, Literal, Sequence
from grammarlm.grammars.ebnf.reader import RuleText
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.lark.grammar import Lark
from grammarlm.grammars.regular.regex import Regex
from grammarlm.grammars.text import Text
from tests.oracles.automata import Automaton, Texts
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.json_filled import filled
from tests.oracles.json_schema_oracle import Judge
from tests.oracles.json_spellings import is_spelled
from tests.oracles.lark_oracle import LarkOracle
from tests.oracles.regex_oracle import Oracle, python_flags

MOST_KEPT = 1 << 18  # answers of a part
Accepts = Callable[[bytes], bool]


@lru_cache(64)
def accepts_of(grammar: Grammar) -> Accepts:
    """Is this a text of the grammar?"""
    if isinstance(grammar, (Sequence, Choice, Intersection, Difference)):
        parts = [accepts_of(part) for part in grammar.parts]
        if isinstance(grammar, Sequence):
            return lru_cache(MOST_KEPT)(lambda data: len(data) in _ends(parts, data))
        if isinstance(grammar, Choice):
            return lambda data: any(part(data) for part in parts)
        if isinstance(grammar, Intersection):
            return lambda data: all(part(data) for part in parts)
        return lambda data: parts[0](data) and not any(part(data) for part in parts[1:])
    return lru_cache(MOST_KEPT)(_of_one(grammar))


def _ends(parts: list[Accepts], data: bytes) -> set[int]:
    """Where texts of all these parts may end that begin with the data."""
    ends = {0}
    for part in parts:
        ends = {end for begin in ends for end in range(begin, len(data) + 1) if part(data[begin:end])}
    return ends


def _of_one(grammar: Grammar) -> Accepts:
    if isinstance(grammar, JsonSchema):
        return _of_schema(grammar)
    if isinstance(grammar, RuleText):
        return CfgOracle(grammar.rules(lambda: None)).is_complete
    if isinstance(grammar, Regex) and isinstance(grammar.pattern, bytes):
        by_bytes = re.compile(grammar.pattern)
        return lambda data: by_bytes.fullmatch(data) is not None
    return _in_characters(_of_text(grammar))


def _in_characters(accepts: Callable[[str], bool]) -> Accepts:
    def of_bytes(data: bytes) -> bool:
        try:
            return accepts(data.decode())
        except UnicodeDecodeError:
            return False

    return of_bytes


def _of_text(grammar: Any) -> Callable[[str], bool]:
    if isinstance(grammar, Regex):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            compiled = re.compile(grammar.pattern, python_flags(grammar.pattern))
        return lambda text: compiled.fullmatch(text) is not None
    if isinstance(grammar, Lark):
        return LarkOracle(grammar.text, grammar.start).accepts
    if isinstance(grammar, Text):
        return lambda text: grammar.until is None or text.find(grammar.until) == len(text) - len(grammar.until) >= 0
    if isinstance(grammar, Choices):
        return grammar.strings.__contains__
    if isinstance(grammar, Literal):
        return grammar.text.__eq__
    raise NotImplementedError(f"no oracle reads {grammar!r}")


def _of_schema(grammar: JsonSchema) -> Accepts:
    written = grammar.saved()[0]
    if grammar.spelling == "plain" and grammar.whitespace in ("compact", "any"):
        return filled(json.loads(written), grammar.whitespace, grammar.property_order)
    schema = json.loads(written, parse_float=Fraction)
    judge = Judge(schema, grammar.draft, formats=grammar.formats, registry=grammar.registry)
    options = {"whitespace": grammar.whitespace or "flexible", "spelling": grammar.spelling or "any"}
    return _in_characters(lambda text: judge.valid(text) and is_spelled(text, **options))


def automaton_of(grammar: Any) -> Automaton:
    """A reader of the bytes of a regular grammar."""
    if isinstance(grammar, Regex):
        return Oracle(grammar.pattern)
    if isinstance(grammar, (Choices, Literal)):
        strings = grammar.strings if isinstance(grammar, Choices) else [grammar.text]
        return Texts(text.encode() for text in strings)
    signs = {Sequence: operator.add, Choice: operator.or_, Intersection: operator.and_, Difference: operator.sub}
    return functools.reduce(signs[type(grammar)], map(automaton_of, grammar.parts))


def begins_of(grammar: Grammar) -> Accepts:
    """May a text of the grammar begin so?"""
    if isinstance(grammar, Sequence):
        parts, begins = [accepts_of(part) for part in grammar.parts], [begins_of(part) for part in grammar.parts]

        def begin_a_row(data: bytes) -> bool:
            ends = {0}
            for part, begin in zip(parts, begins, strict=True):
                if any(begin(data[at:]) for at in ends):
                    return True
                ends = {end for at in ends for end in range(at, len(data) + 1) if part(data[at:end])}
            return False

        return lru_cache(MOST_KEPT)(begin_a_row)
    if isinstance(grammar, (Choice, Intersection, Difference)):
        begins = [begins_of(part) for part in grammar.parts]
        if isinstance(grammar, Difference):
            return begins[0]
        join = any if isinstance(grammar, Choice) else all
        return lambda data: join(begin(data) for begin in begins)
    if isinstance(grammar, RuleText):
        return CfgOracle(grammar.rules(lambda: None)).is_viable
    if isinstance(grammar, Lark):
        superset = LarkOracle(grammar.text, grammar.start).superset
        return (lambda data: True) if superset is None else superset.is_viable
    if isinstance(grammar, (Regex, Choices, Literal)):
        oracle = automaton_of(grammar)
        return lambda data: oracle.completable_bytes(oracle.read(oracle.start, data))
    return lambda data: True
