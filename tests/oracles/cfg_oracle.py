"""Context-free grammars over bytes: Earley's recogniser, and what can still be completed, by bytes or by tokens.

`CfgOracle(rules)` answers for a text (`is_complete`), for a beginning (`is_viable`) and for every token after a
beginning (`mask`). It reads a byte at a time and remembers every column by the bytes that led to it, so that trying
all tokens at one place reads each common beginning once; beyond so many items it forgets them, since an ambiguous grammar has
columns of thousands.

Only productions that some text spells are kept, and an item is made only where its rule was expected. So each item of
a column can be completed, and a beginning is viable iff its column has an item: the column is then kept, otherwise it
is None.
"""

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from itertools import count

from grammarlm.grammars.cfg.rules import Rules
from tests.oracles.cfg_productions import Body, EventRange, Productions, Symbol, productions_of

MOST_ITEMS = 1_000_000  # remembered at a time: about 300 MB


class Place:
    """A place in a production: `head` is being read, what `body` has from `dot` on is still to come. Compared as an object."""

    def __init__(self, head: int, body: Body, dot: int):
        self.head, self._body, self._dot = head, body, dot
        self.symbol = body[dot] if dot < len(body) else None
        self.after = self  # the place behind the symbol

    @property
    def rest(self) -> Body:
        return self._body[self._dot :]


def first_place(head: int, body: Body) -> Place:
    """The place before all symbols."""
    after = Place(head, body, len(body))
    for dot in range(len(body) - 1, -1, -1):
        here = Place(head, body, dot)
        here.after, after = after, here
    return after


Item = tuple[Place, "Column"]  # what is being read, and since which column


class Column:
    """All items at one place of a text; compared and hashed as an object.

    One for each beginning, but where two bytes advance the same items: nothing tells what follows them apart.
    """

    def __init__(self, grammar: "CfgOracle") -> None:
        self.grammar = grammar
        self.items: dict[Item, None] = {}
        self.waiting: dict[int, list[Item]] = {}  # by the rule that they wait for
        self.reading: dict[EventRange, list[Item]] = {}  # as they are behind what they read
        self.complete = False
        self.after: dict[int, Column | None] = {}
        self.by_kernel: dict[tuple[Item, ...], Column] = {}

    def close(self, kernel: Iterable[Item]) -> None:
        """Adds what follows from the kernel without reading.

        predict: a rule that is awaited here starts here; a nullable one may as well be over (it then also is, so a
        completion inside one column never has to look for items that come later).
        complete: what awaited a rule where it started, goes on where it ends.
        """
        items, waiting, nullable = self.items, self.waiting, self.grammar.nullable
        items.update(dict.fromkeys(kernel))
        agenda = list(items)
        for item in agenda:
            place, origin = item
            symbol = place.symbol
            following: list[Item] = []
            if symbol is None:
                self.complete |= place.head == self.grammar.productions.entry
                following = [(other.after, since) for other, since in origin.waiting.get(place.head, ())]
            elif isinstance(symbol, tuple):
                self.reading.setdefault(symbol, []).append((place.after, origin))
            else:
                if symbol not in waiting:
                    waiting[symbol] = []
                    following = [(first, self) for first in self.grammar.places[symbol]]
                waiting[symbol].append(item)
                if symbol in nullable:
                    following.append((place.after, origin))
            for each in following:
                if each not in items:
                    items[each] = None
                    agenda.append(each)


