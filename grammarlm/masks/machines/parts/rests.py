"""How a text can end: the fewest tokens that are known after the end of a part, and how many a place takes.

    Repeat(S, min=3) + "."       after the first S: two more, each with the fewest tokens of S, and the dot

The ends of parts are nodes of a graph, and what can begin behind each is an edge, as long as its fewest tokens. A shortest path
leads to an end of the text. Turns of a loop beyond its minimum are on no shortest path, so counts stop there. Each turn up to it is
an end of its own: a path of more than MOST_ENDS is not looked for, and then no number of tokens is known.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

from grammarlm.masks.automaton import Automaton
from grammarlm.masks.filters import greedy
from grammarlm.masks.filters.budget import INFINITE, costs_of, fewest_of, plan_of

from .reader import Parts, PartsReader, Place, Tally

MOST_ENDS = 1 << 15  # of parts on the path to the end: a search takes about a second
MOST_WORDS = 256  # words that are compared; of more, the one that the part's automaton completes
Node = tuple[int, Tally]  # the end of a part
By = tuple[Node, "tuple[int, ...] | None"]  # the node before, and the tokens from there; None: its known way to the end


class Way(NamedTuple):
    """The shortest path from the end of a part."""

    fewest: int
    tokens: tuple[int, ...]  # of the next part
    then: Node | None  # its end; None where the text ends here
    ends: int = 0  # of parts, on the path


class Rests:
    """Of one program; all methods run under its lock."""

    def __init__(self, program: Parts, reader: PartsReader):
        self._program, self._reader = program, reader
        self._ways: dict[Node, Way] = {}
        self._words = {part: sorted(word.encode() for word in words) for part, words in program.graph.words.items()}

    def after(self, part: int, tally: Tally) -> int:
        """This many tokens are enough after the end of a part."""
        return self._way(self._node(part, tally)).fewest

    def longest_after(self, part: int) -> int:
        """The same for all counts and words."""
        once = tuple(1 for _ in self._program.graph.loops[part])
        return max(self.after(part, Tally(once, None, word)) for word in self._words.get(part, [b""]))

    def fewest(self, place: Place) -> int:
        """This many tokens are enough from a place; INFINITE where they are too many to be written down."""
        part, _, _, tally = place
        if part in self._words:
            return min((len(tokens) + self.after(*node) for tokens, node in self._spelled(place)), default=INFINITE)
        own = self._reader.inside(place, fewest_of)[1]
        return own if own >= INFINITE else own + self.after(part, tally)

    def plan(self, places: Iterable[Place]) -> list[int] | None:
        """Tokens that end the text, as few as are known; None where they are too many to be written down."""
        fewest, place = min(((self.fewest(place), place) for place in places), key=lambda found: found[0])
        if fewest >= INFINITE:
            return None
        part, _, _, tally = place
        ends = (
            self._spelled(place) if part in self._words else [(self._reader.inside(place, plan_of)[1], (part, tally))]
        )
        tokens, node = min(ends, key=lambda end: len(end[0]) + self.after(*end[1]))
        found, then = list(tokens), self._node(*node)
        while (way := self._way(then)).then is not None:
            found += way.tokens
            then = way.then
        return found

    @staticmethod
    def fewest_of(automaton: Automaton) -> int:
        """The fewest tokens that are known for the texts of a part."""
        epoch, state = automaton.renew(automaton.program.start)
        return costs_of(epoch).fewest(epoch, state)

    # ------------------------------------------------------------------ words

    def _spelled(self, place: Place) -> Iterator[tuple[tuple[int, ...], Node]]:
        """The tokens that end a word, and its end, of each that goes on as the text does."""
        part, _, _, tally = place
        words, read = self._words[part], tally.read
        first = bisect_left(words, read)
        behind = bisect_left(words, read + b"\xff")  # no word has this byte
        if behind - first > MOST_WORDS:
            tokens = self._reader.inside(place, plan_of)[1]
            word = read + b"".join(map(self._program.vocab.token_bytes, tokens))
            yield tuple(tokens), (part, tally._replace(read=word))
            return
        for word in words[first:behind]:
            tokens = tuple(greedy.cut(self._program.vocab, word[len(read) :]) or ())
            if tokens or word == read:
                yield tokens, (part, tally._replace(read=word))

    # ------------------------------------------------------------------ shortest paths

    def _node(self, part: int, tally: Tally) -> Node:
        loops = self._program.graph.loops[part]
        counts = tuple(min(turns, loop.min) for turns, loop in zip(tally.counts, loops, strict=True))
        return part, Tally(counts, None, tally.read)

    def _way(self, node: Node) -> Way:
        known = self._ways.get(node)
        return self._find(node) if known is None else known

    def _find(self, start: Node) -> Way:
        """Dijkstra's search for the nearest end; a node whose way is known is as far from it as that is long."""
        if self._turns_left(start) > MOST_ENDS:
            return Way(INFINITE, (), None)
        order = count()
        waiting: list[tuple[int, int, Node, By | None]] = [(0, next(order), start, None)]
        came, depths = dict[Node, By | None](), dict[Node, int]()
        while waiting:
            self._program.clock.tick()
            far, _, node, by = heapq.heappop(waiting)
            if by is not None and by[1] is None:  # the end, by the known way of a node
                if depths[node] + self._ways[node].ends > MOST_ENDS:
                    break
                return self._keep(node, self._ways[node], came)
            if node in came:
                continue
            came[node], depths[node] = by, 0 if by is None else depths[by[0]] + 1
            if self._reader.may_end(*node):
                self._ways.setdefault(node, Way(0, (), None))
            if (known := self._ways.get(node)) is not None:
                heapq.heappush(waiting, (far + known.fewest, next(order), node, (node, None)))
                continue
            for tokens, target in self._onward(node) if depths[node] < MOST_ENDS else ():
                if target not in came and self._turns_left(target) <= MOST_ENDS:
                    heapq.heappush(waiting, (far + len(tokens), next(order), target, (node, tokens)))
        return self._ways.setdefault(start, Way(INFINITE, (), None))

    def _turns_left(self, node: Node) -> int:
        """Turns that a loop around a part still needs, of each of which a part ends."""
        loops = self._program.graph.loops[node[0]]
        return max((loop.min - turns for turns, loop in zip(node[1].counts, loops, strict=True)), default=0)

    def _keep(self, node: Node, way: Way, came: dict[Node, By | None]) -> Way:
        """Writes down the path to a node whose way is known."""
        while (by := came[node]) is not None:
            before, tokens = by
            assert tokens is not None
            way = self._ways[before] = Way(way.fewest + len(tokens), tokens, node, way.ends + 1)
            node = before
        return way

    def _onward(self, node: Node) -> Iterator[tuple[tuple[int, ...], Node]]:
        """The tokens of what may begin behind the end of a part, and its end."""
        for part, tally in self._reader.behind(*node):
            automaton = self._program.automata[part]
            epoch, state = automaton.renew(automaton.program.start)
            place = part, epoch, state, tally
            if part in self._words:
                yield from ((tokens, self._node(*end)) for tokens, end in self._spelled(place))
            elif self._reader.inside(place, fewest_of)[1] < INFINITE:
                yield tuple(self._reader.inside(place, plan_of)[1]), self._node(part, tally)
