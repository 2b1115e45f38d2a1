"""Plain schemas, directly to rows: most schemas consist of parts that need no normalisation.

A schema is plain if it has only `type`, bounds, `pattern` or `format`, lists of scalars, `properties`, `required`,
`additionalProperties`, `items`, or is a reference within the document. Any other schema goes, with all below it, to the
general way (grammars/json_schema/nodes/normalise.py), whose nodes get rows in the same program: a `oneOf` in one part costs
only there. Whatever looks wrong, or might hold no value, makes the general way read the whole document: it has the
error messages.

Invariant, which tests check: the rows mean the same as those that the general way would write.
"""

from __future__ import annotations

from collections.abc import Callable

from grammarlm.errors import GrammarError
from grammarlm.grammars.json_schema.nodes.locations import NeedsScope
from grammarlm.grammars.json_schema.nodes.normaliser import Normaliser
from grammarlm.grammars.json_schema.read.document import Document, escape
from grammarlm.grammars.json_schema.read.keywords import (
    ARRAY,
    IDENTITY,
    NUMBER,
    OBJECT,
    REFERENCE,
    STRING,
    TYPE,
    VALUES,
)
from grammarlm.grammars.json_schema.shapes.final import finish
from grammarlm.grammars.json_schema.strings.strings import is_text
from grammarlm.layout.json import MOST_REQUIRED, Shape
from grammarlm.masks.machines.json.rows.objects import OtherKeys
from grammarlm.masks.machines.json.rows.plain_scalars import (
    FALSE,
    NULL,
    TRUE,
    Alternative,
    NotPlain,
    Schema,
    listed_values,
    number_row,
    string_alternative,
)
from grammarlm.masks.machines.json.rows.template import TEMPLATE_AT, bound

from .program import ProgramWriter

ANYTHING, ANY_STRING, ANY_OBJECT, ANY_ARRAY = (TEMPLATE_AT[name] for name in ("anything", "string", "object", "array"))
NO_KEY = -1  # in place of a node: there are no other keys
NOWHERE = -2  # a reference that is being followed: it has no row yet
DEEPEST = 100  # nested schemas; deeper ones are left to the general way, which has no such limit
HARD, OWN_ADDRESS = 1 << 20, 1 << 21  # marks keywords that are not plain, and `$id`
PLAIN = {
    "type", "enum", "const", "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "properties", "required", "additionalProperties", "items", "minItems", "maxItems",
    "uniqueItems", "$ref",
}  # fmt: skip
TYPES = ("null", "boolean", "string", "number", "integer", "object", "array")  # in the order of alternatives
KINDS = tuple(name for name in TYPES if name != "integer")

# A pointer, as a linked list: (path around, keyword, token or None), or the text where a reference led. None: the
# root.
Path = tuple["Path", str, str | None] | str | None

_known_bits: dict[int, tuple[dict[str, int], dict[str, int]]] = {}


def plain_bits(bits: dict[str, int]) -> dict[str, int]:
    """A draft's keywords, those that are not plain marked."""
    known = _known_bits.get(id(bits))
    if known is None or known[0] is not bits:
        if len(_known_bits) > 64:
            _known_bits.clear()
        marked = {word: OWN_ADDRESS if b == IDENTITY else b if word in PLAIN else b | HARD for word, b in bits.items()}
        known = _known_bits[id(bits)] = bits, marked
    return known[1]