class CfgOracle:
    """The language of `rules`. A state is a column, or None after bytes that nothing can complete."""

    def __init__(self, rules: Rules, token_ids: Mapping[str, int] | None = None):
        self.productions: Productions = productions_of(rules, token_ids or {}).pruned()
        self.nullable = self.productions.nullable()
        self.places = [[first_place(head, body) for body in of] for head, of in enumerate(self.productions.bodies)]
        self.first = Column(self)
        entry = self.productions.entry
        self.first.close((place, self.first) for place in self.places[entry])
        self.start: Column | None = self.first if self.first.items else None
        self._items = 0

    @property
    def is_empty(self) -> bool:
        """Whether no text at all is in the language."""
        return self.start is None

    def step(self, state: Column | None, event: int) -> Column | None:
        """The state after one byte, or after a token (event 256 + its id)."""
        if state is None:
            return None
        if event not in state.after:
            reading = state.reading.items()
            kernel = tuple(item for symbol, items in reading if symbol[0] <= event <= symbol[1] for item in items)
            if kernel and kernel not in state.by_kernel:
                made = Column(self)
                made.close(kernel)
                self._remember(len(made.items))
                state.by_kernel[kernel] = made
            state.after[event] = state.by_kernel.get(kernel)
        return state.after[event]

    def _remember(self, items: int) -> None:
        """Whoever stands on a column keeps it, and what it came from; all others are forgotten when they are too many."""
        self._items += items
        if self._items > MOST_ITEMS:
            self.first.after.clear()
            self.first.by_kernel.clear()
            self._items = items

    def read(self, state: Column | None, data: bytes) -> Column | None:
        for byte in data:
            state = self.step(state, byte)
            if state is None:
                return None
        return state

    def accepts(self, state: Column) -> bool:
        return state.complete

    def is_viable(self, prefix: bytes) -> bool:
        """Whether some text of the language begins with these bytes."""
        return self.read(self.start, prefix) is not None

    def is_complete(self, text: bytes) -> bool:
        """Whether the text is in the language."""
        state = self.read(self.start, text)
        return state is not None and state.complete

    def mask(self, prefix: bytes, tokens: Iterable[bytes]) -> set[int]:
        """The places of those tokens (none of them empty) after which the text is still viable."""
        state = self.read(self.start, prefix)
        return {place for place, data in enumerate(tokens) if data and self.read(state, data) is not None}


class ShortestTexts:
    """The shortest ways to finish, with the given events alone: what steers a walk to its end."""

    def __init__(self, oracle: CfgOracle, events: Iterable[int]):
        self._entry = (oracle.first, oracle.productions.entry)
        self._events = sorted(set(events))
        self._of_range: dict[tuple[int, int], tuple[int, ...] | None] = {}
        self._of_head: dict[int, tuple[int, ...]] = {}
        self._explore(oracle.productions)

    def _explore(self, productions: Productions) -> None:
        """Improves until nothing does."""
        changed = True
        while changed:
            changed = False
            for head, bodies in enumerate(productions.bodies):
                for body in bodies:
                    text = self.of_body(body)
                    if text is not None and (head not in self._of_head or len(text) < len(self._of_head[head])):
                        self._of_head[head] = text
                        changed = True

    def of_body(self, body: Body) -> tuple[int, ...] | None:
        """The shortest events that spell the body, or None."""
        text: tuple[int, ...] = ()
        for symbol in body:
            piece = self._one_event(symbol) if isinstance(symbol, tuple) else self._of_head.get(symbol)
            if piece is None:
                return None
            text += piece
        return text

    def _one_event(self, symbol: tuple[int, int]) -> tuple[int, ...] | None:
        if symbol not in self._of_range:
            event = next((e for e in self._events if symbol[0] <= e <= symbol[1]), None)
            self._of_range[symbol] = None if event is None else (event,)
        return self._of_range[symbol]

    def completion(self, state: Column | None) -> tuple[int, ...] | None:
        """The shortest events from here to a text of the language, or None.

        Dijkstra over (column, head): all that is to be read until the rule that started there has ended.
        """
        if state is None:
            return None
        order = count()
        heap: list[tuple[int, int, tuple[int, ...], tuple[Column, int]]] = []
        for place, origin in state.items:
            if (text := self.of_body(place.rest)) is not None:
                heappush(heap, (len(text), next(order), text, (origin, place.head)))
        done: set[tuple[Column, int]] = set()
        while heap:
            _, _, text, ended = heappop(heap)
            if ended == self._entry:
                return text
            if ended in done:
                continue
            done.add(ended)
            column, head = ended
            for place, origin in column.waiting.get(head, ()):
                if (rest := self.of_body(place.after.rest)) is not None:
                    heappush(heap, (len(text + rest), next(order), text + rest, (origin, place.head)))
        return None


