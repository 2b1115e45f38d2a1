"""Arrays: reading their keywords, what satisfies and what breaks them, conjunction."""

from __future__ import annotations

from dataclasses import dataclass, replace

from grammarlm.grammars.json_schema.nodes.atoms import SchemaAtom
from grammarlm.grammars.json_schema.nodes.by_type import ANY_ARRAY, NOTHING, both_evaluated
from grammarlm.grammars.json_schema.nodes.case_limits import check_size
from grammarlm.grammars.json_schema.nodes.reading import Reading
from grammarlm.grammars.json_schema.read.expected import refusal
from grammarlm.grammars.json_schema.shapes.shapes import ANY_ITEM, ANYTHING, ArrayShape, Evaluated, Item, Node, Ways

from .objects import count_of


@dataclass(slots=True)
class ArrayKeywords:
    """What the plain keywords about arrays say: the arrays that satisfy them have one shape, those that do not have several."""

    prefix: list[Node]
    rest: Node = ANYTHING  # later items
    covers_rest: bool = False  # is a keyword about the later ones?
    minimum: int = 0
    maximum: int | None = None
    wanted: Node | None = None  # of contains
    least: int = 1  # of these; from minContains
    most: int | None = None
    unique: bool = False


def read(n: Reading, atom: SchemaAtom) -> ArrayKeywords:
    """The plain keywords of a schema."""
    schema, pointer = atom.schema, atom.pointer
    said = _positions(n, atom)
    said.minimum = count_of(schema, "minItems", pointer) or 0
    said.maximum = count_of(schema, "maxItems", pointer)
    if "contains" in schema:
        said.wanted = n.locations.child(schema["contains"], atom, "contains")
        low = count_of(schema, "minContains", pointer)
        said.least = 1 if low is None else low
        said.most = count_of(schema, "maxContains", pointer)
    said.unique = schema.get("uniqueItems", False)
    if not isinstance(said.unique, bool):
        raise refusal(schema, "uniqueItems", pointer)
    return said


def _positions(n: Reading, atom: SchemaAtom) -> ArrayKeywords:
    schema, pointer, bits = atom.schema, atom.pointer, atom.resource.bits
    items = schema.get("items")
    prefix: list[Node] = []
    if "prefixItems" in schema:
        listed = schema["prefixItems"]
        if not isinstance(listed, list):
            raise refusal(schema, "prefixItems", pointer)
        prefix = [n.locations.child(below, atom, "prefixItems", str(i)) for i, below in enumerate(listed)]
    if items.__class__ is list:
        if "prefixItems" not in schema:
            prefix = [n.locations.child(below, atom, "items", str(i)) for i, below in enumerate(items)]  # type: ignore[arg-type]
        if "additionalItems" in schema and "additionalItems" in bits:
            return ArrayKeywords(prefix, n.locations.child(schema["additionalItems"], atom, "additionalItems"), True)
        return ArrayKeywords(prefix)
    if "items" in schema:
        return ArrayKeywords(prefix, n.locations.child(items, atom, "items"), True)
    return ArrayKeywords(prefix)


def shape_of(n: Reading, said: ArrayKeywords, track: bool = False, contains_evaluates: bool = True) -> ArrayShape:
    """The arrays that satisfy the keywords."""
    shape = ArrayShape(tuple(_way(node) for node in said.prefix), _way(said.rest), said.minimum, said.maximum)
    shape.unique = said.unique
    if said.wanted is not None:
        shape = containing(n, shape, said.wanted, said.least, said.most)
    if track:
        nodes = frozenset([said.wanted] if said.wanted is not None and contains_evaluates else [])
        shape.evaluated = Evaluated(prefix=len(said.prefix), everything=said.covers_rest, nodes=nodes)
    return shape


def _way(node: Node) -> Ways:
    return ANY_ITEM if node is ANYTHING else () if node is NOTHING else (Item(node),)


