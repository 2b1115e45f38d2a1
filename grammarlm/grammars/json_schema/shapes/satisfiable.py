"""Which nodes have a value at all.

A value is finite, so a node that can only be satisfied by way of itself is empty: satisfiable is the least fixpoint of

    a node      has a possible alternative
    an object   has a satisfiable node for each required key, and enough keys that may be present
    an array    has enough positions with values, as many as its `contains` want, and different ones where required

Most nodes are decided at the first visit (a scalar, or an object that may be empty); the rest are a worklist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammarlm.errors import GrammarError, UnsupportedFeature, placed_error
from grammarlm.grammars.json_schema.nodes.by_type import ANY, ARRAYS, FALSE, NULL, NUMBERS, OBJECTS, STRINGS, TRUE
from grammarlm.grammars.json_schema.strings.strings import is_text

from .cardinality import Differing
from .shapes import ArrayShape, Node, ObjectShape

if TYPE_CHECKING:
    from grammarlm.grammars.json_schema.nodes.normaliser import Normaliser

CONTAINS = ("contains",)
MOST_DEPTH = 60  # arrays in each other whose items must differ; deeper ones are taken to have enough
MOST_COUNTS = 4_096  # states of several `contains` counters together


def settle(n: Normaliser, root: Node) -> None:
    """Computes the shapes of all nodes below the root, and which of them are satisfiable."""
    _spread(n, _explore(n, root))


def _explore(n: Normaliser, root: Node) -> list[Node]:
    """Computes the shapes of all nodes below the root; returns those that are not certainly satisfiable, the deepest first."""
    if root.seen:  # one of the nodes that all schemas share
        return []
    queue, waiting = [root], []
    root.seen = True
    for node in queue:  # grows during the loop
        n.tick()
        try:
            by_type = n.shapes_of(node)
        except GrammarError as error:
            raise _placed(error, node) from None
        sure = bool(by_type[NUMBERS] or by_type[NULL] or by_type[TRUE] or by_type[FALSE])
        sure = sure or any(shape.values is None or any(map(is_text, shape.values)) for shape in by_type[STRINGS])
        sure = sure or any(not (s.required or s.minimum or s.some) for s in by_type[OBJECTS])
        sure = sure or any(not (s.minimum or any(low for low, _ in s.contains)) for s in by_type[ARRAYS])
        for child in _children(node):
            if not child.seen:
                child.seen = True
                queue.append(child)
        if sure:
            node.satisfiable = True
        else:
            waiting.append(node)
    waiting.reverse()
    return waiting


def _spread(n: Normaliser, waiting: list[Node]) -> None:
    """Computes the least fixpoint: a node is checked again when one below it becomes satisfiable."""
    above: dict[Node, list[Node]] = {}
    for node in waiting:
        for child in set(_children(node)):
            above.setdefault(child, []).append(node)
    queue = waiting[::-1]
    while queue:
        node = queue.pop()
        if not node.satisfiable and _settled(n, node):
            queue += above.get(node, ())


def _children(node: Node) -> list[Node]:
    assert node.by_type is not None
    found: list[Node] = []
    for shape in node.by_type[OBJECTS]:
        found += shape.properties.values()
        found += [child for _, child in shape.others]
        found += [child for _, child, _ in shape.some]
    for shape in node.by_type[ARRAYS]:
        found += [child for ways in (*shape.prefix, shape.rest) for child, _ in ways]
    return found


def _settled(n: Normaliser, node: Node) -> bool:
    n.tick()
    assert node.by_type is not None
    try:
        node.satisfiable = any(object_possible(n, s) for s in node.by_type[OBJECTS]) or any(
            array_possible(n, s) for s in node.by_type[ARRAYS]
        )
    except UnsupportedFeature as error:
        raise _placed(error, node) from None
    return node.satisfiable


def _placed(error: GrammarError, node: Node) -> GrammarError:
    """The error with the pointer of its node, unless it has a better one."""
    if error.pointer is not None:
        return error
    return placed_error(error, node.pointer)


def closure(shape: ObjectShape, names: frozenset[str]) -> frozenset[str]:
    """The names and everything that they imply, transitively."""
    if not shape.implied:
        return names
    found, waiting = set(names), list(names)
    while waiting:
        for name in shape.implied.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found)


def object_possible(n: Normaliser, shape: ObjectShape) -> bool:
    properties = shape.properties
    needed = closure(shape, shape.required) if shape.implied else shape.required
    for name in needed:
        if not properties[name].satisfiable or not is_text(name):
            return False
    for _, node, _ in shape.some:
        if not node.satisfiable:
            return False
    least = len(needed) + bool(shape.some)
    if shape.maximum is not None and max(least, shape.minimum) > shape.maximum:
        return False
    if shape.minimum <= len(needed):
        return True
    return available(n, shape, shape.minimum) >= shape.minimum


def can_open(shape: ObjectShape, name: str) -> bool:
    """May the key be present at all?"""
    if not shape.properties[name].satisfiable or not is_text(name):
        return False
    if not shape.implied:
        return shape.maximum is None or name in shape.required or len(shape.required) < shape.maximum
    together = closure(shape, shape.required | {name})
    if shape.maximum is not None and len(together) > shape.maximum:
        return False
    return all(shape.properties[other].satisfiable and is_text(other) for other in together)


def available(n: Normaliser, shape: ObjectShape, enough: int) -> int:
    """The number of keys that can be present, at most `enough`."""
    count = sum(can_open(shape, name) for name in shape.properties)
    for language, node in shape.others:
        if count >= enough:
            return enough
        if node.satisfiable:
            if not any(holds for _, _, holds in language):
                return enough
            names = tuple(shape.properties)
            beyond = language | {("words", names, False)} if names else language
            count += n.languages.count(beyond, 0, None, enough - count)
    return min(count, enough)


def array_possible(n: Normaliser, shape: ArrayShape, depth: int = 0) -> bool:
    length = shortest(shape)
    if length is None:
        return False

    def holds_containers(node: Node) -> bool:
        by_type = node.by_type or ANY
        if any(object_possible(n, inner) for inner in by_type[OBJECTS]):
            return True
        return any(array_possible(n, inner, depth + 1) for inner in by_type[ARRAYS])

    return (
        not shape.unique
        or length < 2
        or depth > MOST_DEPTH
        or Differing(n.languages, holds_containers).can(shape, length)
    )


def shortest(shape: ArrayShape) -> int | None:
    """The smallest number of items, or None where there is none."""
    longest = shape.maximum
    for i, ways in enumerate(shape.prefix):
        if not any(node.satisfiable for node, _ in ways):
            longest = i if longest is None else min(longest, i)
            break
    else:
        if not any(node.satisfiable for node, _ in shape.rest):
            longest = len(shape.prefix) if longest is None else min(longest, len(shape.prefix))
    if longest is not None and shape.minimum > longest:
        return None
    if not shape.contains:
        return shape.minimum
    length = _shortest_of_one(shape) if len(shape.contains) == 1 else _shortest_of_several(shape, longest)
    return None if length is None or (longest is not None and length > longest) else length


def _shortest_of_one(shape: ArrayShape) -> int | None:
    """One `contains`: the number of items that count is between two sums, and takes each value between them."""
    ((wanted, most),) = shape.contains
    fewest = highest = length = 0

    def step(ways) -> tuple[int, int]:
        counts = [bits for node, bits in ways if node.satisfiable]
        return (min(counts), max(counts)) if counts else (0, 0)

    for ways in shape.prefix:
        if length >= shape.minimum and highest >= wanted:
            break
        low, high = step(ways)
        fewest, highest, length = fewest + low, highest + high, length + 1
    else:
        low, high = step(shape.rest)
        more = max(shape.minimum - length, 0)
        if highest + more * high < wanted:
            if not high:
                return None
            more = wanted - highest
        fewest, highest, length = fewest + more * low, highest + more * high, length + more
    return length if most is None or fewest <= most else None


def _shortest_of_several(shape: ArrayShape, longest: int | None) -> int | None:
    """Several `contains`: all reachable counts, each clamped where more makes no difference."""
    caps = [low if high is None else high + 1 for low, high in shape.contains]
    enough = shape.minimum + sum(caps) + len(shape.prefix)
    if enough > MOST_COUNTS:
        raise UnsupportedFeature(
            f"several `contains` that need {enough} items; at most {MOST_COUNTS} are supported", keywords=CONTAINS
        )
    states = {(0,) * len(caps)}
    for length in range(enough + 1):
        if length >= shape.minimum and any(
            all(
                low <= count and (high is None or count <= high)
                for count, (low, high) in zip(s, shape.contains, strict=True)
            )
            for s in states
        ):
            return length
        if longest is not None and length >= longest:
            return None
        masks = {bits for node, bits in shape.ways(length) if node.satisfiable}
        states = {
            tuple(min(count + (bits >> i & 1), caps[i]) for i, count in enumerate(s)) for s in states for bits in masks
        }
        if len(states) > MOST_COUNTS:
            raise UnsupportedFeature(
                f"several `contains` whose counters have more than {MOST_COUNTS} states", keywords=CONTAINS
            )
    return None
