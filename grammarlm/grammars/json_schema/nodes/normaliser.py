"""Computes the shapes of nodes.

Most schemas have only plain keywords and are read in one go. Those that depend on the alternatives of others are generators
(coroutines): they yield what they need (an atom with its sign, or a node), and one loop answers. So nesting depth does not matter,
and a schema that needs itself before anything of a value is read is detected.
"""

from __future__ import annotations

from types import GeneratorType
from typing import Any

from grammarlm.grammars.json_schema.shapes.shapes import Node
from grammarlm.grammars.json_schema.strings import strings

from .atoms import NOT_PLAIN, SchemaAtom
from .by_type import EMPTY, OBJECTS, STRINGS, TYPES, ByType, Request, Steps
from .case_limits import check_alternatives
from .locations import refers_to_itself
from .products import Products
from .schemas import plain, shapes_of_atom


class Normaliser(Products):
    """Normalises one schema."""

    def shapes_of(self, node: Node) -> ByType:
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

    def _run(self, node: Node) -> ByType:
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
            begun = self._node(wanted) if wanted.__class__ is Node else self._atom(*wanted)  # type: ignore[misc,arg-type]
            if begun.__class__ is GeneratorType:
                active[wanted] = len(stack)
                stack.append((wanted, begun))  # type: ignore[arg-type]
            else:
                answer = begun
                self._remember(wanted, answer)

    def _recall(self, wanted: Request) -> ByType | None:
        if isinstance(wanted, Node):
            return wanted.by_type
        known = self.of_atoms.get(wanted)
        if known is None and not wanted[1]:
            node = self.nodes.by_key.get(frozenset((wanted[0],)))
            if node is not None and node.by_type is not None and not any(s.some for s in node.by_type[OBJECTS]):
                return node.by_type
        return known

    def _remember(self, request: Request, by_type: ByType) -> None:
        if isinstance(request, Node):
            request.by_type = by_type
        else:
            self.of_atoms[request] = by_type

    def _unwind(self, stack: list[tuple[Request, Steps]], active: dict[Any, int], wanted: Request) -> None:
        """Handles a circular dependency. Below a node that was only tested for emptiness the answer is "not known"; without such a
        node in between the schema refers to itself before it has read anything."""
        if isinstance(wanted, Node):
            return
        for depth in range(len(stack) - 1, active[wanted], -1):
            if isinstance(stack[depth][0], Node):
                for request, steps in stack[depth:]:
                    steps.close()
                    del active[request]
                del stack[depth:]
                return
        raise refers_to_itself(self.nodes.atoms[wanted[0] >> 1].pointer)

    def _atom(self, code: int, track: bool) -> ByType | Steps:
        return shapes_of_atom(self, self.nodes.atoms[code >> 1], not code & 1, track)

    def _node(self, node: Node) -> Steps:
        by_type = yield from self.ask(node)
        found = self.discharged(by_type[OBJECTS])
        if found is not by_type[OBJECTS]:
            by_type = [found if t == OBJECTS else by_type[t] for t in TYPES]
        if len(node.key) > 1 or any(len(shapes) > 1 for shapes in by_type):
            by_type = yield from self.pruned(by_type)
        elif by_type[STRINGS] and strings.is_empty(by_type[STRINGS][0], self.languages):
            by_type = [EMPTY if t == STRINGS else by_type[t] for t in TYPES]
        check_alternatives([s for shapes in by_type for s in shapes], node.pointer)
        return by_type