class PlainReader:
    """Reads one document."""

    def __init__(self, writer: ProgramWriter, document: Document, tick: Callable[[], None]):
        resource = document.root
        if resource.filtered or resource.contents.__class__ is not dict:
            raise NotPlain
        self._writer, self._document, self._tick = writer, document, tick
        self._resource, self._bits, self.contents = resource, plain_bits(resource.bits), resource.contents
        self._integer = "plain integer" if resource.plain_integers else "integer"
        self._formats = "assert" if document.formats else "annotation"
        self._normaliser: Normaliser | None = None
        self._rows: dict[int, int] = {}  # by id of the schema
        self._open: set[int] = set()  # rows of the nodes being read: those around this one
        # For each alternative of a node, the nodes that each of its values contains; nodes with an alternative that
        # contains none are missing.
        self._needs: dict[int, list[list[int]]] = {}
        self._has_loops = False

    def root(self) -> int:
        """The row of the whole document's node."""
        start = self.node(self._resource.contents, None)
        if self._has_loops and self._needs_itself():
            raise NotPlain
        return start

    # ------------------------------------------------------------------ nodes

    def node(self, schema: object, path: Path) -> int:
        """The row of a schema's node."""
        if schema.__class__ is not dict:
            if schema is True:
                return ANYTHING
            raise NotPlain
        known = self._rows.get(id(schema))
        if known is not None:
            if known == NOWHERE:
                raise NotPlain
            self._has_loops = self._has_loops or known in self._open
            return known
        bits, mask = self._bits, 0
        for word in schema:
            more = bits.get(word)
            if more:
                mask |= more
        if mask == TYPE:
            known = self._of_type(schema["type"])
            if known is not None:
                return known
        if mask & REFERENCE and (mask == REFERENCE or self._resource.draft <= 7):
            return self._reference(schema, path)
        if mask & OWN_ADDRESS and path is None:
            mask ^= OWN_ADDRESS
        if not mask:
            return ANYTHING
        if mask & (HARD | REFERENCE | OWN_ADDRESS):
            return self.general(schema, path)
        return self._plain(schema, path, mask)

    def _of_type(self, name: object) -> int | None:
        if name.__class__ is not str:
            return None
        return TEMPLATE_AT.get("type " + (self._integer if name == "integer" else name))

    def _reference(self, schema: Schema, path: Path) -> int:
        reference = schema.get("$ref")
        if reference.__class__ is not str or not reference.startswith("#"):  # type: ignore[union-attr]
            return self.general(schema, path)
        target, pointer, home = self._document.resolve(reference, self._resource, pointer_of(path))
        if home is not self._resource:
            return self.general(schema, path)
        self._rows[id(schema)] = NOWHERE
        found = self._rows[id(schema)] = self.node(target, pointer)
        return found

    def general(self, schema: Schema, path: Path) -> int:
        """The node as the general way makes it."""
        n = self._normaliser
        if n is None:
            n = self._normaliser = Normaliser(self._document, self._writer.texts.languages, self._tick)
        node = n.locations.node_at(schema, pointer_of(path), self._resource, None)
        finish(n, node)
        found = self._writer.nodes.row(node)
        if found < 0:
            raise NotPlain
        self._rows[id(schema)] = found
        return found

    def _plain(self, schema: Schema, path: Path, mask: int) -> int:
        self._tick()
        kinds = self._kinds(schema["type"]) if mask & TYPE else KINDS
        if not kinds or not _is_easy(schema, mask):
            return self.general(schema, path)
        rows = self._writer.rows
        if mask & VALUES:
            listed = listed_values(self._writer, schema, kinds, splits_floats=self._integer != "integer")
            if listed is None:
                return self.general(schema, path)
            self._rows[id(schema)] = listed
            return listed
        if len(self._open) > DEEPEST:
            raise NotPlain
        count = len(kinds) + ("boolean" in kinds)
        found = at = self._rows[id(schema)] = len(rows)
        rows += [count, 0] + [0] * (2 * count)
        self._open.add(found)
        needs: list[list[int]] = []
        for kind in kinds:
            if kind == "boolean":
                rows[at + 2 : at + 6] = TRUE + FALSE
                at += 4
                continue
            rows[at + 2 : at + 4] = self._alternative(schema, path, mask, kind, needs)
            at += 2
        if len(needs) == count:
            self._needs[found] = needs
        self._open.discard(found)
        return found

    def _kinds(self, listed: object) -> list[str] | tuple[str, ...] | None:
        """The types that a schema names, an integer being a kind of number."""
        if listed.__class__ is str:
            return (listed,) if listed in TYPES else None
        if listed.__class__ is not list:
            return None
        named = set()
        for name in listed:
            if name.__class__ is not str or name not in TYPES:
                return None
            named.add(name)
        if "number" in named:
            named.discard("integer")
        return [kind for kind in TYPES if kind in named]

    def _alternative(self, schema: Schema, path: Path, mask: int, kind: str, needs: list[list[int]]) -> Alternative:
        if kind == "string":
            return self._string(schema, path) if mask & STRING else (Shape.STRING, ANY_STRING)
        if kind == "object":
            return Shape.OBJECT, self._object(schema, path, needs) if mask & OBJECT else ANY_OBJECT
        if kind == "array":
            return Shape.ARRAY, self._array(schema, path, needs) if mask & ARRAY else ANY_ARRAY
        if kind == "null":
            return NULL
        name = self._integer if kind == "integer" else kind
        return Shape.NUMBER, number_row(self._writer, schema, name) if mask & NUMBER else TEMPLATE_AT[name]

    def _string(self, schema: Schema, path: Path) -> Alternative:
        return string_alternative(self._writer, schema, self._formats, lambda: pointer_of(path))

    # ------------------------------------------------------------------ objects and arrays

    def _object(self, schema: Schema, path: Path, needs: list[list[int]]) -> int:
        """The row of an object; the nodes that all such objects contain are added to `needs`."""
        node, writer = self.node, self._writer
        declared = schema.get("properties") or {}
        rest = ANYTHING
        if "additionalProperties" in schema:
            below = schema["additionalProperties"]
            rest = NO_KEY if below is False else node(below, (path, "additionalProperties", None))
        required = schema.get("required") or ()
        if not declared and not required and rest == ANYTHING:
            return ANY_OBJECT
        if required.__class__ is not bool and len(required) > MOST_REQUIRED:
            raise NotPlain
        children = {name: node(below, (path, "properties", name)) for name, below in declared.items()}
        if required.__class__ is not bool:
            for name in required:
                if name not in children:
                    if rest == NO_KEY:
                        raise NotPlain
                    children[name] = rest
            if required:
                needs.append([children[name] for name in required])
        else:
            required = ()
        names = list(children)
        if not all(map(str.isascii, names)) and not all(map(is_text, names)):
            raise NotPlain
        writer.objects.sort(names)
        rows = [children[name] for name in names]
        return writer.objects.write(names, rows, len(names), set(required), {}, OtherKeys(rest), (0, -1), -1, "")

    def _array(self, schema: Schema, path: Path, needs: list[list[int]]) -> int:
        least, most = schema.get("minItems", 0), schema.get("maxItems", -1)
        item = self.node(schema["items"], (path, "items", None)) if "items" in schema else ANYTHING
        if least > 0:
            needs.append([item])
        if item == ANYTHING and least == 0 and most < 0:
            return ANY_ARRAY
        rows = self._writer.rows
        at = len(rows)
        # ways, items, then the array itself: see layout/json.py
        rows += (1, item, 0, at, 0, at + 3, bound(least), bound(most), 0, at + 4, 0)
        return at + 4

    # ------------------------------------------------------------------ is there any value?

    def _needs_itself(self) -> bool:
        """Is there a node each of whose values would contain such a value, and so on without end?"""
        unknown = dict(self._needs)  # nodes of which no value is known yet
        while True:
            met = [
                row
                for row, alternatives in unknown.items()
                if any(not any(below in unknown for below in needs) for needs in alternatives)
            ]
            if not met:
                return bool(unknown)
            for row in met:
                del unknown[row]


