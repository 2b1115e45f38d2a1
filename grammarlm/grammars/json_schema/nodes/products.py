"""Intersections and unions of shapes by type.

Products are kept small as they are built: shapes that are certainly empty or contained in another are dropped after each factor.
Whether a conjunction below a required key is empty is checked immediately, since that is what distinguishes most branches of a
choice.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from grammarlm.grammars.json_schema.containers import arrays, negated_objects, objects
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.shapes.shapes import ArrayShape, Node, ObjectShape
from grammarlm.grammars.json_schema.shapes.simplify import simplified
from grammarlm.grammars.json_schema.strings import strings

from .by_type import (
    ANY,
    ARRAYS,
    EMPTY,
    NONE,
    NUMBERS,
    OBJECTS,
    STRINGS,
    TYPES,
    ByType,
    Request,
    Shapes,
    Steps,
    one_type,
)
from .case_limits import check_unfinished
from .reading import Reading


class Products(Reading):
    """Combines the shapes of nodes."""

    def ask(self, node: Node, track: bool = False) -> Steps:
        """The shapes of a node whose alternatives belong to the requesting schema (not to something inside its values)."""
        by_type = ANY
        for code in sorted(node.key):
            if code < 0:
                return NONE
            by_type = yield from self.met_with(by_type, (yield (code, track and not code & 1)))
        return by_type

    def met_with(self, a: ByType, b: ByType, b_first: bool = False) -> Steps:
        """The intersection of shapes. `b_first`: b's properties come first."""
        if a is ANY or b is ANY:
            return b if a is ANY else a
        found = []
        several = False
        for t in TYPES:
            met = self.product(t, a[t], b[t], b_first)
            several = several or len(met) > 1
            found.append(met)
        return (yield from self.pruned(found)) if several else found

    def both(self, t: int, a: Any, b: Any) -> Any:
        """The intersection of two shapes; None where that is certainly empty."""
        if t == OBJECTS:
            return objects.both(self, a, b)
        if t == ARRAYS:
            return arrays.both(self, a, b)
        return super().both(t, a, b)

    def unite(self, several: list[ByType], track: bool = False) -> ByType:
        """The union. `track`: shapes that evaluate something are not merged with those that do not."""
        if len(several) == 1:
            return several[0]
        found: list[list[Any]] = []
        for t in TYPES:
            filled = [by_type[t] for by_type in several if by_type[t]]
            if len(filled) < 2:
                found.append(filled[0] if filled else EMPTY)
            elif t < STRINGS or ((not track or t < OBJECTS) and any(shapes is ANY[t] for shapes in filled)):
                found.append(ANY[t])
            else:
                found.append([s for shapes in filled for s in shapes])
        return found

    def pruned(self, by_type: ByType) -> Steps:
        """Drops shapes that are certainly empty, or contained in another."""
        found: list[Any] = []
        for t in TYPES:
            shapes: Any = by_type[t]
            if not shapes or shapes is ANY[t]:
                found.append(shapes)
                continue
            if t == OBJECTS:
                shapes = self.discharged(shapes, closed=True)
            if len(shapes) > 1:
                shapes = simplified(t, shapes)
            if t == OBJECTS:
                shapes = yield from self._alive(shapes, _objects_needed)
            elif t == ARRAYS:
                shapes = yield from self._alive(shapes, _arrays_needed)
            elif t == STRINGS:
                shapes = [s for s in shapes if not strings.is_empty(s, self.languages)]
            elif t == NUMBERS:
                shapes = [s for s in shapes if not numbers.is_empty(s)]
            check_unfinished(len(shapes))
            found.append(shapes)
        return found

    def discharged(self, shapes: list[ObjectShape], closed: bool = False) -> list[ObjectShape]:
        """Turns obligations into required keys; `closed`: only where no other keys than the known ones can come."""
        for shape in shapes:
            if shape.some and not (closed and shape.others):
                break
        else:
            return shapes
        found: list[ObjectShape] = []
        for shape in shapes:
            stays = not shape.some or (closed and shape.others)
            found += (shape,) if stays else negated_objects.discharge(self, shape)
        return found

    def _alive(self, shapes: list[Any], needed: Callable[[Any], list[list[Node]]]) -> Shapes:
        """Drops shapes that require a value of an empty conjunction."""
        kept = []
        for shape in shapes:
            alive = True
            for choice in needed(shape):
                alive = False
                for node in choice:
                    alive = alive or (yield from self._may_hold(node))
                if not alive:
                    break
            if alive:
                kept.append(shape)
        return kept

    def _may_hold(self, node: Node) -> Generator[Request, Any, bool]:
        """Does the node contain a value, as far as its shapes say?"""
        by_type = node.by_type
        if by_type is None:
            if len(node.key) == 1:
                (code,) = node.key
                if not code & 1:
                    return True  # one schema: seldom empty, and detected later if it is
            by_type = yield node
        return by_type is None or any(by_type)

    def overlap(self, t: int, a: Any, b: Any) -> Shapes:
        """The shapes in both, without those that are certainly empty."""
        met = a if a is b else self.both(t, a, b)
        if met is None:
            return EMPTY
        return (yield from self.pruned(one_type(t, [met])))[t]


def _objects_needed(shape: ObjectShape) -> list[list[Node]]:
    return [[shape.properties[name]] for name in shape.required] + [[node] for _, node, _ in shape.some]


def _arrays_needed(shape: ArrayShape) -> list[list[Node]]:
    needed = [[node for node, _ in ways] for ways in shape.prefix[: shape.minimum]]
    if shape.minimum > len(shape.prefix):
        needed.append([node for node, _ in shape.rest])
    return needed