class TokenFuture:
    """Which states tokens can finish, where the vocabulary lacks bytes that the grammar asks for.

    What tokens can spell is a regular language: paths in a trie of the tokens that go back to the root where a token
    ends. `spells[symbol]` says from which trie nodes to which the texts of a symbol lead: the least fixpoint over all
    productions. Node sets are the bits of an int; node 0 is the root.
    """

    def __init__(self, oracle: CfgOracle, tokens: Iterable[bytes], events: Iterable[int] = ()):
        self._entry = (oracle.first, oracle.productions.entry)
        self._edges: dict[int, dict[int, int]] = {}
        used = oracle.productions.bytes_used()
        self._add_tokens([token for token in tokens if token and set(token) <= used])
        for event in events:
            self._edges.setdefault(event, {})[0] = 1
        self._spells: dict[Symbol, dict[int, int]] = {}
        self._known: dict[Column, bool] = {}
        self._onward: dict[tuple[Place, int], int] = {}
        self._explore(oracle.productions)

    def _add_tokens(self, tokens: list[bytes]) -> None:
        children: dict[tuple[int, int], int] = {}
        for token in tokens:
            node = 0
            for place, byte in enumerate(token):
                edges = self._edges.setdefault(byte, {})
                if place == len(token) - 1:
                    edges[node] = edges.get(node, 0) | 1
                else:
                    child = children.setdefault((node, byte), len(children) + 1)
                    edges[node] = edges.get(node, 0) | 1 << child
                    node = child

    def _explore(self, productions: Productions) -> None:
        nodes = {0} | {node for edges in self._edges.values() for node in edges}
        for bodies in productions.bodies:
            for symbol in {s for body in bodies for s in body if isinstance(s, tuple)}:
                self._spells.setdefault(symbol, self._over_range(symbol))
        users: dict[Symbol, set[int]] = {}
        for head, bodies in enumerate(productions.bodies):
            self._spells.setdefault(head, {})
            for called in {s for body in bodies for s in body}:
                users.setdefault(called, set()).add(head)
        waiting = dict.fromkeys(reversed(range(len(productions.bodies))))  # whose symbols have changed
        while waiting:
            head, _ = waiting.popitem()
            spelled, changed = self._spells[head], False
            for body in productions.bodies[head]:
                begun = list(self._spells[body[0]].items()) if body else [(node, 1 << node) for node in nodes]
                for node, targets in begun:
                    known = spelled.get(node, 0)
                    reached = known | self._follow(targets, body[1:])
                    if reached != known:
                        spelled[node], changed = reached, True
            if changed:
                waiting.update(dict.fromkeys(users.get(head, ())))

    def _over_range(self, symbol: tuple[int, int]) -> dict[int, int]:
        reached: dict[int, int] = {}
        for event, edges in self._edges.items():
            if symbol[0] <= event <= symbol[1]:
                for node, targets in edges.items():
                    reached[node] = reached.get(node, 0) | targets
        return reached

    def _follow(self, nodes: int, body: Body) -> int:
        """The nodes after a text of the body, from any of these nodes."""
        for symbol in body:
            spelled = self._spells.get(symbol, {})
            reached = 0
            while nodes:  # one after the other: mostly there are few
                lowest = nodes & -nodes
                nodes ^= lowest
                reached |= spelled.get(lowest.bit_length() - 1, 0)
            nodes = reached
            if not nodes:
                break
        return nodes

    def _behind(self, place: Place, nodes: int) -> int:
        """The nodes behind the rest of a production."""
        key = place, nodes
        if key not in self._onward:
            self._onward[key] = self._follow(nodes, place.rest)
        return self._onward[key]

    def completable(self, state: Column | None) -> bool:
        """Whether tokens lead from this state to a text of the language, and end where it does."""
        if state is None:
            return False
        if state not in self._known:
            self._known[state] = self._reaches_the_end(state)
        return self._known[state]

    def _reaches_the_end(self, state: Column) -> bool:
        """Spreads the nodes at which each rule that is open may end, from the inside out."""
        ended: dict[tuple[Column, int], int] = {}
        queue = [((origin, place.head), self._behind(place, 1)) for place, origin in state.items]
        for begun, nodes in queue:
            fresh = nodes & ~ended.get(begun, 0)
            if not fresh:
                continue
            ended[begun] = ended.get(begun, 0) | fresh
            column, head = begun
            around = column.waiting.get(head, ())
            queue += [((origin, place.head), self._behind(place.after, fresh)) for place, origin in around]
        return bool(ended.get(self._entry, 0) & 1)
