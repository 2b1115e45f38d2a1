"""JSON Schema: texts that are JSON and valid under a schema.

    JsonSchema({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
    JsonSchema('{"type": "integer", "minimum": 1}')        JSON text
    JsonSchema(True)                                        any JSON value
    JsonSchema({"properties": {"item": {"enum": items}}})   with `items` a Choices, or Tokens of strings: in any tokenisation

The description is only copied here; `compile` reads it: document.py resolves drafts and references, normalise.py turns each
location of the schema into shapes (shapes.py), masks/machines/json/compile/program.py makes tables of those.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from grammarlm.errors import GrammarError, LimitExceeded, UnsupportedFeature, brief, caret, shorten, suggesting
from grammarlm.grammars.choices import Choices
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.items.tokens import Tokens
from grammarlm.grammars.json_schema.read.closing import close_objects
from grammarlm.grammars.json_schema.read.content import digest_of, shown, written
from grammarlm.grammars.json_schema.read.json_data import check_json
from grammarlm.grammars.json_schema.read.registry import documents_of
from grammarlm.grammars.json_schema.types.python_types import is_python_type, schema_of
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term

ORDERS = ("schema", "any")
FORMATS = ("assert", "annotation")
DRAFTS = ("auto", "declared")
INTEGERS = ("any", "plain")
SPELLINGS = ("any", "plain")
EXTRAS = ("allow", "forbid")
UNKNOWN = ("warn", "refuse")
SMALL = 1 << 16  # most bytes of a small schema
MOST_REMEMBERED = 1 << 14  # most bytes of a schema whose digest is kept


class JsonSchema(Grammar):
    """All JSON texts that are valid under the schema.

    whitespace       "flexible" (compact or pretty, runs are capped), "natural" (what json.dumps and pretty-printers write, nothing
                     around the text), "spaced" (json.dumps' own layout: one line, a blank after each comma and colon), "compact",
                     "any", or a pattern of white space. None: "natural" where a model writes the texts
                     (generate, stream, LogitsProcessor), "any" on canvases (infill), and "flexible" elsewhere
    property_order   "schema": declared properties in order of appearance, then required names, then others; "any": any order; or a
                     list of names
    formats          "assert": `format` must hold; "annotation": it is ignored
    registry         {uri: schema}, or a referencing.Registry, for references to other documents; nothing is fetched: the `retrieve`
                     of a Registry is not called
    draft            "auto": keywords of all drafts count; "declared": only those of `$schema`
    integers         "any": an integer may also be written 1.0 or 1e2; "plain": digits only. None: "plain" for a Python type, whose
                     reader may not accept the others, and "any" elsewhere
    strict           False: keywords that cannot be enforced are relaxed, and listed in the report
    spelling         "any": every JSON spelling of a value; "plain": only the escapes that JSON needs, numbers as json.dumps writes
                     them: integers in digits only, others as Python's repr of floats (1e-05, 0.1, 1e+16; at most 25 digits, so
                     decimals can be written, too). None: "plain" where a model writes the texts, on canvases too, else "any"
    extra            "allow" or "forbid": keys that an object's schema does not declare, where the schema itself does not say. None:
                     JSON Schema's default ("allow"), and "forbid" for a Python type that does not ask for them itself. Where parts
                     (allOf, $ref, ...) declare keys together, any of them may come: see closing.py
    unknown          "warn": unknown keywords and formats are listed in the report; "refuse": they are errors
    """

    @suggesting("JsonSchema")
    def __init__(
        self,
        schema: Any,
        *,
        whitespace: str | None = None,
        property_order: Any = "schema",
        formats: str = "assert",
        registry: Any = None,
        draft: str = "auto",
        strict: bool = True,
        integers: str | None = None,
        spelling: str | None = None,
        extra: str | None = None,
        unknown: str = "warn",
    ):
        is_written = isinstance(schema, (dict, bool, str))
        if not is_written and not is_python_type(schema):
            raise TypeError(
                f"JsonSchema() takes a dict, a bool, JSON text or a Python type, not {type(schema).__name__}"
            )
        if integers is None:
            integers = "any" if is_written else "plain"
        if extra is None:
            extra = "allow" if is_written else "forbid"
        named: tuple[tuple[str, object, tuple[object, ...]], ...] = (
            ("formats", formats, FORMATS),
            ("draft", draft, DRAFTS),
            ("strict", strict, (True, False)),
            ("integers", integers, INTEGERS),
            ("spelling", "any" if spelling is None else spelling, SPELLINGS),
            ("extra", extra, EXTRAS),
            ("unknown", unknown, UNKNOWN),
        )
        for name, value, values in named:
            if not isinstance(value, (str, bool)) or value not in values:
                raise ValueError(f"JsonSchema({name}={brief(value)}): it takes {' or '.join(map(repr, values))}")
        if whitespace is not None and not isinstance(whitespace, str):
            raise TypeError(f"JsonSchema(whitespace=...) takes a str, not {type(whitespace).__name__}")
        self._source, self._is_json = frozen(schema), False
        self.whitespace, self.formats, self.draft, self.strict = whitespace, formats, draft, strict
        self.integers, self.spelling, self.extra, self.unknown = integers, spelling, extra, unknown
        self._asked = whitespace, spelling  # by the caller, whatever texts are written for
        self.property_order = checked_order(property_order)
        documents = None if registry is None else documents_of(registry)
        self._registry = None if documents is None else {uri: frozen(schema) for uri, schema in documents.items()}

    def as_generated(self, whitespace: str = "natural") -> JsonSchema:
        """The grammar with the defaults for generated texts: this white space and plain, unless something else was asked for."""
        asked_whitespace, asked_spelling = self._asked
        spelled = whitespace if asked_whitespace is None else asked_whitespace, asked_spelling or "plain"
        if spelled == (self.whitespace, self.spelling):
            return self
        other: JsonSchema = object.__new__(JsonSchema)
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name != "digest"})
        other.whitespace, other.spelling = spelled
        return other

    def document(self, tick: Callable[[], None] = lambda: None) -> Any:
        """The schema as Python data, a fresh copy. `tick` is called regularly and raises where the caller's time is over."""
        schema = thawed(self._source)
        if isinstance(schema, str):
            schema = parsed(schema)
        elif not isinstance(schema, (dict, bool)):
            schema = schema_of(schema, self.extra)
        elif not self._is_json:
            check_json(schema, tick)
            for document in (self.registry or {}).values():
                check_json(document, tick)
            self._is_json = True
        return close_objects(schema, self.registry, self.draft, tick) if self.extra == "forbid" else schema

    @property
    def blanks_between(self) -> str:
        """White space between tokens, by name or pattern; an empty pattern is one."""
        return "flexible" if self.whitespace is None else self.whitespace

    @property
    def is_small(self) -> bool:
        """Is the schema so small that reading it needs no bound in advance?"""
        source = self._source
        if isinstance(source, (bytes, str)):
            return len(source) <= SMALL and self._registry is None and isinstance(self.property_order, str)
        return is_python_type(source)

    def sources(self) -> list[Any]:
        """The schema and the documents of the registry as stored: text, bytes, or Python data where it is neither."""
        return [self._source, *(self._registry or {}).values()]

    @property
    def python_type(self) -> Any:
        """The type or function that the schema was made from; None for a written schema."""
        return self._source if is_python_type(self._source) else None

    @property
    def registry(self) -> Mapping[str, Any] | None:
        return None if self._registry is None else {uri: thawed(kept) for uri, kept in self._registry.items()}

    @cached_property
    def digest(self) -> bytes:
        """Equal for equivalent grammars, whether given as text or dicts; the same in any process."""
        source, registry = self._source, self._registry or {}
        options = tuple(getattr(self, name) for name in self.SAVED if name not in ("schema", "registry"))
        is_plain = self._registry is None and self.extra != "forbid" and isinstance(source, (str, bytes))
        if is_plain and len(source) <= MOST_REMEMBERED:
            return _digest_of(source, options)
        try:
            is_ours = self.extra == "forbid" or self.python_type is not None
            schema = self.document() if is_ours else _content_of(source)
        except GrammarError:  # no JSON, or nested too deeply: compile reports it
            schema = str(source)
        documents = [[uri, digest_of(thawed(registry[uri]))] for uri in sorted(registry)]
        known = None if self._registry is None else documents
        return bytes.fromhex(digest_of([schema, known, list(options)]))

    def language(self, algebra: Algebra) -> Term:
        raise UnsupportedFeature(
            "a JsonSchema is read by a machine of its own: it can be a part of + and |, not of & and -; "
            "what both must satisfy can be said in the schema itself"
        )

    # What masks/saved/codec.py saves, with the type of each value; the same names are the constructor's arguments.
    SAVED: ClassVar[dict[str, Any]] = {
        "schema": str, "whitespace": str | None, "property_order": str | tuple[str, ...], "formats": str,
        "registry": tuple[tuple[str, str], ...] | None, "draft": str, "strict": bool, "integers": str,
        "spelling": str | None, "extra": str, "unknown": str,
    }  # fmt: skip

    def saved(self) -> list[Any]:
        """The values of SAVED: schemas as JSON text."""
        schema, registry = thawed(self._source), self.registry
        text = schema if isinstance(schema, str) else written(self.document())
        documents = None if registry is None else tuple((uri, written(registry[uri])) for uri in registry)
        made = {"schema": text, "registry": documents}
        return [made[name] if name in made else getattr(self, name) for name in self.SAVED]

    @classmethod
    def from_saved(cls, schema: str, registry: tuple[tuple[str, str], ...] | None, **options: Any) -> JsonSchema:
        documents = None if registry is None else {uri: parsed(text) for uri, text in registry}
        return cls(schema, registry=documents, **options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonSchema) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        source = self._source
        if isinstance(source, str):
            return f"JsonSchema({brief(source, 120)})"
        kind = self.python_type
        return f"JsonSchema({brief(kind, 120) if kind is not None else shown(thawed(source), 120)})"


