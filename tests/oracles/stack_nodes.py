"""What the passes over a row of a machine with a stack mean, by nodes instead of sets of stacks, for rows too long to enumerate.

A stack is a node with a set of parents, and nodes are shared by all stacks that were pushed at the same place: **a node is
(boundary between positions, push point)**, and a push point is the symbol and all that the token still does after it. All stacks
on which a node stands were in the same point when it was pushed, so whatever follows may go on with any of them: that is what
makes node sets exact. By (boundary, symbol) alone `[` and the second bracket of `[[` would be one node with the parents of both.

Forward:   X[i][c]  nodes that can be on top in control c after i tokens;  parents[n]
           C[i][p]  nodes that are popped in step i so that point p comes next
Backward:  B[i][q]  nodes on top of which point q of step i (or control q at boundary i) can be completed, with some parent

A frame may be closed in different ways for different parents, so a push onto node p is live only where the very node that it makes
can be closed *to p*: `reach[n]` is the set of parents that n can be closed to, gathered from the steps that pop it. An edge
c -> q of step i is live iff X[i][c] and B[i][q] share a node.

Sets of nodes are integers, bit n = node n.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack.bits import members
from grammarlm.masks.canvas.stack.closings import END, Closings, offer_costs
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.canvas.stack.symbols import ROOT, on_top, stays

Sets = dict[int, int]  # control or point -> set of nodes


class Nodes:
    """The nodes of a grid's rows, numbered. Node 0 is the empty stack; those of the stacks at the left edge come first."""

    def __init__(self, grid: StackGrid):
        self.table, self.length = grid.table, grid.length
        self.first_symbols, self.first_parents = [ROOT], [1]
        numbers: dict[tuple[int, int], int] = {}
        self.begin: Sets = {}
        for control, stack in grid.starts:
            node = 0
            for symbol in stack:
                if (node, symbol) not in numbers:
                    numbers[node, symbol] = len(self.first_symbols)
                    self.first_symbols.append(symbol)
                    self.first_parents.append(1 << node)
                node = numbers[node, symbol]
            self.begin[control] = self.begin.get(control, 0) | 1 << node
        self.first = len(self.first_symbols)

    @cached_property
    def with_symbol(self) -> list[int]:
        """By symbol, all nodes that have it."""
        found = [0] * self.table.symbols
        for node in range(self.first + self.length * len(self.table.pushes)):
            found[self.symbol_of(node)] |= 1 << node
        return found

    def symbol_of(self, node: int) -> int:
        kinds = len(self.table.pushes)
        if node < self.first:
            return self.first_symbols[node]
        return self.table.pushes[kinds - 1 - (node - self.first) % kinds][0]

    def node(self, boundary: int, push: int) -> int:
        """The node that a push point (its index among the pushes) makes before a boundary: of one token the lowest first."""
        kinds = len(self.table.pushes)
        return self.first + (boundary - 1) * kinds + kinds - 1 - push


