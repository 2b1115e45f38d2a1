"""Which keyword of a schema refuses a text: the one without which the text may go on.

    Rules(schema, reads).broken(b'{"quantity":', ord("0"))          # "/quantity: minimum 1"

What stands in the way of a byte is a state of an automaton, made of all keywords together. So each that speaks of the value at hand
or of those around it is left out in turn, and the schema without it reads the text again. Where one alone does not help, the
fewest that do together are named: each of them refuses it. What counts items and keys comes first: where it refuses, the value is
right by itself. Once a value has begun it is of a type, so types and alternatives as a whole come last.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from grammarlm.errors import GrammarError, LimitExceeded
from grammarlm.grammars.json_schema.read.content import shown
from grammarlm.grammars.json_schema.read.keywords import VOCABULARIES
from grammarlm.grammars.json_schema.read.schema_pointers import at, pointer_of, schema_pointers
from grammarlm.grammars.json_schema.read.standing import Path, standing
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.masks.runtime.limits import Clock, Limits

MOST_TRIED, MOST_KEPT, LONGEST = 48, 64, 60  # keywords; compiled schemas; characters of a keyword's value in a message
# Those that restrict a value by themselves; others (properties, items, allOf, $ref) lead to such.
SCHEMAS = (
    "not",
    "anyOf",
    "oneOf",
    "additionalProperties",
    "unevaluatedProperties",
    "additionalItems",
    "unevaluatedItems",
)
KEYS = ("propertyNames", "contains", "dependentSchemas", "dependencies")
RESTRICTING = {"format", *SCHEMAS, *KEYS, *VOCABULARIES["validation"].split()}
COUNTING = {"maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties"}
KINDS, BETWEEN = ("anyOf", "oneOf", "type"), (b":", b",", b"[", b" ", b"\n", b"\t")
OPTIONS = {"property_order": "any", "whitespace": "any", "spelling": "any", "integers": "any"}  # what refuses the least


class Readable(Protocol):
    def matcher(self) -> Reader: ...


class Reader(Protocol):
    @property
    def is_accepting(self) -> bool: ...

    def advance_bytes(self, data: bytes) -> bool: ...


class Rule(NamedTuple):
    """A keyword of the subschema at a pointer, which speaks of the value at a path."""

    pointer: str
    keyword: str
    path: Path


class Rules:
    """Those of one schema."""

    def __init__(self, grammar: JsonSchema, compiled: Callable[[JsonSchema], Readable], limits: Limits):
        """`compiled`: compiles a grammar, over bytes; a search has as long as one of these."""
        self._grammar, self._compiled, self._limits = grammar, compiled, limits
        self._kept: dict[object, Readable | None] = {}
        self._last: tuple[bytes, dict[int | None, str]] = (b"", {})  # a text, and what was said of it

    @cached_property
    def _document(self) -> Any:
        return self._grammar.document()

    def broken(self, text: bytes, byte: int | None) -> str:
        """The rules that refuse a byte (None: the end) after a text; empty where none is found."""
        if not self._grammar.is_small:
            return ""
        last = self._last
        if last[0] != text:
            last = self._last = text, {}
        if byte not in last[1]:
            try:
                last[1][byte] = self._broken(text, byte)
            except LimitExceeded:
                return ""
        return last[1][byte]

    def _broken(self, text: bytes, byte: int | None) -> str:
        clock, end = Clock(self._limits), b"" if byte is None else bytes([byte])

        def is_allowed(without: tuple[Rule, ...], options: dict[str, str] | None = None) -> bool:
            clock.check()
            readable = self._without(without, options or {})
            try:
                reader = None if readable is None else readable.matcher()
                return (
                    reader is not None
                    and reader.advance_bytes(text + end)
                    and (byte is not None or reader.is_accepting)
                )
            except GrammarError:
                return False

        for name, widest in OPTIONS.items():
            asked = getattr(self._grammar, name)
            if asked not in (None, widest) and is_allowed((), {name: widest}):
                return f"{name}={asked!r}"
        path, keys = standing(text)
        begun = {*keys, *([path] if text and text[-1:] not in BETWEEN else [])}
        rules = self._rules(path, begun)
        alone = next((rule for rule in rules if is_allowed((rule,))), None)
        if alone is not None:
            return self._named(alone, keys)
        if not is_allowed(rules):
            return ""
        for rule in rules:
            fewer = tuple(other for other in rules if other != rule)
            if is_allowed(fewer):
                rules = fewer
        return " and ".join(self._named(rule, keys) for rule in rules)

    def _rules(self, path: Path, begun: set[Path]) -> tuple[Rule, ...]:
        """Those of the value at a path first, then those of the values around it; each once. `begun`: values that are open."""
        found: dict[tuple[str, str], Rule] = {}
        for depth in range(len(path), -1, -1):
            for pointer in schema_pointers(self._document, path[:depth]):
                schema = at(self._document, pointer)
                for keyword, value in schema.items() if isinstance(schema, dict) else ():
                    if keyword in RESTRICTING or value is False:
                        found.setdefault((pointer, keyword), Rule(pointer, keyword, path[:depth]))

        def place(rule: Rule) -> tuple[bool, int, bool]:
            is_late = rule.keyword in KINDS and rule.path in begun
            return rule.keyword not in COUNTING, -len(rule.path), is_late

        return tuple(sorted(found.values(), key=place)[:MOST_TRIED])

    def _without(self, rules: tuple[Rule, ...], options: dict[str, str]) -> Readable | None:
        """The schema without these keywords, or with other options; None where it cannot be compiled: another keyword needs what is
        left out, or a limit is reached."""
        key = (rules, tuple(options.items()))
        if key in (kept := self._kept):
            return kept[key]
        document = self._grammar.document()
        for rule in rules:
            at(document, rule.pointer).pop(rule.keyword, None)
        own = {name: getattr(self._grammar, name) for name in JsonSchema.SAVED if name not in ("schema", "extra")}
        found: Readable | None = None
        with suppress(GrammarError):
            found = self._compiled(JsonSchema(document, **{**own, **options}))
        self._kept = {**(kept if len(kept) < MOST_KEPT else {}), key: found}
        return found

    def _named(self, rule: Rule, keys: dict[Path, list[str]]) -> str:
        value = at(self._document, rule.pointer)[rule.keyword]
        pointer = f"{pointer_of(rule.path)}: " if rule.path else ""
        if rule.keyword == "required":
            missing = [name for name in value if name not in keys.get(rule.path, [])]
            return f"{pointer}required: {', '.join(missing)}"
        return f"{pointer}{rule.keyword} {value if isinstance(value, str) else shown(value, LONGEST)}"
