"""A schema document becomes nodes: conjunctions of schemas and of their opposites, worked out to alternatives.

    n = normalise(schema, languages=Languages(...))
    n.root.alternatives                     shapes: see shapes.py

An **atom** is one schema (or a value of `enum`, or a union); a node is a set of atoms, each with a sign, and is made once. `allOf`,
`$ref` and keywords that stand beside them are conjunctions: `anyOf` appends lists of shapes, `not` flips the sign, `oneOf` is each
branch without the others (as far as types, values or required keys do not exclude them anyway), if/then/else is two cases.

Most schemas have only plain keywords and are read in one go. Those that have to look into the alternatives of others are
generators: they yield what they need, a loop answers. So depth is no matter, and a schema that needs itself before it has read
anything is noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

from ...errors import GrammarError, UnsupportedFeature
from . import arrays, objects, strings
from . import numbers as numbers_
from .document import Document, Place, Resource, Scope, escape
from .keywords import (
    ARRAY,
    COMBINE,
    IDENTITY,
    NUMBER,
    OBJECT,
    PLAIN,
    REFERENCE,
    SCHEMA_MAPS,
    STRING,
    TYPE,
    UNEVALUATED,
    VALUES,
)
from .languages import Languages
from .parts import (
    ANY,
    ANY_OBJECT,
    ANYTHING,
    ARRAYS,
    EMPTY,
    FALSE,
    INTEGERS,
    NONE,
    NOTHING,
    NULL,
    NUMBERS,
    OBJECTS,
    OF_TYPE,
    PLAIN_INTEGERS,
    STRINGS,
    TRUE,
    TYPE_NODES,
    TYPES,
    Evaluated,
    LooseArray,
    LooseObject,
    Parts,
    Work,
)
from .shapes import Language, NumberShape, StringShape
from .simplify import simplified
from .values import ValueAtom, identity, literal_parts, parts_of_values

MOST_ALTERNATIVES = 256
MOST_WORK = 65_536  # shapes in a product

# What a generator may ask for: (code of an atom with its sign, track what is evaluated), or a node (None: not known yet).
Request = tuple[int, bool] | Work
Steps = Generator[Request, Any, Parts]
Shapes = Generator[Request, Any, list[Any]]  # the same for the shapes of one type


class NeedsScope(Exception):
    """A dynamic reference is in play: start again, with the dynamic scope as a part of every place."""


class SchemaAtom:
    """A schema at its place."""

    __slots__ = ("holds_places", "listed", "mask", "pointer", "resource", "schema", "scope")

    def __init__(self, schema: dict[str, Any], pointer: str, resource: Resource, scope: Scope | None, mask: int):
        self.schema = schema
        self.pointer = pointer
        self.resource = resource
        self.scope = scope
        self.mask = mask  # which kinds of keywords it has
        self.listed: tuple[Any, ...] | None = None  # the values, where it only lists strings, true, false and null
        self.holds_places = False  # lists objects or arrays
        if mask & VALUES:
            self._list_values()

    def _list_values(self) -> None:
        schema, mask = self.schema, self.mask
        values = schema.get("enum") if "enum" in schema else [schema.get("const")]
        if isinstance(values, list):
            self.holds_places = any(v.__class__ is dict or v.__class__ is list for v in values)
            if mask & ~TYPE == VALUES and not ("enum" in schema and "const" in schema):
                kinds = schema.get("type", "string")
                if all(v.__class__ is str for v in values) if kinds == "string" else self._simple(values, kinds):
                    self.listed = tuple(dict.fromkeys(values))

    def _simple(self, values: list[Any], kinds: Any) -> bool:
        return "type" not in self.schema and all(v is None or isinstance(v, str | bool) for v in values)

    def parts(self, n: Normaliser, sign: bool, track: bool) -> Parts | Steps:
        if sign and not self.mask & (COMBINE | REFERENCE | UNEVALUATED):
            return n.plain(self, track)
        return n.positive(self, track) if sign else n.negative(self)


class UnionAtom:
    """What is in one of these nodes."""

    __slots__ = ("nodes", "pointer")

    def __init__(self, nodes: tuple[Work, ...], pointer: str):
        self.nodes = nodes
        self.pointer = pointer

    def parts(self, n: Normaliser, sign: bool, track: bool) -> Steps:
        return self._positive(n) if sign else self._negative(n)

    def _positive(self, n: Normaliser) -> Steps:
        found = []
        for node in self.nodes:
            found.append((yield from n.work_out(node)))
        return n.unite(found)

    def _negative(self, n: Normaliser) -> Steps:
        parts = ANY
        for node in self.nodes:
            parts = yield from n.met_with(parts, (yield from n.work_out(n.negate(node))))
        return parts


class TypeAtom:
    """All values of a type."""

    __slots__ = ("name", "pointer")

    def __init__(self, name: str):
        self.name = name
        self.pointer = ""

    def parts(self, n: Normaliser, sign: bool, track: bool) -> Parts:
        return OF_TYPE[self.name] if sign else n.not_types({self.name})


class ListAtom:
    """Some strings, true, false, null: what conjunctions have left of the values of `enum` or `const`."""

    __slots__ = ("listed", "pointer")

    def __init__(self, values: tuple[Any, ...], pointer: str):
        self.listed = values
        self.pointer = pointer

    def parts(self, n: Normaliser, sign: bool, track: bool) -> Parts:
        return parts_of_values(n, list(self.listed), self.pointer) if sign else literal_parts(list(self.listed))


@dataclass
class Normalised:
    """The root, and what it took to make it."""

    root: Work
    nodes: list[Work]  # those that a value of the root can have inside
    document: Document
    languages: Languages
    relaxed: tuple[str, ...] = ()  # pointers of the keywords that were left out, where the caller allowed that


def normalise(
    schema: Any,
    *,
    languages: Languages,
    formats: str = "assert",
    registry: Mapping[str, Any] | None = None,
    draft: str = "auto",
    tick: Callable[[], None] = lambda: None,
    strict: bool = True,
) -> Normalised:
    """The nodes of a schema; see the module. With strict=False a keyword that cannot be enforced is left out, and named."""
    from .satisfiable import settle

    relaxed: list[str] = []
    scoped = False
    while True:
        document = Document(schema, registry=registry, draft=draft, formats=formats, tick=tick)
        n = Normaliser(document, languages, tick, frozenset(relaxed), scoped)
        try:
            root = n.root()
            return Normalised(root, settle(n, root), document, languages, tuple(relaxed))
        except NeedsScope:
            scoped = True
        except UnsupportedFeature as refusal:
            pointer = None if strict else _to_relax(refusal.pointer, relaxed)
            if pointer is None:
                raise
            relaxed.append(pointer)


class Normaliser:
    def __init__(
        self,
        document: Document,
        languages: Languages,
        tick: Callable[[], None] = lambda: None,
        relaxed: frozenset[str] = frozenset(),
        scoped: bool = False,
    ):
        self.document = document
        self.languages = languages
        self.tick = tick
        self.relaxed = relaxed
        self.scoped = scoped
        self.formats = "assert" if document.formats else "annotation"
        self.atoms: list[Any] = [TypeAtom(name) for name in OF_TYPE]
        self.nodes: dict[frozenset[int], Work] = {ANYTHING.key: ANYTHING}
        self.nodes.update((node.key, node) for node in TYPE_NODES.values())
        self._known: dict[tuple[int, bool], Parts] = {}
        self._values: dict[Any, Work] = {}
        self._patterns: dict[str, Language] = {}
        self._kept: list[Any] = []

    def root(self) -> Work:
        resource = self.document.root
        scope = self.document.extend((), resource) if self.scoped else None
        return self._place(resource.contents, "", resource, scope)

    # ------------------------------------------------------------------ nodes

    def child(self, schema: Any, atom: SchemaAtom, keyword: str, token: str | None = None) -> Work:
        """The node of a schema below a keyword."""
        if schema.__class__ is dict:
            if atom.scope is None:
                known = atom.resource.nodes.get(id(schema))
                if known is not None:
                    return known
            elif (known := atom.resource.nodes.get((id(schema), atom.scope))) is not None:
                return known
        elif schema is True:
            return ANYTHING
        elif schema is False:
            return NOTHING
        pointer = f"{atom.pointer}/{keyword}" if token is None else f"{atom.pointer}/{keyword}/{escape(token)}"
        return self._place(schema, pointer, atom.resource, atom.scope)

    def _place(self, schema: Any, pointer: str, resource: Resource, scope: Scope | None) -> Work:
        """The node of a schema at its place. A schema that is only a reference is what it refers to."""
        start, home, passed = schema, resource, set()
        while True:
            if schema is True or schema is False:
                node = ANYTHING if schema else NOTHING
                break
            if not isinstance(schema, dict):
                raise GrammarError(
                    f"{pointer or '#'}: a schema is an object, true or false, not {_brief(schema)}", pointer=pointer
                )
            known = resource.nodes.get(id(schema) if scope is None else (id(schema), scope))
            if known is not None:
                node = known
                break
            if self.relaxed or resource.filtered:
                schema = self._relevant(schema, pointer, resource)
            bits = resource.bits
            mask, relevant = 0, 0
            for keyword in schema:
                if keyword in bits:
                    more = bits[keyword]
                    if more:
                        mask |= more
                        relevant += 1
            if not mask:
                node = ANYTHING
                break
            if mask == TYPE:
                name = schema["type"]
                if name.__class__ is str and name in TYPE_NODES:
                    node = TYPE_NODES["integer4" if name == "integer" and resource.draft == 4 else name]
                    break
            if mask & IDENTITY:
                inner = self.document.enter(schema, pointer, resource)
                if inner is not resource:
                    resource = inner
                    if scope is not None:
                        scope = self.document.extend(scope, inner)
                    if inner.bits is not bits:
                        continue
            if mask & REFERENCE:
                if resource.draft <= 7 and "$ref" in schema:
                    mask = REFERENCE
                    relevant = 1
                if mask & ~IDENTITY == REFERENCE and (relevant == 1 or (mask & IDENTITY and relevant == 2)):
                    if id(schema) in passed:
                        raise GrammarError(f"{pointer}: this reference leads back to itself", pointer=pointer)
                    passed.add(id(schema))
                    schema, pointer, resource, scope = self._follow(schema, pointer, resource, scope)
                    continue
            node = self._of_schema(SchemaAtom(schema, pointer, resource, scope, mask))
            break
        if start.__class__ is dict:
            home.nodes[id(start) if scope is None else (id(start), scope)] = node
        return node

    def _of_schema(self, atom: SchemaAtom) -> Work:
        """The node of one schema, by its place."""
        key: Any = id(atom.schema) if atom.scope is None else (id(atom.schema), atom.scope)
        known = atom.resource.nodes.get(key)
        if known is None:
            self.tick()
            known = atom.resource.nodes[key] = self.new(atom)
        return known

    def new(self, atom: Any) -> Work:
        """The node of an atom that is not known yet."""
        key = frozenset((2 * len(self.atoms),))
        self.atoms.append(atom)
        node = self.nodes[key] = Work(key, atom.pointer)
        return node

    def _relevant(self, schema: dict[str, Any], pointer: str, resource: Resource) -> dict[str, Any]:
        """The schema without the keywords that do not count here."""
        bits = resource.bits
        kept = {
            k: v
            for k, v in schema.items()
            if (k in bits or k in ("$schema", "$dynamicAnchor", "$recursiveAnchor"))
            and f"{pointer}/{escape(k)}" not in self.relaxed
        }
        if "oneOf" in schema and "oneOf" not in kept and "oneOf" in bits:
            kept["allOf"] = [*kept.get("allOf", []), {"anyOf": schema["oneOf"]}]
        elif len(kept) == len(schema):
            return schema
        self._kept.append(kept)
        return kept

    def _follow(self, schema: dict[str, Any], pointer: str, resource: Resource, scope: Scope | None):
        """What a reference leads to, with the scope there."""
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in schema:
                break
        return self._follow_one(schema, keyword, pointer, resource, scope)

    def _follow_one(self, schema: dict[str, Any], keyword: str, pointer: str, resource: Resource, scope: Scope | None):
        place: Place | None
        if keyword == "$ref":
            place = self.document.resolve(schema["$ref"], resource, f"{pointer}/$ref")
        else:
            place = self.document.resolve_dynamic(schema, keyword, resource, scope, f"{pointer}/{keyword}")
            if place is None:
                raise NeedsScope
        target, where, home = place
        if scope is not None:
            scope = self.document.extend(scope, home)
        return target, where, home, scope

    def meet(self, a: Work, b: Work) -> Work:
        """What is in both."""
        if a is b or b is ANYTHING:
            return a
        if a is ANYTHING:
            return b
        if a is NOTHING or b is NOTHING:
            return NOTHING
        key = a.key | b.key
        known = self.nodes.get(key)
        if known is None:
            known = self.nodes[key] = self._conjunction(key, a.pointer or b.pointer)
        return known

    def _conjunction(self, key: frozenset[int], pointer: str) -> Work:
        self.tick()
        denied = False
        for code in key:
            if code & 1:
                if code ^ 1 in key:
                    return NOTHING
                denied = True
        for code in key:
            if not code & 1 and self._listed(code) is not None:
                return self._among_listed(key, code, pointer)
        if denied and self._contradicts(key):
            return NOTHING
        return Work(key, pointer)

    def _listed(self, code: int) -> tuple[Any, ...] | None:
        """The values of an atom that lists strings, true, false and null."""
        atom = self.atoms[code >> 1]
        return atom.listed if atom.__class__ is SchemaAtom or atom.__class__ is ListAtom else None

    def _among_listed(self, key: frozenset[int], code: int, pointer: str) -> Work:
        """A conjunction with a list of values: what else is said about scalars is decided for each of them, and done with."""
        said = [other for other in key if other != code and self._is_scalar(other)]
        if not said:
            return Work(key, pointer)
        values = self._listed(code) or ()
        kept = tuple(v for v in values if all(self._has(other, v) for other in said))
        if not kept:
            return NOTHING
        rest = key.difference(said)
        if len(kept) < len(values):
            node = self._values.get(("list", kept))
            if node is None:
                node = self._values["list", kept] = self.new(ListAtom(kept, pointer))
            rest = rest - {code} | node.key
        known = self.nodes.get(rest)
        if known is None:
            known = self.nodes[rest] = Work(rest, pointer)
        return known

    def _has(self, code: int, value: Any) -> bool:
        """Is a string, true, false or null in an atom that is about scalars?"""
        parts = self._known.get((code & ~1, False))
        if parts is None:
            parts = self._known[code & ~1, False] = self.atoms[code >> 1].parts(self, True, False)
        if isinstance(value, str):
            held = any(strings.has(s, value, self.languages) for s in parts[STRINGS])
        else:
            held = bool(parts[NULL if value is None else TRUE if value else FALSE])
        return held != bool(code & 1)

    def _contradicts(self, key: frozenset[int]) -> bool:
        """A schema and the opposite of one that reads the same."""
        for code in key:
            denied = self.atoms[code >> 1]
            if not code & 1 or denied.__class__ is not SchemaAtom:
                continue
            for other in key:
                held = self.atoms[other >> 1]
                if (
                    not other & 1
                    and held.__class__ is SchemaAtom
                    and held.mask == denied.mask
                    and held.resource is denied.resource
                    and held.scope == denied.scope
                    and identical(held.schema, denied.schema)
                ):
                    return True
        return False

    def negate(self, node: Work) -> Work:
        """What is not in the node."""
        if node is ANYTHING:
            return NOTHING
        if node is NOTHING:
            return ANYTHING
        if len(node.key) == 1:
            (code,) = node.key
            return self._signed(code ^ 1, node.pointer)
        return self.union([self._signed(code ^ 1, node.pointer) for code in sorted(node.key)], node.pointer)

    def _signed(self, code: int, pointer: str) -> Work:
        key = frozenset((code,))
        known = self.nodes.get(key)
        if known is None:
            known = self.nodes[key] = Work(key, pointer)
        return known

    def union(self, nodes: list[Work], pointer: str) -> Work:
        """What is in one of them."""
        found = tuple(dict.fromkeys(node for node in nodes if node is not NOTHING))
        if ANYTHING in found:
            return ANYTHING
        if len(found) < 2:
            return found[0] if found else NOTHING
        key = ("union", found)
        known = self._values.get(key)
        if known is None:
            known = self._values[key] = self.new(UnionAtom(found, pointer))
        return known

    def value(self, value: Any, pointer: str) -> Work:
        """The node of one value."""
        key = identity(value)
        known = self._values.get(key)
        if known is None:
            self._kept.append(value)
            known = self._values[key] = self.new(ValueAtom(value, pointer))
        return known

    # ------------------------------------------------------------------ languages

    def pattern(self, text: str, atom: SchemaAtom) -> Language:
        """The language of a key of patternProperties."""
        known = self._patterns.get(text)
        if known is None:
            known = self._patterns[text] = frozenset([("pattern", text, True)])
            self.check_language(known, f"{atom.pointer}/patternProperties")
        return known

    def check_language(self, language: Language, pointer: str) -> None:
        """Raises here, where the pointer is known, what the pattern or format raises."""
        try:
            self.languages.term(language)
        except GrammarError as error:
            if error.pointer is None:
                raise type(error)(f"{pointer}: {error}", position=error.position, pointer=pointer) from None
            raise

    def has_string(self, shape: StringShape, text: str) -> bool:
        return strings.has(shape, text, self.languages)

    # ------------------------------------------------------------------ limits

    def check_size(self, size: int, what: str, pointer: str | None = None) -> None:
        if size > MOST_ALTERNATIVES:
            raise UnsupportedFeature(
                f"{pointer or ''}: {what}: more than {MOST_ALTERNATIVES} cases; write the schema with fewer alternatives",
                pointer=pointer,
            )

    def refuse(self, what: str, pointer: str) -> None:
        raise UnsupportedFeature(
            f"{pointer}: {what}, cannot be enforced; leave it out or say it otherwise", pointer=pointer
        )

    # ------------------------------------------------------------------ the loop

    def parts(self, node: Work) -> Parts:
        """The parts of a node; whatever that needs is worked out on a stack of generators."""
        if node.parts is not None:
            return node.parts
        if len(node.key) == 1:  # most nodes: one schema with plain keywords
            (code,) = node.key
            atom = self.atoms[code >> 1]
            if not code & 1 and atom.__class__ is SchemaAtom and not atom.mask & (COMBINE | REFERENCE | UNEVALUATED):
                node.parts = parts = self.plain(atom, False)
                return parts
        return self._run(node)

    def _run(self, node: Work) -> Parts:
        stack: list[tuple[Request, Steps]] = [(node, self._node(node))]
        active: dict[Any, int] = {node: 0}
        answer: Any = None
        while True:
            request, steps = stack[-1]
            try:
                wanted = steps.send(answer)
            except StopIteration as end:
                answer = end.value
                self._remember(request, answer)
                stack.pop()
                del active[request]
                if not stack:
                    return answer
                continue
            self.tick()
            answer = self._recall(wanted)
            if answer is not None:
                continue
            if wanted in active:
                self._unwind(stack, active, wanted)
                answer = None
                continue
            begun = self._node(wanted) if isinstance(wanted, Work) else self._atom(*wanted)
            if begun.__class__ is GeneratorType:
                active[wanted] = len(stack)
                stack.append((wanted, begun))  # type: ignore[arg-type]
            else:
                answer = begun
                self._remember(wanted, answer)

    def _recall(self, wanted: Request) -> Parts | None:
        return wanted.parts if isinstance(wanted, Work) else self._known.get(wanted)

    def _remember(self, request: Request, parts: Parts) -> None:
        if isinstance(request, Work):
            request.parts = parts
        else:
            self._known[request] = parts

    def _unwind(self, stack: list[tuple[Request, Steps]], active: dict[Any, int], wanted: Request) -> None:
        """Something needs itself. Below a node that was only asked for whether it is empty the answer is "not known";
        without one in between the schema refers to itself before it has read anything."""
        if isinstance(wanted, Work):
            return
        for depth in range(len(stack) - 1, active[wanted], -1):
            if isinstance(stack[depth][0], Work):
                for request, steps in stack[depth:]:
                    steps.close()
                    del active[request]
                del stack[depth:]
                return
        pointer = self.atoms[wanted[0] >> 1].pointer
        raise GrammarError(
            f"{pointer or '#'}: this schema refers to itself before anything of a value is read, so it does not say what it "
            f"admits; a reference back has to stand below properties or items",
            pointer=pointer,
        )

    def _atom(self, code: int, track: bool) -> Parts | Steps:
        return self.atoms[code >> 1].parts(self, not code & 1, track)

    def ask(self, node: Work, track: bool = False) -> Steps:
        """The parts of a node whose alternatives belong to the schema that asks (not to something inside its values)."""
        if not node.key:
            return ANY
        parts = ANY
        for code in sorted(node.key):
            if code < 0:
                return NONE
            parts = yield from self.met_with(parts, (yield (code, track and not code & 1)))
        return parts

    work_out = ask

    def _node(self, node: Work) -> Steps:
        parts = yield from self.ask(node)
        found = self._discharged(parts[OBJECTS])
        if found is not parts[OBJECTS]:
            parts = [found if t == OBJECTS else parts[t] for t in TYPES]
        if len(node.key) > 1 or any(len(shapes) > 1 for shapes in parts):
            parts = yield from self._pruned(parts)
        self._check_alternatives(parts, node.pointer)
        return parts

    def _discharged(self, shapes: list[LooseObject], closed: bool = False) -> list[LooseObject]:
        """Obligations turned into required keys; `closed`: only where no other keys can come than those known."""
        for shape in shapes:
            if shape.some and not (closed and shape.others):
                break
        else:
            return shapes
        found: list[LooseObject] = []
        for shape in shapes:
            found += objects.discharge(self, shape) if shape.some and not (closed and shape.others) else (shape,)
        return found

    def is_scalar(self, node: Work) -> bool:
        """One schema that says nothing about items or keys: conjunctions with it lead to no new nodes further down."""
        if len(node.key) != 1:
            return not node.key
        (code,) = node.key
        return self._is_scalar(code)

    def _is_scalar(self, code: int) -> bool:
        atom = self.atoms[code >> 1]
        if atom.__class__ is SchemaAtom:
            return not atom.mask & (OBJECT | ARRAY | COMBINE | REFERENCE | UNEVALUATED) and not atom.holds_places
        return atom.__class__ is TypeAtom or atom.__class__ is ListAtom

    def check_alternatives(self, node: Work) -> None:
        """Of a node that is finished."""
        if len(node.alternatives) > MOST_ALTERNATIVES:
            points = sum(
                isinstance(s, NumberShape) and s.low is not None and s.low == s.high for s in node.alternatives
            )
            self.check_size(len(node.alternatives) - points, "alternatives", node.pointer)

    def _check_alternatives(self, parts: Parts, pointer: str) -> None:
        if sum(map(len, parts)) > MOST_ALTERNATIVES:
            points = sum(s.low is not None and s.low == s.high for s in parts[NUMBERS])
            self.check_size(sum(map(len, parts)) - points, "alternatives", pointer)

    # ------------------------------------------------------------------ conjunction and disjunction

    def met_with(self, a: Parts, b: Parts, b_first: bool = False) -> Steps:
        """What is in both. `b_first`: b's properties come first."""
        if a is ANY or b is ANY:
            return b if a is ANY else a
        found = []
        several = False
        for t in TYPES:
            met = self._product(t, a[t], b[t], b_first)
            several = several or len(met) > 1
            found.append(met)
        return (yield from self._pruned(found)) if several else found

    def _product(self, t: int, a: list[Any], b: list[Any], b_first: bool = False) -> list[Any]:
        if a is ANY[t] or not b:
            return b
        if b is ANY[t] or not a:
            return a
        if t < STRINGS:
            return a
        if len(a) * len(b) > MOST_WORK:
            self.check_size(len(a) * len(b), "alternatives")
        found = []
        for x in a:
            for y in b:
                met = self._both(t, y, x) if b_first else self._both(t, x, y)
                if met is not None:
                    found.append(met)
            self.tick()
        return found

    def _both(self, t: int, a: Any, b: Any) -> Any:
        """What is in both shapes; None where that is certainly nothing."""
        if a is b:
            return a
        if t == OBJECTS:
            return objects.both(self, a, b)
        if t == ARRAYS:
            return arrays.both(self, a, b)
        if t == STRINGS:
            return both_strings(a, b, self.languages)
        met = numbers_.both(a, b)
        return None if numbers_.is_empty(met) else met

    def unite(self, several: list[Parts], track: bool = False) -> Parts:
        """What is in one of them."""
        if len(several) == 1:
            return several[0]
        found: list[list[Any]] = []
        for t in TYPES:
            if (not track or t < OBJECTS) and any(parts[t] is ANY[t] for parts in several):
                found.append(ANY[t])
                continue
            if t < STRINGS:
                found.append(EMPTY)
                continue
            filled = [parts[t] for parts in several if parts[t]]
            found.append(filled[0] if len(filled) == 1 else [s for shapes in filled for s in shapes])
        return found

    def _pruned(self, parts: Parts) -> Steps:
        """Without shapes that are certainly empty, or contained in another."""
        found: list[Any] = []
        for t in TYPES:
            shapes: Any = parts[t]
            if t == OBJECTS:
                shapes = self._discharged(shapes, closed=True)
            if len(shapes) > 1:
                shapes = simplified(t, shapes)
            if shapes and shapes is not ANY[t]:
                if t == OBJECTS:
                    shapes = yield from self._alive(shapes, objects_needed)
                elif t == ARRAYS:
                    shapes = yield from self._alive(shapes, arrays_needed)
                elif t == STRINGS:
                    shapes = [s for s in shapes if not strings.is_empty(s, self.languages)]
                elif t == NUMBERS:
                    shapes = [s for s in shapes if not numbers_.is_empty(s)]
            found.append(shapes)
        return found

    def _alive(self, shapes: list[Any], needed: Callable[[Any], list[list[Work]]]) -> Shapes:
        """Shapes that do not need a conjunction which is empty."""
        kept = []
        for shape in shapes:
            alive = True
            for choice in needed(shape):
                if len(choice) == 1:
                    alive = yield from self._may_hold(choice[0])
                else:
                    alive = False
                    for node in choice:
                        alive = alive or (yield from self._may_hold(node))
                if not alive:
                    break
            if alive:
                kept.append(shape)
        return kept

    def _may_hold(self, node: Work) -> Generator[Request, Any, bool]:
        """Is a value in the node, as far as its parts tell?"""
        if node.parts is None and len(node.key) == 1:
            (code,) = node.key
            if code >> 1 < len(self.atoms) and not code & 1:
                return True  # one schema: seldom empty, and found out later if it is
        parts = node.parts
        if parts is None:
            parts = yield node
        return parts is None or any(parts)

    # ------------------------------------------------------------------ plain keywords

    def plain(self, atom: SchemaAtom, track: bool) -> Parts:
        """The parts of the plain keywords of a schema."""
        mask = atom.mask
        parts = self.types(atom) if mask & TYPE else ANY
        if mask & ~TYPE & PLAIN or track:
            parts = list(parts)
            if mask & VALUES:
                parts = self._among_values(atom, parts)
            if mask & STRING and parts[STRINGS]:
                parts[STRINGS] = self._product(STRINGS, parts[STRINGS], self._read_strings(atom))
            if mask & NUMBER and parts[NUMBERS]:
                read = self._read_number(atom)
                if parts[NUMBERS] is ANY[NUMBERS]:
                    parts[NUMBERS] = EMPTY if numbers_.is_empty(read) else [read]
                else:
                    parts[NUMBERS] = self._product(NUMBERS, parts[NUMBERS], [read])
            if (mask & OBJECT or track) and parts[OBJECTS]:
                parts[OBJECTS] = self._product(OBJECTS, parts[OBJECTS], [objects.read(self, atom, track)])
            if (mask & ARRAY or track) and parts[ARRAYS]:
                parts[ARRAYS] = self._product(ARRAYS, parts[ARRAYS], [arrays.read(self, atom, track)])
        return parts

    def types(self, atom: SchemaAtom) -> Parts:
        listed = atom.schema["type"]
        names = [listed] if isinstance(listed, str) else listed
        four = atom.resource.draft == 4
        found = []
        for name in names if isinstance(names, list) else [names]:
            if not isinstance(name, str) or name not in OF_TYPE or name == "integer4":
                if isinstance(name, dict) or name == "any":
                    return ANY  # draft 3
                where = f"{atom.pointer}/type"
                raise GrammarError(f"{where}: there is no type {_brief(name)}", pointer=where)
            found.append(OF_TYPE["integer4" if four and name == "integer" else name])
        if len(found) == 1:
            return found[0]
        if "number" in names:
            found = [
                parts for parts in found if parts[NUMBERS] is not INTEGERS and parts[NUMBERS] is not PLAIN_INTEGERS
            ]
        return self.unite(found) if found else NONE

    def _read_strings(self, atom: SchemaAtom) -> list[StringShape]:
        try:
            shape = strings.read(atom.schema, self.formats)
            if shape.language:
                for part in shape.language:
                    self.check_language(frozenset([part]), f"{atom.pointer}/{part[0]}")
                if strings.is_empty(shape, self.languages):
                    return EMPTY
            elif shape.maximum is not None and shape.minimum > shape.maximum:
                return EMPTY
        except GrammarError as error:
            raise _placed(error, atom) from None
        return [shape]

    def _read_number(self, atom: SchemaAtom) -> NumberShape:
        try:
            return numbers_.read(atom.schema, pointer=atom.pointer)
        except GrammarError as error:
            raise _placed(error, atom) from None

    def _among_values(self, atom: SchemaAtom, parts: Parts) -> list[Any]:
        """enum and const: the listed values that are in `parts`."""
        listed = atom.schema.get("enum")
        found: Parts = parts
        if "enum" in atom.schema and "enum" in atom.resource.bits:
            if not isinstance(listed, list):
                where = f"{atom.pointer}/enum"
                raise GrammarError(f"{where}: a list of values is expected, not {_brief(listed)}", pointer=where)
            listed_parts = parts_of_values(self, listed, f"{atom.pointer}/enum")
            found = [self._product(t, listed_parts[t], found[t]) for t in TYPES]
        if "const" in atom.schema and "const" in atom.resource.bits:
            listed_parts = parts_of_values(self, [atom.schema["const"]], f"{atom.pointer}/const")
            found = [self._product(t, listed_parts[t], found[t]) for t in TYPES]
        return list(found)

    # ------------------------------------------------------------------ keywords that look into alternatives

    def positive(self, atom: SchemaAtom, track: bool) -> Steps:
        """The parts of a schema with any keywords."""
        schema, mask, resource = atom.schema, atom.mask, atom.resource
        unevaluated = mask & UNEVALUATED
        track = track or bool(unevaluated)
        if mask & REFERENCE and resource.draft <= 7 and "$ref" in schema:
            return (yield from self.ask(self._reference(atom, "$ref"), track))
        parts = self.plain(atom, track)
        before: list[str] = []
        after: list[str] = []
        passed = False
        for keyword in schema:
            bits = resource.bits.get(keyword, 0)
            if bits & (COMBINE | REFERENCE):
                (after if passed else before).append(keyword)
            passed = passed or keyword == "properties"
        if not passed:
            before, after = [], before
        # The order of the properties is the order of appearance: what stands before `properties` goes in front, the last first.
        for keyword, first in [(k, False) for k in after] + [(k, True) for k in reversed(before)]:
            if not any(parts):
                return NONE
            rule = _RULES[keyword]
            parts = yield from rule(self, atom, keyword, parts, track, first)
        if unevaluated:
            parts = yield from self._unevaluated(atom, parts)
        if any(len(shapes) > MOST_ALTERNATIVES for shapes in parts):
            self._check_alternatives(parts, atom.pointer)
        return parts

    def _reference(self, atom: SchemaAtom, keyword: str) -> Work:
        target, where, home, scope = self._follow_one(atom.schema, keyword, atom.pointer, atom.resource, atom.scope)
        return self._place(target, where, home, scope)

    def _refers(self, atom: SchemaAtom, keyword: str, parts: Parts, track: bool, first: bool) -> Steps:
        found = yield from self.ask(self._reference(atom, keyword), track)
        return (yield from self.met_with(parts, found, first))

    def branches(self, atom: SchemaAtom, keyword: str) -> list[Work]:
        listed = atom.schema[keyword]
        if not isinstance(listed, list) or (not listed and keyword != "allOf"):
            where = f"{atom.pointer}/{keyword}"
            raise GrammarError(f"{where}: a list of schemas is expected, not {_brief(listed)}", pointer=where)
        return [self.child(below, atom, keyword, str(i)) for i, below in enumerate(listed)]

    def _all_of(self, atom: SchemaAtom, keyword: str, parts: Parts, track: bool, first: bool) -> Steps:
        nodes = self.branches(atom, keyword)
        for node in reversed(nodes) if first else nodes:
            parts = yield from self.met_with(parts, (yield from self.ask(node, track)), first)
        return parts

    def _any_of(self, atom: SchemaAtom, keyword: str, parts: Parts, track: bool, first: bool) -> Steps:
        found: list[Parts] = []
        for node in dict.fromkeys(self.branches(atom, keyword)):
            branch = yield from self.ask(node, track)
            if track:  # all that hold count: with each branch come its conjunctions with those before
                together = []
                for earlier in found:
                    together.append((yield from self.met_with(earlier, branch)))
                    self.check_size(len(found) + len(together), "anyOf beside unevaluated keywords", atom.pointer)
                found += together
            found.append(branch)
        united = self.unite(found, track)
        if not track and len(found) > 1:
            united = yield from self._pruned(united)
        return (yield from self.met_with(parts, united, first))

    def _one_of(self, atom: SchemaAtom, keyword: str, parts: Parts, track: bool, first: bool) -> Steps:
        nodes = self.branches(atom, keyword)
        if len(nodes) == 1:
            return (yield from self.met_with(parts, (yield from self.ask(nodes[0], track)), first))
        several = []
        for node in nodes:
            branch = yield from self.ask(node, track)
            several.append((yield from self.met_with(parts, branch, first)))
        found: list[Any] = []
        for t in TYPES:
            filled = [i for i, branch in enumerate(several) if branch[t]]
            if len(filled) < 2:
                found.append(several[filled[0]][t] if filled else EMPTY)
            elif t < STRINGS:
                found.append(EMPTY)
            else:
                shapes = yield from self._each_alone(t, nodes, several, filled)
                found.append(shapes)
        return found

    def _each_alone(self, t: int, nodes: list[Work], several: list[Parts], filled: list[int]) -> Shapes:
        """Shapes of one type that are in exactly one branch."""
        found: list[Any] = []
        for i in filled:
            for shape in several[i][t]:
                left = [shape]
                for j in filled:
                    if i != j:
                        left = yield from self._outside(t, left, several[j][t], nodes[j], nodes[i])
                found += left
        return found

    def _outside(self, t: int, shapes: list[Any], others: list[Any], node: Work, own: Work) -> Shapes:
        """What of the shapes is not in `node`, whose shapes are `others`."""
        if node is own or not shapes:
            return EMPTY
        found: list[Any] = []
        several = False
        for shape in shapes:
            overlaps = False
            for other in others:
                overlaps = overlaps or bool((yield from self._overlap(t, shape, other)))
            if overlaps:
                negated = yield from self.ask(self.negate(node))
                found += self._product(t, [shape], negated[t])
                several = True
            else:
                found.append(shape)
        if several:
            return (yield from self._pruned(_one_type(t, found)))[t]
        return found

    def _overlap(self, t: int, a: Any, b: Any) -> Shapes:
        """The shapes in both, without those that are certainly empty."""
        met = self._both(t, a, b)
        if met is None:
            return EMPTY
        return (yield from self._pruned(_one_type(t, [met])))[t]

    def _not(self, atom: SchemaAtom, keyword: str, parts: Parts, track: bool, first: bool) -> Steps:
        denied = self.negate(self.child(atom.schema["not"], atom, "not"))
        return (yield from self.met_with(parts, (yield from self.ask(denied))))

    def _if(self, atom: SchemaAtom, keyword: str, parts: Parts, track: bool, first: bool) -> Steps:
        schema, bits = atom.schema, atom.resource.bits
        then = self.child(schema["then"], atom, "then") if "then" in schema and "then" in bits else ANYTHING
        otherwise = self.child(schema["else"], atom, "else") if "else" in schema and "else" in bits else ANYTHING
        if then is ANYTHING and otherwise is ANYTHING and not track:
            return parts
        condition = self.child(schema["if"], atom, "if")
        holds = yield from self.met_with(parts, (yield from self.ask(condition, track)), first)
        holds = yield from self.met_with(holds, (yield from self.ask(then, track)), first)
        if then is ANYTHING:  # "if, or not if and else" is "if or else"
            fails = parts
        else:
            fails = yield from self.met_with(parts, (yield from self.ask(self.negate(condition))))
        fails = yield from self.met_with(fails, (yield from self.ask(otherwise, track)), first)
        return (yield from self._pruned(self.unite([holds, fails], track)))

    def _dependent(self, atom: SchemaAtom, keyword: str, parts: Parts, track: bool, first: bool) -> Steps:
        """dependentSchemas, and the schemas in `dependencies`: the key is absent, or it is there and the schema holds."""
        for name, below in objects.mapping(atom.schema, keyword, atom.pointer).items():
            if keyword == "dependencies" and isinstance(below, list | str):
                continue
            node = self.child(below, atom, keyword, name)
            if node is ANYTHING or not parts[OBJECTS]:
                continue
            absent = _objects([objects.mentioning({name: NOTHING})])
            present = _objects([objects.mentioning({name: ANYTHING}, [name])])
            present = yield from self.met_with(present, (yield from self.ask(node, track)))
            parts = yield from self.met_with(parts, (yield from self._pruned(self.unite([absent, present], track))))
        return parts

    def _property_names(self, atom: SchemaAtom, keyword: str, parts: Parts, track: bool, first: bool) -> Steps:
        node = self.child(atom.schema["propertyNames"], atom, "propertyNames")
        shapes = (yield from self.ask(node))[STRINGS]
        if shapes is ANY[STRINGS] or not parts[OBJECTS]:
            return parts
        if not shapes:
            allowed = LooseObject(others=())
        else:
            allowed = objects.restrict_names(
                self, ANY_OBJECT, [s for s in shapes if not strings.is_empty(s, self.languages)]
            )
        return (yield from self.met_with(parts, _objects([allowed])))

    def _unevaluated(self, atom: SchemaAtom, parts: Parts) -> Steps:
        """What the applicators of an alternative have not looked at belongs to the node of the unevaluated keyword."""
        found = list(parts)
        schema = atom.schema
        if "unevaluatedProperties" in schema and parts[OBJECTS]:
            node = self.child(schema["unevaluatedProperties"], atom, "unevaluatedProperties")
            found[OBJECTS] = [s for s in (self._rest_of_keys(shape, node, atom) for shape in parts[OBJECTS]) if s]
        if "unevaluatedItems" in schema and parts[ARRAYS]:
            node = self.child(schema["unevaluatedItems"], atom, "unevaluatedItems")
            found[ARRAYS] = [s for s in (self._rest_of_items(shape, node) for shape in parts[ARRAYS]) if s]
        return (yield from self._pruned(found))

    def _rest_of_keys(self, shape: LooseObject, node: Work, atom: SchemaAtom) -> LooseObject | None:
        done = shape.evaluated or Evaluated()
        met: LooseObject | None = shape
        if not done.everything and node is not ANYTHING:
            patterns = [(self.pattern(p, atom), ANYTHING) for p in sorted(done.patterns)]
            others = objects.sort_out(self, patterns, node)
            rule = LooseObject(dict.fromkeys(done.names, ANYTHING), others, tail=done.names)
            met = objects.both(self, shape, rule)
        return met and met.copy(evaluated=Evaluated(done.names, done.patterns, True))

    def _rest_of_items(self, shape: LooseArray, node: Work) -> LooseArray | None:
        done = shape.evaluated or Evaluated()
        met: LooseArray | None = shape
        if not done.everything and node is not ANYTHING:
            allowed = self.union([node, *sorted(done.nodes, key=lambda other: sorted(other.key))], node.pointer)
            rest = () if allowed is NOTHING else ((allowed, 0),)
            rule = LooseArray((arrays.ANY_ITEM,) * done.prefix, rest)
            met = arrays.both(self, shape, rule)
        return met and met.copy(evaluated=Evaluated(everything=True))

    # ------------------------------------------------------------------ opposites

    def not_types(self, names: set[str]) -> Parts:
        found = []
        for t in TYPES:
            if t == NUMBERS and "number" not in names:
                named = next((OF_TYPE[name][NUMBERS] for name in ("integer", "integer4") if name in names), None)
                found.append(ANY[t] if named is None else numbers_.opposites(named[0]))
            else:
                found.append(EMPTY if any(OF_TYPE[name][t] for name in names) else ANY[t])
        return found

    def negative(self, atom: SchemaAtom) -> Steps:
        """The parts of the values that a schema does not admit: they break one of its keywords."""
        schema, mask, resource = atom.schema, atom.mask, atom.resource
        if mask & REFERENCE and resource.draft <= 7 and "$ref" in schema:
            return (yield from self.ask(self.negate(self._reference(atom, "$ref"))))
        found: list[Parts] = []
        if mask & TYPE:
            listed = schema["type"]
            if self.types(atom) is not ANY:
                names = {listed} if isinstance(listed, str) else set(listed)
                if resource.draft == 4 and "integer" in names:
                    names = names - {"integer"} | {"integer4"}
                found.append(self.not_types(names))
        if mask & VALUES:
            found.append((yield from self._not_values(atom)))
        if mask & STRING:
            found.append(_one_type(STRINGS, [s for r in self._read_strings(atom) for s in strings.opposites(r)]))
            if not self._read_strings(atom):
                found.append(_one_type(STRINGS, ANY[STRINGS]))
        if mask & NUMBER:
            found.append(_one_type(NUMBERS, numbers_.opposites(self._read_number(atom))))
        if mask & OBJECT:
            found.append(_one_type(OBJECTS, objects.opposites(self, atom)))
        if mask & ARRAY:
            found.append(_one_type(ARRAYS, arrays.opposites(self, atom)))
        for keyword in schema:
            if resource.bits.get(keyword, 0) & (COMBINE | REFERENCE):
                found.append((yield from _OPPOSITES[keyword](self, atom, keyword)))
        united = self.unite(found) if found else NONE
        if mask & UNEVALUATED:
            united = self.unite([united, self._not_unevaluated(atom)])
        united = [simplified(t, shapes) if len(shapes) > 1 else shapes for t, shapes in enumerate(united)]
        self._check_alternatives(united, atom.pointer)
        return united

    def _not_unevaluated(self, atom: SchemaAtom) -> Parts:
        """Which keys are not evaluated depends on what else holds: no shape says that."""
        parts = list(NONE)
        made: list[tuple[str, int, LooseObject | LooseArray]] = [
            ("unevaluatedProperties", OBJECTS, LooseObject(minimum=1)),
            ("unevaluatedItems", ARRAYS, LooseArray(minimum=1)),
        ]
        for keyword, t, shape in made:
            if keyword in atom.schema and self.child(atom.schema[keyword], atom, keyword) is not ANYTHING:
                what = f"what breaks {keyword} (it stands below `not`, or in a branch that oneOf or if excludes)"
                shape.refusal = (what, f"{atom.pointer}/{keyword}")
                parts[t] = [shape]
        return parts

    def _not_values(self, atom: SchemaAtom) -> Steps:
        schema, found = atom.schema, []
        for keyword in ("enum", "const"):
            if keyword not in schema or keyword not in atom.resource.bits:
                continue
            listed = schema["enum"] if keyword == "enum" else [schema["const"]]
            if not isinstance(listed, list):
                raise GrammarError(f"{atom.pointer}/enum: a list of values is expected", pointer=f"{atom.pointer}/enum")
            parts = literal_parts(listed)
            for value in listed:
                if isinstance(value, dict | list):
                    denied = self.negate(self.value(value, f"{atom.pointer}/{keyword}"))
                    parts = yield from self.met_with(parts, (yield from self.ask(denied)))
            found.append(parts)
        return self.unite(found)

    def _no_reference(self, atom: SchemaAtom, keyword: str) -> Steps:
        return (yield from self.ask(self.negate(self._reference(atom, keyword))))

    def _not_all_of(self, atom: SchemaAtom, keyword: str) -> Steps:
        found: list[Parts] = [NONE]
        for node in self.branches(atom, keyword):
            found.append((yield from self.ask(self.negate(node))))
        return self.unite(found)

    def _not_any_of(self, atom: SchemaAtom, keyword: str) -> Steps:
        parts = ANY
        for node in self.branches(atom, keyword):
            parts = yield from self.met_with(parts, (yield from self.ask(self.negate(node))))
        return parts

    def _not_one_of(self, atom: SchemaAtom, keyword: str) -> Steps:
        """None of them, or two."""
        nodes = self.branches(atom, keyword)
        found: list[Parts] = [(yield from self._not_any_of(atom, keyword))]
        for i, a in enumerate(nodes):
            for b in nodes[:i]:
                found.append((yield from self.met_with((yield from self.ask(a)), (yield from self.ask(b)))))
        return (yield from self._pruned(self.unite(found)))

    def _not_not(self, atom: SchemaAtom, keyword: str) -> Steps:
        return (yield from self.ask(self.child(atom.schema["not"], atom, "not")))

    def _not_if(self, atom: SchemaAtom, keyword: str) -> Steps:
        schema, bits = atom.schema, atom.resource.bits
        condition = self.child(schema["if"], atom, "if")
        found: list[Parts] = [NONE]
        for branch, node in (("then", condition), ("else", self.negate(condition))):
            if branch in schema and branch in bits:
                denied = self.negate(self.child(schema[branch], atom, branch))
                if denied is not NOTHING:
                    found.append((yield from self.met_with((yield from self.ask(node)), (yield from self.ask(denied)))))
        return self.unite(found)

    def _not_dependent(self, atom: SchemaAtom, keyword: str) -> Steps:
        found: list[Parts] = [NONE]
        for name, below in objects.mapping(atom.schema, keyword, atom.pointer).items():
            if keyword == "dependencies" and isinstance(below, list | str):
                continue
            present = _one_type(OBJECTS, [objects.mentioning({name: ANYTHING}, [name])])
            denied = self.negate(self.child(below, atom, keyword, name))
            found.append((yield from self.met_with(present, (yield from self.ask(denied)))))
        return self.unite(found)

    def _not_property_names(self, atom: SchemaAtom, keyword: str) -> Steps:
        denied = self.negate(self.child(atom.schema["propertyNames"], atom, "propertyNames"))
        shapes = (yield from self.ask(denied))[STRINGS]
        where = f"{atom.pointer}/propertyNames"
        return _one_type(OBJECTS, [LooseObject(some=((objects.language_of(s), ANYTHING, where),)) for s in shapes])