def plain_start(writer: ProgramWriter, document: Document, tick: Callable[[], None]) -> int | None:
    """The row of a document's node, with all below it written; None where the general way has to read the document."""
    try:
        return PlainReader(writer, document, tick).root()
    except (NotPlain, NeedsScope, GrammarError, RecursionError):
        return None


def pointer_of(path: Path) -> str:
    parts: list[str] = []
    while path.__class__ is tuple:
        path, keyword, token = path  # type: ignore[misc]
        parts.append(f"/{keyword}" if token is None else f"/{keyword}/{escape(token)}")
    return (path or "") + "".join(reversed(parts))  # type: ignore[operator]


def _is_easy(schema: Schema, mask: int) -> bool:
    """Have the keywords valid values, and is none of them one for the general way?"""
    if mask & VALUES:
        return not mask & (STRING | NUMBER) and not ("enum" in schema and "const" in schema)
    if mask & OBJECT:
        if "properties" in schema and schema["properties"].__class__ is not dict:
            return False
        required = schema.get("required")
        if required.__class__ is list:
            if any(name.__class__ is not str for name in required):
                return False
        elif required is not None and required.__class__ is not bool:
            return False
    if mask & ARRAY:
        if schema.get("items").__class__ is list or schema.get("uniqueItems", False) is not False:
            return False
        least, most = schema.get("minItems", 0), schema.get("maxItems", 1 << 60)
        return least.__class__ is int and most.__class__ is int and 0 <= least <= most and most > 0
    return True
