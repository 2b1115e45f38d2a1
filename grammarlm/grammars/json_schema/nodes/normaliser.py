"""Computes the shapes of nodes.

Most schemas have only plain keywords and are read in one go. Those that depend on the alternatives of others are generators
(coroutines): they yield what they need (an atom with its sign, or a node), and one loop answers. So nesting depth does not matter,
and a schema that needs itself before anything of a value is read is detected.

Products are kept small as they are built: shapes that are certainly empty or contained in another are dropped after each factor.
Whether a conjunction below a required key is empty is checked immediately, since that is what distinguishes most branches of a
choice.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from types import GeneratorType
from typing import Any

from grammarlm.grammars.json_schema.containers import arrays, broken_objects, objects
from grammarlm.grammars.json_schema.containers.key_languages import KeyLanguages
from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.read.document import Document
from grammarlm.grammars.json_schema.read.plain import plain
from grammarlm.grammars.json_schema.shapes.simplify import simplified
from grammarlm.grammars.json_schema.strings import strings
from grammarlm.grammars.json_schema.strings.languages import Languages

from .atoms import NOT_PLAIN, Request, SchemaAtom, Steps
from .by_type import (
    ANY,
    ANYTHING,
    ARRAYS,
    EMPTY,
    NONE,
    NOTHING,
    NUMBERS,
    OBJECTS,
    STRINGS,
    TYPES,
    ByType,
    Conjunction,
    LooseArray,
    LooseObject,
    one_type,
)
from .case_limits import check_alternatives, check_size, check_unfinished
from .conjunctions import conjunction
from .locations import Locations, refers_to_itself
from .nodes import Nodes

MOST_MULTIPLIED = 65_536  # shapes in a product

Shapes = Generator[Request, Any, list[Any]]  # Steps for the shapes of one type


class Normaliser:
    """Normalises one schema: its nodes, their locations in the document, and the shapes of both."""

    def __init__(
        self,
        document: Document,
        languages: Languages,
        tick: Callable[[], None] = lambda: None,
        relaxed: frozenset[str] = frozenset(),
        scoped: bool = False,
    ):
        """`relaxed`: pointers of keywords to leave out. `scoped`: the dynamic scope is a part of every location."""
        self.languages, self.tick = languages, tick
        self.formats = "assert" if document.formats else "annotation"
        self.nodes = Nodes()
        self.locations = Locations(document, self.nodes, tick, relaxed, scoped)
        self.key_languages = KeyLanguages(languages)
        self.of_atoms: dict[tuple[int, bool], ByType] = {}  # by code of an atom with its sign, track

    # ------------------------------------------------------------------ the loop

    def shapes_of(self, node: Conjunction) -> ByType:
        """The shapes of a node; dependencies are computed on a stack of generators."""
        if node.by_type is not None:
            return node.by_type
        if len(node.key) == 1:  # most nodes: one schema with plain keywords
            (code,) = node.key
            atom = self.nodes.atoms[code >> 1]
            if not code & 1 and atom.__class__ is SchemaAtom and not atom.mask & NOT_PLAIN:
                node.by_type = by_type = self.of_atoms.get((code, False)) or plain(self, atom, False)
                return by_type
        return self._run(node)

    def _run(self, node: Conjunction) -> ByType:
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
            begun = self._node(wanted) if wanted.__class__ is Conjunction else self._atom(*wanted)  # type: ignore[misc,arg-type]
            if begun.__class__ is GeneratorType:
                active[wanted] = len(stack)
                stack.append((wanted, begun))  # type: ignore[arg-type]
            else:
                answer = begun
                self._remember(wanted, answer)

    def _recall(self, wanted: Request) -> ByType | None:
        if isinstance(wanted, Conjunction):
            return wanted.by_type
        known = self.of_atoms.get(wanted)
        if known is None and not wanted[1]:
            node = self.nodes.by_key.get(frozenset((wanted[0],)))
            if node is not None and node.by_type is not None and not any(s.some for s in node.by_type[OBJECTS]):
                return node.by_type
        return known

    def _remember(self, request: Request, by_type: ByType) -> None:
        if isinstance(request, Conjunction):
            request.by_type = by_type
        else:
            self.of_atoms[request] = by_type

    def _unwind(self, stack: list[tuple[Request, Steps]], active: dict[Any, int], wanted: Request) -> None:
        """Handles a circular dependency. Below a node that was only tested for emptiness the answer is "not known"; without such a
        node in between the schema refers to itself before it has read anything."""
        if isinstance(wanted, Conjunction):
            return
        for depth in range(len(stack) - 1, active[wanted], -1):
            if isinstance(stack[depth][0], Conjunction):
                for request, steps in stack[depth:]:
                    steps.close()
                    del active[request]
                del stack[depth:]
                return
        raise refers_to_itself(self.nodes.atoms[wanted[0] >> 1].pointer)

    def _atom(self, code: int, track: bool) -> ByType | Steps:
        return self.nodes.atoms[code >> 1].shapes_by_type(self, not code & 1, track)

    def ask(self, node: Conjunction, track: bool = False) -> Steps:
        """The shapes of a node whose alternatives belong to the requesting schema (not to something inside its values)."""
        by_type = ANY
        for code in sorted(node.key):
            if code < 0:
                return NONE
            by_type = yield from self.met_with(by_type, (yield (code, track and not code & 1)))
        return by_type

    def none_of(self, nodes: Iterable[Conjunction]) -> Steps:
        """The values that are in none of these nodes."""
        by_type = ANY
        for node in nodes:
            by_type = yield from self.met_with(by_type, (yield from self.ask(self.nodes.negate(node))))
        return by_type

    def _node(self, node: Conjunction) -> Steps:
        by_type = yield from self.ask(node)
        found = self._discharged(by_type[OBJECTS])
        if found is not by_type[OBJECTS]:
            by_type = [found if t == OBJECTS else by_type[t] for t in TYPES]
        if len(node.key) > 1 or any(len(shapes) > 1 for shapes in by_type):
            by_type = yield from self.pruned(by_type)
        elif by_type[STRINGS] and strings.is_empty(by_type[STRINGS][0], self.languages):
            by_type = [EMPTY if t == STRINGS else by_type[t] for t in TYPES]
        check_alternatives([s for shapes in by_type for s in shapes], node.pointer)
        return by_type

    # ------------------------------------------------------------------ conjunction and disjunction

    def meet(self, a: Conjunction, b: Conjunction) -> Conjunction:
        """The intersection of two nodes."""
        if a is b or b is ANYTHING:
            return a
        if a is ANYTHING:
            return b
        if a is NOTHING or b is NOTHING:
            return NOTHING
        key = a.key | b.key
        known = self.nodes.by_key.get(key)
        if known is None:
            known = self.nodes.by_key[key] = conjunction(self, key, a.pointer or b.pointer)
        return known

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

    def product(self, t: int, a: list[Any], b: list[Any], b_first: bool = False) -> list[Any]:
        """The same for the shapes of one type."""
        if a is ANY[t] or not b:
            return b
        if b is ANY[t] or not a or t < STRINGS:
            return a
        if len(a) * len(b) > MOST_MULTIPLIED:
            check_size(len(a) * len(b), "alternatives")
        found = []
        for x in a:
            for y in b:
                met = self._both(t, y, x) if b_first else self._both(t, x, y)
                if met is not None:
                    found.append(met)
            self.tick()
        return found

    def _both(self, t: int, a: Any, b: Any) -> Any:
        """The intersection of two shapes; None where that is certainly empty."""
        if a is b:
            return a
        if t == OBJECTS:
            return objects.both(self, a, b)
        if t == ARRAYS:
            return arrays.both(self, a, b)
        if t == STRINGS:
            text = strings.both(a, b, self.languages)
            return None if text.values == () else text
        met = numbers.both(a, b)
        return None if numbers.is_empty(met) else met

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

    # ------------------------------------------------------------------ pruning

    def pruned(self, by_type: ByType) -> Steps:
        """Drops shapes that are certainly empty, or contained in another."""
        found: list[Any] = []
        for t in TYPES:
            shapes: Any = by_type[t]
            if not shapes or shapes is ANY[t]:
                found.append(shapes)
                continue
            if t == OBJECTS:
                shapes = self._discharged(shapes, closed=True)
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

    def _discharged(self, shapes: list[LooseObject], closed: bool = False) -> list[LooseObject]:
        """Turns obligations into required keys; `closed`: only where no other keys than the known ones can come."""
        for shape in shapes:
            if shape.some and not (closed and shape.others):
                break
        else:
            return shapes
        found: list[LooseObject] = []
        for shape in shapes:
            found += broken_objects.discharge(self, shape) if shape.some and not (closed and shape.others) else (shape,)
        return found

    def _alive(self, shapes: list[Any], needed: Callable[[Any], list[list[Conjunction]]]) -> Shapes:
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

    def _may_hold(self, node: Conjunction) -> Generator[Request, Any, bool]:
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
        met = self._both(t, a, b)
        if met is None:
            return EMPTY
        return (yield from self.pruned(one_type(t, [met])))[t]


def _objects_needed(shape: LooseObject) -> list[list[Conjunction]]:
    return [[shape.properties[name]] for name in shape.required] + [[node] for _, node, _ in shape.some]


def _arrays_needed(shape: LooseArray) -> list[list[Conjunction]]:
    needed = [[node for node, _ in ways] for ways in shape.prefix[: shape.minimum]]
    if shape.minimum > len(shape.prefix):
        needed.append([node for node, _ in shape.rest])
    return needed