_RULES: dict[str, Callable[..., Steps]] = {
    "$ref": Normaliser._refers,
    "$dynamicRef": Normaliser._refers,
    "$recursiveRef": Normaliser._refers,
    "allOf": Normaliser._all_of,
    "anyOf": Normaliser._any_of,
    "oneOf": Normaliser._one_of,
    "not": Normaliser._not,
    "if": Normaliser._if,
    "dependentSchemas": Normaliser._dependent,
    "dependencies": Normaliser._dependent,
    "propertyNames": Normaliser._property_names,
}
_OPPOSITES: dict[str, Callable[..., Steps]] = {
    "$ref": Normaliser._no_reference,
    "$dynamicRef": Normaliser._no_reference,
    "$recursiveRef": Normaliser._no_reference,
    "allOf": Normaliser._not_all_of,
    "anyOf": Normaliser._not_any_of,
    "oneOf": Normaliser._not_one_of,
    "not": Normaliser._not_not,
    "if": Normaliser._not_if,
    "dependentSchemas": Normaliser._not_dependent,
    "dependencies": Normaliser._not_dependent,
    "propertyNames": Normaliser._not_property_names,
}


def _one_type(t: int, shapes: list[Any]) -> Parts:
    return [shapes if k == t else EMPTY for k in TYPES]