def _content_of(source: Any) -> Any:
    """The schema; its text where that is no JSON, or nested too deeply: compile reports it."""
    try:
        return parsed(source) if isinstance(source, str) else thawed(source)
    except GrammarError:
        return str(source)


@lru_cache(maxsize=1024)
def _digest_of(source: str | bytes, options: tuple[Any, ...]) -> bytes:
    """Of a schema without documents: a server gets the same ones with each request."""
    return bytes.fromhex(digest_of([_content_of(source), None, list(options)]))


def checked_order(given: Any) -> str | tuple[str, ...]:
    """A value of property_order."""
    if isinstance(given, str) and given in ORDERS:
        return given
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)):
        names = tuple(given)
        if all(isinstance(name, str) for name in names):
            return names
    raise ValueError(f'JsonSchema(property_order={brief(given)}): it takes "schema", "any" or a list of names')


def frozen(value: Any) -> Any:
    """A copy: one bytes object if it is plain data, which is fast to make and holds nothing for Python's garbage collector.

    Shared parts are copied once and stay shared: 300 dicts can have 2^300 locations.
    """
    if isinstance(value, dict):
        try:
            return marshal.dumps(value, 4)
        except ValueError:  # nested deeper than marshal goes, or with values that are not plain, such as Decimal
            plain = copied(value)
        try:
            return marshal.dumps(plain, 4)  # sets of items are lists now
        except ValueError:
            return plain
    return value