class ReferencePasses:
    """X, parents, C and B of one row of a grid."""

    def __init__(self, grid: StackGrid, row: np.ndarray):
        self.grid, self.row, self.nodes = grid, row, Nodes(grid)
        self.closings = Closings(grid.table, grid.room, grid.check)
        self.parents = [*self.nodes.first_parents, *([0] * (grid.length * len(grid.table.pushes)))]
        self.forward: list[Sets] = [self.nodes.begin]
        self.closed: list[Sets] = []
        for step in range(grid.length):
            grid.check()
            self._step(step)
        self.backward: list[Sets] = [{} for _ in range(grid.length + 1)]  # by point, within each step
        self._last_boundary()
        for step in range(grid.length - 1, -1, -1):
            grid.check()
            self._step_back(step)
        before = self._controls_before(0)
        self.is_completable = any(before.get(control, 0) & nodes for control, nodes in self.nodes.begin.items())

    # ------------------------------------------------------------------ forward

    def edges_at(self, step: int) -> range | list[int]:
        token_class = int(self.row[step])
        table = self.grid.table
        return range(len(table.edges)) if token_class == MASKED else table.edges_by_class[token_class]

    def popped(self, nodes: int) -> int:
        """All that stands below some nodes."""
        found = 0
        for node in members(nodes):
            found |= self.parents[node]
        return found

    def reached(self, step: int, edges: range | list[int]) -> Sets:
        """By point: the nodes on top when it is reached in a step. Pushes make no nodes here."""
        here, found, table = self.forward[step], Sets(), self.grid.table
        for edge in edges:
            control, point = table.edges[edge]
            if nodes := here.get(control, 0):
                found[point] = found.get(point, 0) | nodes
        waiting = [point for point in found if point >= table.first_micro]
        while waiting:
            point = waiting.pop()
            for symbol, after in table.rules_of.get(point, ()):
                nodes = found[point] & self.nodes.with_symbol[on_top(symbol)]
                below = nodes if stays(symbol) else self.popped(nodes)
                if below & ~found.get(after, 0):
                    found[after] = found.get(after, 0) | below
                    if after >= table.first_micro:
                        waiting.append(after)
        return found

    def _step(self, step: int) -> None:
        table = self.grid.table
        at = self.reached(step, self.edges_at(step))
        closed = Sets()
        for point, symbol, after in table.rules:
            if not stays(symbol) and (nodes := at.get(point, 0) & self.nodes.with_symbol[symbol]):
                closed[after] = closed.get(after, 0) | nodes
        self.closed.append(closed)
        for push in range(len(table.pushes) - 1, -1, -1):
            _, after = table.pushes[push]
            if below := at.get(table.controls + push, 0):
                node = self.nodes.node(step + 1, push)
                self.parents[node] = below
                at[after] = at.get(after, 0) | 1 << node
        self.forward.append({control: nodes for control, nodes in at.items() if control < table.controls})

    # ------------------------------------------------------------------ backward

    def _last_boundary(self) -> None:
        """At the right edge: which nodes can be completed in the room, and to which parents open frames can be closed there."""
        grid, last = self.grid, self.forward[-1]
        closings, room = self.closings, grid.room
        self.reach = [0] * len(self.parents)
        costs: dict[int, dict[int, int]] = {}  # node, point: fewest tokens that go on from the point with it on top
        self.last: Sets = {}

        def cost(point: int, node: int) -> int:
            """The fewest tokens that end the row, the node on top; its parents' costs are known."""
            ways = closings.of(point, self.nodes.symbol_of(node))
            if node == 0:
                return ways.get(END, room + 1)
            least = room + 1
            for after, first in ways.items():
                known = costs.setdefault(node, {})
                if after not in known:
                    known[after] = min(
                        (cost(after, parent) for parent in members(self.parents[node])), default=room + 1
                    )
                least = min(least, first + known[after])
            return least

        inner: dict[
            int, dict[int, int]
        ] = {}  # node: fewest tokens after the edge until it is popped, by the point after
        for control, nodes in last.items():
            for node in members(nodes):
                if cost(control, node) <= room:
                    self.last[control] = self.last.get(control, 0) | 1 << node
                if node:
                    offer_costs(inner.setdefault(node, {}), closings.of(control, self.nodes.symbol_of(node)), 0, room)
        for node in range(len(self.parents) - 1, 0, -1):
            for parent in members(self.parents[node]) if node in inner else ():
                for after, tokens in inner[node].items():
                    if tokens + cost(after, parent) <= room:
                        self.reach[node] |= 1 << parent
                    if parent:
                        offer_costs(
                            inner.setdefault(parent, {}), closings.of(after, self.nodes.symbol_of(parent)), tokens, room
                        )

    def _step_back(self, step: int) -> None:
        grid, here = self.grid, self.backward[step]
        table = grid.table
        after_step = self.last if step + 1 == grid.length else self._controls_before(step + 1)
        here.update(after_step)
        for push in range(len(table.pushes)):
            if live := self.reach[self.nodes.node(step + 1, push)]:
                here[table.controls + push] = live
        at = self.reached(step, self.edges_at(step))
        is_new = True
        while is_new:  # a rule may lead to a micro point that pops what is below, any number of times
            is_new = False
            for point, symbol, after in table.rules:
                target = here.get(after, 0)
                nodes = at.get(point, 0) & self.nodes.with_symbol[on_top(symbol)]
                if not (target and nodes):
                    continue
                live = nodes & target if stays(symbol) else 0
                if not stays(symbol):
                    for node in members(nodes):
                        if below := self.parents[node] & target:
                            live |= 1 << node
                            self.reach[node] |= below
                if live & ~here.get(point, 0):
                    here[point] = here.get(point, 0) | live
                    is_new = True

    def _controls_before(self, step: int) -> Sets:
        """B of the controls at the boundary before a step."""
        found, points = Sets(), self.backward[step]
        for edge in self.edges_at(step):
            control, point = self.grid.table.edges[edge]
            if nodes := points.get(point, 0):
                found[control] = found.get(control, 0) | nodes
        return found

    # ------------------------------------------------------------------ answers

    def live_edges(self, position: int) -> list[int]:
        """The edges that some completion uses at a masked position."""
        if not self.is_completable:
            return []
        edges, here, points = self.grid.table.edges, self.forward[position], self.backward[position]
        return [e for e in self.edges_at(position) if here.get(edges[e][0], 0) & points.get(edges[e][1], 0)]

    def classes_at(self, position: int) -> np.ndarray:
        if self.row[position] != MASKED and self.is_completable:
            others = self.row.copy()
            others[position] = MASKED
            return ReferencePasses(self.grid, others).classes_at(position)
        allowed = np.zeros(self.grid.table.classes, bool)
        for edge in self.live_edges(position):
            allowed[list(self.grid.table.edge_classes[edge])] = True
        return allowed

    def reads(self, position: int, token_class: int) -> bool:
        at = self.reached(position, self.grid.table.edges_by_class[token_class])
        return any(point < self.grid.table.first_micro for point in at)