def _objects(shapes: list[LooseObject]) -> Parts:
    """These objects, and whatever is no object."""
    return [shapes if k == OBJECTS else ANY[k] for k in TYPES]


def objects_needed(shape: LooseObject) -> list[list[Work]]:
    return [[shape.properties[name]] for name in shape.required] + [[node] for _, node, _ in shape.some]


def arrays_needed(shape: LooseArray) -> list[list[Work]]:
    needed = [[node for node, _ in ways] for ways in shape.prefix[: shape.minimum]]
    if shape.minimum > len(shape.prefix):
        needed.append([node for node, _ in shape.rest])
    return needed


def both_strings(a: StringShape, b: StringShape, languages: Languages) -> StringShape | None:
    if b.values is not None and a.values is None:
        a, b = b, a
    if a.values is not None:
        if b.values is not None:
            also = set(b.values)
            kept = tuple(v for v in a.values if v in also)
        else:
            kept = tuple(v for v in a.values if strings.has(b, v, languages))
        return StringShape(values=kept) if kept else None
    return strings.both(a, b)


def identical(a: Any, b: Any) -> bool:
    """The same JSON, where true is not 1."""
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if a.__class__ is not b.__class__:
            return False
        if isinstance(a, dict):
            if a.keys() != b.keys():
                return False
            stack += [(a[k], b[k]) for k in a]
        elif isinstance(a, list):
            if len(a) != len(b):
                return False
            stack += zip(a, b, strict=True)
        elif a != b:
            return False
    return True


def _placed(error: GrammarError, atom: SchemaAtom) -> GrammarError:
    """The error, with the place it is about."""
    if error.pointer is not None and error.pointer.startswith(atom.pointer):
        return error
    keyword = str(error).split(" ", 1)[0].rstrip(":")
    pointer = f"{atom.pointer}/{keyword}" if keyword in atom.schema else atom.pointer
    return type(error)(f"{pointer or '#'}: {error}", position=error.position, pointer=pointer)


def _to_relax(pointer: str | None, relaxed: list[str]) -> str | None:
    """The pointer of the keyword to leave out next. Below `not`, `if` and `oneOf` that is the outermost of these: without what
    stands inside, they would refuse more instead of less. (`oneOf` is read as `anyOf`.)"""
    if pointer is None:
        return None
    tokens = pointer.split("/")
    for i, token in enumerate(tokens):
        if token in ("not", "if", "oneOf") and tokens[i - 1] not in SCHEMA_MAPS:
            outer = "/".join(tokens[: i + 1])
            if outer not in relaxed:
                return outer
    return pointer if pointer not in relaxed else None


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