def thawed(value: Any) -> Any:
    return marshal.loads(value) if isinstance(value, bytes) else copied(value)


def parsed(text: str, what: str = "schema") -> Any:
    """JSON text as Python data; fractions keep all their digits, and so do whole numbers that Python's int() refuses."""
    try:
        return json.loads(text, parse_float=_decimal, parse_int=_whole, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise GrammarError(
            f"the {what} is no JSON: {error.msg} in line {error.lineno}, column {error.colno}\n"
            f"{caret(text, error.pos)}{_path_hint(text) if what == 'schema' else ''}",
            position=error.pos,
        ) from None
    except RecursionError:
        instead = "hand it in as a dict" if what == "schema" else "flatten it"
        raise LimitExceeded(f"the {what}'s JSON text is nested too deeply; {instead}") from None


def _path_hint(text: str) -> str:
    """A hint if the text looks like a file name: text is never taken for one."""
    if text.lstrip()[:1] in ("", "{", "[", '"') or len(text) > 200 or "\n" in text:
        return ""
    return (
        f"\nthe text of a file is pathlib.Path({text!r}).read_text(), and generate(schema=pathlib.Path(...)) reads it"
    )


def _whole(text: str) -> int | Decimal:
    try:
        return int(text)
    except ValueError:  # more digits than Python reads
        return Decimal(text)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except ArithmeticError:
        raise UnsupportedFeature(
            f"the schema has the number {shorten(text, 60)}: exponents of so many digits are not read"
        ) from None


def _no_constant(name: str) -> Any:
    raise GrammarError(f"the schema is no JSON: {name} is no number of JSON's")


def copied(value: Any) -> Any:
    """A copy of dicts and lists of any depth; shared parts are copied once. An enum that is a set of items becomes a list."""
    todo: list[tuple[Any, Any]] = []
    made: dict[int, Any] = {}

    def copy(item: Any) -> Any:
        if isinstance(item, (Choices, Tokens)):
            raise GrammarError(f'a set of items inside a schema is the whole of an enum: "enum": items; found {item!r}')
        if not isinstance(item, (dict, list, tuple)):
            return item
        known = made.get(id(item))
        if known is None:
            known = made[id(item)] = {} if isinstance(item, dict) else []
            todo.append((item, known))
        return known

    root = copy(value)
    for source, target in todo:  # grows during the loop
        if type(target) is dict:
            for key, item in source.items():
                is_set = key == "enum" and isinstance(item, (Choices, Tokens))
                target[key] = copy(strings_of(item) if is_set else item)
        else:
            target.extend(map(copy, source))
    return root


def strings_of(items: Choices | Tokens) -> tuple[str, ...]:
    """What a set of items becomes in a schema: its strings, the same tuple object."""
    if items.strings is None:
        raise GrammarError(
            "items of token ids inside a schema: only strings can be JSON's values; write Tokens(strings) or Choices(strings), "
            "or put the JSON around the items: gl.Regex(r'\\{\"item\": \"') + items + gl.Regex(r'\"\\}')"
        )
    return items.strings
