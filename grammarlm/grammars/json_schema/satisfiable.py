"""Which nodes hold a value at all; what holds none is taken out, and loose shapes become final ones.

A value is finite, so a node that can only be satisfied by way of itself is empty: satisfiable is the least set of nodes for which

    a node      has an alternative that is possible
    an object   has a node with values for each required key, and enough keys that can be opened
    an array    has enough positions with values, as many as its `contains` want, and different ones where it says so

Most nodes are settled where they are met (a scalar, or an object that may be empty); the rest go round until nothing changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import GrammarError, UnsatisfiableGrammar, UnsupportedFeature
from . import cardinality
from .parts import (
    ANY,
    ANY_ARRAY,
    ANY_ITEM,
    ANY_OBJECT,
    ANY_OTHERS,
    ANYTHING,
    ARRAY_SHAPE,
    ARRAYS,
    FALSE,
    NOTHING,
    NULL,
    NUMBERS,
    OBJECT_SHAPE,
    OBJECTS,
    STRINGS,
    TRUE,
    LooseArray,
    LooseObject,
    Ways,
    Work,
    is_anything,
)
from .shapes import ArrayShape, Item, Language, Node, ObjectShape, Shape

if TYPE_CHECKING:
    from .working import Normaliser

MOST_COUNTS = 4_096  # states of several `contains` counters together
MOST_OPTIONAL = (
    6  # keys whose presence is multiplied out where only a count of all keys tells that another one is there
)


def settle(n: Normaliser, root: Work) -> list[Work]:
    """Fills in the alternatives of every node that a value of the root can have inside; returns those nodes."""
    waiting = _explore(n, root)
    _spread(n, waiting)
    if not root.satisfiable:
        raise UnsatisfiableGrammar(_reason(root), pointer=_blame(root))
    return _finish(n, root)


# ---------------------------------------------------------------------- what is satisfiable


def _explore(n: Normaliser, root: Work) -> list[Work]:
    """Works out all nodes below the root; returns those that are not certain to be satisfiable, the deepest first."""
    if root.seen:  # one of those that all schemas share
        return []
    queue, waiting = [root], []
    root.seen = True
    for node in queue:  # it grows
        n.tick()
        try:
            parts = n.parts(node)
        except GrammarError as error:
            raise _placed(error, node) from None
        sure = bool(parts[NUMBERS] or parts[STRINGS] or parts[NULL] or parts[TRUE] or parts[FALSE])
        for shape in parts[OBJECTS]:
            if shape is ANY_OBJECT:
                sure = True
                continue
            if not shape.required and not shape.minimum and not shape.some:
                sure = True
            for child in shape.properties.values():
                if not child.seen:
                    child.seen = True
                    queue.append(child)
            for _, child in shape.others:
                if not child.seen:
                    child.seen = True
                    queue.append(child)
            for _, child, _ in shape.some:
                if not child.seen:
                    child.seen = True
                    queue.append(child)
        for shape in parts[ARRAYS]:
            if shape is ANY_ARRAY:
                sure = True
                continue
            if not shape.minimum and not any(low for low, _ in shape.contains):
                sure = True
            for ways in (*shape.prefix, shape.rest):
                for child, _ in ways:
                    if not child.seen:
                        child.seen = True
                        queue.append(child)
        if sure:
            node.satisfiable = True
        else:
            waiting.append(node)
    waiting.reverse()
    return waiting


def _spread(n: Normaliser, waiting: list[Work]) -> None:
    """The least fixed point."""
    rounds = 0
    while waiting:
        left = [node for node in waiting if not _settled(n, node)]
        if len(left) == len(waiting):
            return
        waiting = left
        rounds += 1
        if rounds > 2:
            _by_dependents(n, waiting)
            return


def _by_dependents(n: Normaliser, waiting: list[Work]) -> None:
    """The rest of a fixed point that rounds would take long for: a node is looked at again when one below it is settled."""
    above: dict[Work, list[Work]] = {}
    for node in waiting:
        for child in set(_children(node)):
            above.setdefault(child, []).append(node)
    queue = list(waiting)
    while queue:
        node = queue.pop()
        if not node.satisfiable and _settled(n, node):
            queue += above.get(node, ())


def _children(node: Work) -> list[Work]:
    assert node.parts is not None
    found: list[Work] = []
    for shape in node.parts[OBJECTS]:
        found += shape.properties.values()
        found += [child for _, child in shape.others]
        found += [child for _, child, _ in shape.some]
    for shape in node.parts[ARRAYS]:
        found += [child for ways in (*shape.prefix, shape.rest) for child, _ in ways]
    return found


def _settled(n: Normaliser, node: Work) -> bool:
    n.tick()
    assert node.parts is not None
    try:
        node.satisfiable = any(object_possible(n, s) for s in node.parts[OBJECTS]) or any(
            array_possible(n, s) for s in node.parts[ARRAYS]
        )
    except UnsupportedFeature as error:
        raise _placed(error, node) from None
    return node.satisfiable


def _placed(error: GrammarError, node: Work) -> GrammarError:
    """The error with the pointer of the node it came up in, where nothing says better."""
    if error.pointer is not None:
        return error
    return type(error)(f"{node.pointer or '#'}: {error}", position=error.position, pointer=node.pointer)


def closure(shape: LooseObject, names: frozenset[str]) -> frozenset[str]:
    """The names, and all that they imply."""
    if not shape.implied:
        return names
    found, waiting = set(names), list(names)
    while waiting:
        for name in shape.implied.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found)


def object_possible(n: Normaliser, shape: LooseObject) -> bool:
    properties = shape.properties
    needed = closure(shape, shape.required) if shape.implied else shape.required
    for name in needed:
        if not properties[name].satisfiable:
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


def can_open(shape: LooseObject, name: str) -> bool:
    """May the key be there at all?"""
    if not shape.properties[name].satisfiable:
        return False
    if not shape.implied:
        return shape.maximum is None or name in shape.required or len(shape.required) < shape.maximum
    together = closure(shape, shape.required | {name})
    if shape.maximum is not None and len(together) > shape.maximum:
        return False
    return all(shape.properties[other].satisfiable for other in together)


def available(n: Normaliser, shape: LooseObject, enough: int) -> int:
    """How many keys there can be, at most `enough`."""
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


def array_possible(n: Normaliser, shape: LooseArray) -> bool:
    length = shortest(shape)
    if length is None:
        return False
    return not shape.unique or length < 2 or cardinality.can_differ(n, shape, length)


def shortest(shape: LooseArray) -> int | None:
    """The fewest items, or None where no number of items will do."""
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


def _shortest_of_one(shape: LooseArray) -> int | None:
    """One `contains`: the number of items that count lies between two sums, and takes each value between them."""
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


def _shortest_of_several(shape: LooseArray, longest: int | None) -> int | None:
    """Several: all sums that can be reached, each clamped where more makes no difference."""
    caps = [low if high is None else high + 1 for low, high in shape.contains]
    enough = shape.minimum + sum(caps) + len(shape.prefix)
    if enough > MOST_COUNTS:
        raise UnsupportedFeature(f"several `contains` that need {enough} items; at most {MOST_COUNTS} are supported")
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
            raise UnsupportedFeature(f"several `contains` whose counters have more than {MOST_COUNTS} states")
    return None


# ---------------------------------------------------------------------- final shapes


def _finish(n: Normaliser, root: Work) -> list[Work]:
    """Final shapes for the root and what can occur below it."""
    queue: list[Work] = [root]
    root.kept = True
    for node in queue:  # it grows
        if node.alternatives:
            continue
        n.tick()
        parts = node.parts
        assert parts is not None
        if parts[NULL] and is_anything(parts):
            node.is_anything = True
            node.alternatives = ANYTHING.alternatives
            continue
        found: list[Shape] = []
        for t in range(OBJECTS):
            found += parts[t]
        for shape in parts[OBJECTS]:
            if shape is ANY_OBJECT:
                found.append(OBJECT_SHAPE)
            elif object_possible(n, shape):
                _refuse(n, shape)
                found += [_final_object(s, queue) for s in _without_obligations(n, shape)]
        for shape in parts[ARRAYS]:
            if shape is ANY_ARRAY:
                found.append(ARRAY_SHAPE)
            elif array_possible(n, shape):
                _refuse(n, shape)
                found.append(_final_array(shape, queue))
        node.alternatives = tuple(found)
        if len(found) > 1:
            n.check_alternatives(found, node.pointer)
    return queue


def _keep(node: Work, queue: list[Work]) -> Node:
    if not node.kept:
        node.kept = True
        queue.append(node)
    return node


def _refuse(n: Normaliser, shape: LooseObject | LooseArray) -> None:
    if shape.refusal is not None:
        n.refuse(*shape.refusal)


def _final_object(shape: LooseObject, queue: list[Work]) -> ObjectShape:
    others: tuple[tuple[Language, Node], ...] = ANY_OTHERS
    if shape.others is not ANY_OTHERS:
        others = tuple([(language, _keep(node, queue)) for language, node in shape.others if node.satisfiable])
    implied = shape.implied
    bounded = shape.maximum is not None or (bool(implied) and not all(x.satisfiable for x in shape.properties.values()))
    properties: dict[str, Node] = {}
    for name, node in shape.properties.items():
        if node.satisfiable and (not bounded or can_open(shape, name)):
            properties[name] = node
            if not node.kept:
                node.kept = True
                queue.append(node)
        elif others:
            properties[name] = NOTHING
    required = shape.required
    if implied:
        required = closure(shape, required)
        implied = {
            name: needed
            for name, needed in implied.items()
            if properties.get(name, NOTHING) is not NOTHING and not needed <= required
        }
    return ObjectShape(properties, others, required, shape.minimum, shape.maximum, implied)


def _final_array(shape: LooseArray, queue: list[Work]) -> ArrayShape:
    maximum = shape.maximum
    prefix: list[tuple[Item, ...]] = []
    rest: tuple[Item, ...] = ()
    for ways in shape.prefix if maximum is None else shape.prefix[:maximum]:
        found = _final_ways(ways, queue)
        if not found:
            break
        prefix.append(found)
    else:
        if maximum is None or maximum > len(prefix):
            rest = _final_ways(shape.rest, queue)
    if not rest:
        maximum = len(prefix) if maximum is None else min(maximum, len(prefix))
    return ArrayShape(tuple(prefix), rest, shape.minimum, maximum, shape.contains, shape.unique)


def _final_ways(ways: Ways, queue: list[Work]) -> tuple[Item, ...]:
    if ways is ANY_ITEM:
        return ARRAY_SHAPE.rest
    return tuple([Item(_keep(node, queue), counts) for node, counts in ways if node.satisfiable])


def _without_obligations(n: Normaliser, shape: LooseObject) -> list[LooseObject]:
    """An obligation that any further key serves is a matter of counting: for each choice among the optional keys, at least one
    key more. Others are refused."""
    if not shape.some:
        return [shape]
    beyond = [(language, node) for language, node in shape.others if node.satisfiable]
    pointer = shape.some[0][2]
    optional = [name for name in shape.properties if name not in shape.required and can_open(shape, name)]
    for language, node, _ in shape.some:
        served = all(lang >= language and node is known for lang, known in beyond)
        if not served or len(optional) > MOST_OPTIONAL:
            raise UnsupportedFeature(
                f"{pointer}: this rule is to be broken (it stands below `not`, or in a branch that oneOf or if excludes), by a key "
                f"that is not declared; that is not supported: declare the keys it is about",
                pointer=pointer,
            )
    found = []
    for choice in range(1 << len(optional)):
        present = {name for i, name in enumerate(optional) if choice >> i & 1}
        if not closure(shape, shape.required | present) <= shape.required | present:
            continue
        required = shape.required | present
        properties = {name: node if name in required else NOTHING for name, node in shape.properties.items()}
        least = max(len(required) + 1, shape.minimum)
        counted = shape.copy(some=(), properties=properties, required=required, minimum=least, implied={})
        if object_possible(n, counted):
            found.append(counted)
    return found


# ---------------------------------------------------------------------- reasons


def _blame(root: Work) -> str:
    """The pointer of the deepest node that makes the root empty."""
    return _culprit(root).pointer


def _culprit(root: Work) -> Work:
    node, passed = root, {root}
    while True:
        assert node.parts is not None
        below = None
        for shape in node.parts[OBJECTS]:
            for name in shape.required:
                child = shape.properties[name]
                if not child.satisfiable and child not in passed:
                    below = child
                    break
        if below is None:
            for shape in node.parts[ARRAYS]:
                for i in range(min(shape.minimum, len(shape.prefix) + 1)):
                    ways = shape.ways(i)
                    if ways and not any(child.satisfiable for child, _ in ways) and ways[0][0] not in passed:
                        below = ways[0][0]
                        break
        if below is None or below is NOTHING or below.parts is None:
            return node
        passed.add(below)
        node = below


def _reason(root: Work) -> str:
    node = _culprit(root)
    where = node.pointer or "#"
    if any(node.parts or ANY):
        what = "what is required there can only be had by way of itself, or there is no room for it"
    else:
        what = "its keywords contradict each other"
    return f"no value satisfies the schema: at {where} {what}"
