"""Arrays: reading their keywords, conjunction, negation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grammarlm.grammars.json_schema.nodes.by_type import (
    ANY_ARRAY,
    ANY_ITEM,
    ANYTHING,
    NOTHING,
    Conjunction,
    Evaluated,
    LooseArray,
    Ways,
    both_evaluated,
)
from grammarlm.grammars.json_schema.nodes.case_limits import check_size
from grammarlm.grammars.json_schema.read.expected import refusal

from .objects import count_of

if TYPE_CHECKING:
    from grammarlm.grammars.json_schema.nodes.atoms import SchemaAtom
    from grammarlm.grammars.json_schema.nodes.normaliser import Normaliser


def positions(n: Normaliser, atom: SchemaAtom) -> tuple[list[Conjunction], Conjunction, bool]:
    """The nodes by position, the node of later items, and whether a keyword is about the later ones."""
    schema, pointer, bits = atom.schema, atom.pointer, atom.resource.bits
    items = schema.get("items")
    prefix: list[Conjunction] = []
    if "prefixItems" in schema:
        listed = schema["prefixItems"]
        if not isinstance(listed, list):
            raise refusal(schema, "prefixItems", pointer)
        prefix = [n.locations.child(below, atom, "prefixItems", str(i)) for i, below in enumerate(listed)]
    if items.__class__ is list:
        if "prefixItems" not in schema:
            prefix = [n.locations.child(below, atom, "items", str(i)) for i, below in enumerate(items)]  # type: ignore[arg-type]
        if "additionalItems" in schema and "additionalItems" in bits:
            return prefix, n.locations.child(schema["additionalItems"], atom, "additionalItems"), True
        return prefix, ANYTHING, False
    if "items" in schema:
        return prefix, n.locations.child(items, atom, "items"), True
    return prefix, ANYTHING, False


def counted(schema: dict[str, Any], pointer: str) -> tuple[int, int | None]:
    """The number of items that `contains` wants."""
    low = count_of(schema, "minContains", pointer)
    return 1 if low is None else low, count_of(schema, "maxContains", pointer)


def are_unique(schema: dict[str, Any], pointer: str) -> bool:
    unique = schema.get("uniqueItems", False)
    if not isinstance(unique, bool):
        raise refusal(schema, "uniqueItems", pointer)
    return unique


def read(n: Normaliser, atom: SchemaAtom, track: bool) -> LooseArray:
    """The shape of the plain keywords of a schema."""
    schema, pointer = atom.schema, atom.pointer
    prefix, rest, covers_rest = positions(n, atom)
    shape = LooseArray(tuple(_way(node) for node in prefix), _way(rest))
    shape.minimum = count_of(schema, "minItems", pointer) or 0
    shape.maximum = count_of(schema, "maxItems", pointer)
    shape.unique = are_unique(schema, pointer)
    wanted = None
    if "contains" in schema:
        wanted = n.locations.child(schema["contains"], atom, "contains")
        low, high = counted(schema, pointer)
        shape = containing(n, shape, wanted, low, high)
    if track:
        nodes = frozenset([wanted] if wanted is not None and atom.resource.draft != 2019 else [])
        shape.evaluated = Evaluated(prefix=len(prefix), everything=covers_rest, nodes=nodes)
    return shape


def _way(node: Conjunction) -> Ways:
    return ANY_ITEM if node is ANYTHING else () if node is NOTHING else ((node, 0),)


def containing(
    n: Normaliser, shape: LooseArray, wanted: Conjunction, low: int, high: int | None, first: int = 0
) -> LooseArray:
    """`shape` with the condition that low..high of the items from position `first` on belong to `wanted`."""
    if high is None and low == 0:
        return shape
    if high is not None and low > high:
        return replace(shape, minimum=1, maximum=0)
    if high == 0 and low == 0:
        return items_in(n, shape, n.nodes.negate(wanted), first)
    if wanted is ANYTHING and first == 0:  # each item counts
        more = LooseArray(minimum=low, maximum=high)
        return both(n, shape, more) or replace(shape, minimum=1, maximum=0)
    bit = 1 << len(shape.contains)
    # With a minimum of 1 alone, an item read as not counting does no harm. Otherwise the two readings must be disjoint.
    outside = ANYTHING if high is None and low == 1 else n.nodes.negate(wanted)

    def split(ways: Ways) -> Ways:
        found = []
        for node, counts in ways:
            for met, more in ((n.meet(node, wanted), counts | bit), (n.meet(node, outside), counts)):
                if met is not NOTHING:
                    found.append((met, more))
        check_size(len(found), "contains")
        return tuple(found)

    prefix = shape.prefix + (shape.rest,) * (first - len(shape.prefix))
    return replace(
        shape,
        prefix=prefix[:first] + tuple(split(ways) for ways in prefix[first:]),
        rest=split(shape.rest),
        contains=(*shape.contains, (low, high)),
    )


def items_in(n: Normaliser, shape: LooseArray, node: Conjunction, first: int = 0) -> LooseArray:
    """`shape`, with the items from position `first` on in `node`."""

    def met(ways: Ways) -> Ways:
        found = [(n.meet(known, node), counts) for known, counts in ways]
        return tuple((known, counts) for known, counts in found if known is not NOTHING)

    prefix = shape.prefix + (shape.rest,) * (first - len(shape.prefix))
    return replace(shape, prefix=prefix[:first] + tuple(met(ways) for ways in prefix[first:]), rest=met(shape.rest))


def both(n: Normaliser, a: LooseArray, b: LooseArray) -> LooseArray | None:
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
    shape = LooseArray(prefix, rest, minimum, maximum, a.contains + b.contains, a.unique or b.unique)
    shape.refusal = a.refusal or b.refusal
    if a.evaluated is not None or b.evaluated is not None:
        shape.evaluated = both_evaluated(a.evaluated, b.evaluated)
    return shape


def _both_ways(n: Normaliser, a: Ways, b: Ways, shift: int) -> Ways:
    if b is ANY_ITEM or (a is b and not shift):
        return a
    if a is ANY_ITEM and not shift:
        return b
    found = []
    for node_a, counts_a in a:
        for node_b, counts_b in b:
            node = n.meet(node_a, node_b)
            if node is not NOTHING:
                found.append((node, counts_a | counts_b << shift))
    check_size(len(found), "contains")
    return tuple(found)


def opposites(n: Normaliser, atom: SchemaAtom) -> list[LooseArray]:
    """Shapes whose union is all arrays that violate one of the plain keywords."""
    schema, pointer = atom.schema, atom.pointer
    found: list[LooseArray] = []
    minimum, maximum = count_of(schema, "minItems", pointer), count_of(schema, "maxItems", pointer)
    if minimum:
        found.append(LooseArray(maximum=minimum - 1))
    if maximum is not None:
        found.append(LooseArray(minimum=maximum + 1))
    prefix, rest, _ = positions(n, atom)
    for i, node in enumerate(prefix):
        negated = n.nodes.negate(node)
        if negated is not NOTHING:
            found.append(LooseArray((*(ANY_ITEM,) * i, ((negated, 0),)), minimum=i + 1))
    negated = n.nodes.negate(rest)
    if negated is ANYTHING:
        found.append(LooseArray(minimum=len(prefix) + 1))
    elif negated is not NOTHING:
        found.append(containing(n, LooseArray(), negated, 1, None, first=len(prefix)))
    if "contains" in schema:
        wanted = n.locations.child(schema["contains"], atom, "contains")
        low, high = counted(schema, pointer)
        if low:
            found.append(containing(n, LooseArray(), wanted, 0, low - 1))
        if high is not None:
            found.append(containing(n, LooseArray(), wanted, high + 1, None))
    if are_unique(schema, pointer):
        twice = LooseArray(minimum=2)
        twice.refusal = (
            "two equal items, which is what the opposite of uniqueItems asks for",
            f"{pointer}/uniqueItems",
        )
        found.append(twice)
    return found