def containing(n: Reading, shape: ArrayShape, wanted: Node, low: int, high: int | None, first: int = 0) -> ArrayShape:
    """`shape` with the condition that low..high of the items from position `first` on belong to `wanted`."""
    if high is None and low == 0:
        return shape
    if high is not None and low > high:
        return replace(shape, minimum=1, maximum=0)
    if high == 0 and low == 0:
        return items_in(n, shape, n.nodes.negate(wanted), first)
    if wanted is ANYTHING and first == 0:  # each item counts
        more = ArrayShape(minimum=low, maximum=high)
        return both(n, shape, more) or replace(shape, minimum=1, maximum=0)
    bit = 1 << len(shape.contains)
    # With a minimum of 1 alone, an item read as not counting does no harm. Otherwise the two readings must be disjoint.
    outside = ANYTHING if high is None and low == 1 else n.nodes.negate(wanted)

    def split(ways: Ways) -> Ways:
        found = []
        for node, counts in ways:
            for met, more in ((n.meet(node, wanted), counts | bit), (n.meet(node, outside), counts)):
                if met is not NOTHING:
                    found.append(Item(met, more))
        check_size(len(found), "contains")
        return tuple(found)

    prefix = shape.prefix + (shape.rest,) * (first - len(shape.prefix))
    return replace(
        shape,
        prefix=prefix[:first] + tuple(split(ways) for ways in prefix[first:]),
        rest=split(shape.rest),
        contains=(*shape.contains, (low, high)),
    )


def items_in(n: Reading, shape: ArrayShape, node: Node, first: int = 0) -> ArrayShape:
    """`shape`, with the items from position `first` on in `node`."""

    def met(ways: Ways) -> Ways:
        found = [Item(n.meet(known, node), counts) for known, counts in ways]
        return tuple(way for way in found if way.node is not NOTHING)

    prefix = shape.prefix + (shape.rest,) * (first - len(shape.prefix))
    return replace(shape, prefix=prefix[:first] + tuple(met(ways) for ways in prefix[first:]), rest=met(shape.rest))


def both(n: Reading, a: ArrayShape, b: ArrayShape) -> ArrayShape | None:
    """The intersection; None where that is certainly empty."""
    if a is ANY_ARRAY or b is ANY_ARRAY:
        return b if a is ANY_ARRAY else a
    minimum = max(a.minimum, b.minimum)
    maximum = b.maximum if a.maximum is None else a.maximum if b.maximum is None else min(a.maximum, b.maximum)
    if maximum is not None and minimum > maximum:
        return None
    shift = len(a.contains)
    prefix = tuple(_both_ways(n, a.ways(i), b.ways(i), shift) for i in range(max(len(a.prefix), len(b.prefix))))
    rest = _both_ways(n, a.rest, b.rest, shift)
    if any(not ways for ways in prefix[:minimum]) or (not rest and minimum > len(prefix)):
        return None
    shape = ArrayShape(prefix, rest, minimum, maximum, a.contains + b.contains, a.unique or b.unique)
    shape.refusal = a.refusal or b.refusal
    if a.evaluated is not None or b.evaluated is not None:
        shape.evaluated = both_evaluated(a.evaluated, b.evaluated)
    return shape


def _both_ways(n: Reading, a: Ways, b: Ways, shift: int) -> Ways:
    if b is ANY_ITEM or (a is b and not shift):
        return a
    if a is ANY_ITEM and not shift:
        return b
    found = []
    for node_a, counts_a in a:
        for node_b, counts_b in b:
            node = n.meet(node_a, node_b)
            if node is not NOTHING:
                found.append(Item(node, counts_a | counts_b << shift))
    check_size(len(found), "contains")
    return tuple(found)


def opposites(n: Reading, said: ArrayKeywords, pointer: str) -> list[ArrayShape]:
    """Shapes whose union is all arrays that violate one of the keywords, which are those of the schema at the pointer."""
    found: list[ArrayShape] = []
    if said.minimum:
        found.append(ArrayShape(maximum=said.minimum - 1))
    if said.maximum is not None:
        found.append(ArrayShape(minimum=said.maximum + 1))
    for i, node in enumerate(said.prefix):
        negated = n.nodes.negate(node)
        if negated is not NOTHING:
            found.append(ArrayShape((*(ANY_ITEM,) * i, (Item(negated),)), minimum=i + 1))
    negated = n.nodes.negate(said.rest)
    if negated is ANYTHING:
        found.append(ArrayShape(minimum=len(said.prefix) + 1))
    elif negated is not NOTHING:
        found.append(containing(n, ArrayShape(), negated, 1, None, first=len(said.prefix)))
    if said.wanted is not None:
        if said.least:
            found.append(containing(n, ArrayShape(), said.wanted, 0, said.least - 1))
        if said.most is not None:
            found.append(containing(n, ArrayShape(), said.wanted, said.most + 1, None))
    if said.unique:
        what = "two equal items, which is what the opposite of uniqueItems asks for"
        found.append(ArrayShape(minimum=2, refusal=(what, f"{pointer}/uniqueItems")))
    return found
