"""Languages over bytes and whole tokens, as an automaton whose edges are bytes, sets of tokens, or nothing.

A term is a tuple: ("text", "ab"), ("tokens", ids), ("other", ids), ("seq", terms), ("or", terms), ("repeat", term, low, high),
("dispatch", [(id, term)], loop, excludes). A token is read whole, from its first byte on, or byte by byte: edges of bytes may end
within it. Every byte is a token, so a state can be completed iff a path leads from it to the end.
"""

from typing import Any

import grammarlm as gl

Term = tuple[Any, ...]
START, END = 0, 1


class WholeTokens:
    """What a term allows over a vocabulary. The state of a text is a set of states."""

    def __init__(self, term: Term, vocab: gl.Vocabulary):
        self.vocab, self._text = vocab, {*vocab.text_ids.tolist()}
        self._all = {token for token in range(vocab.size) if vocab.token_bytes(token)} - {*vocab.stop_ids}
        self._size = END + 1
        self._edges: list[tuple[int, int | frozenset[int] | None, int]] = []  # a byte, tokens, or nothing
        self._add(term, START, END)
        self._alive, size = {END}, 0
        while size < len(self._alive):
            size = len(self._alive)
            self._alive |= {source for source, _, target in self._edges if target in self._alive}
        self._out: dict[int, list[tuple[int | frozenset[int] | None, int]]] = {}
        for source, letter, target in self._edges:
            if target in self._alive:
                self._out.setdefault(source, []).append((letter, target))
        self.start = self._closed({START} & self._alive)

    def _state(self) -> int:
        self._size += 1
        return self._size - 1

    def _add(self, term: Term, start: int, end: int) -> None:
        kind, *given = term
        if kind == "text":
            for byte in given[0].encode():
                self._edges.append((start, byte, start := self._state()))
            self._edges.append((start, None, end))
        elif kind in ("tokens", "other"):
            tokens = frozenset(given[0]) if kind == "tokens" else self._all - {*given[0]}
            if tokens:
                self._edges.append((start, frozenset(tokens), end))
        elif kind == "seq":
            for part in given[0]:
                self._add(part, start, start := self._state())
            self._edges.append((start, None, end))
        elif kind == "or":
            for part in given[0]:
                self._add(part, start, end)
        elif kind == "repeat":
            self._repeat(*given, start, end)
        else:
            rules, loop, excludes = given
            free = ("repeat", ("other", [*excludes, *(token for token, _ in rules)]), 0, None)
            call = ("seq", [free, ("or", [("seq", [("tokens", [token]), body]) for token, body in rules])])
            self._add(("seq", [("repeat", call, 0, None), free]) if loop else ("or", [call, free]), start, end)

    def _repeat(self, body: Term, low: int, high: int | None, start: int, end: int) -> None:
        for _ in range(low):
            self._add(body, start, start := self._state())
        if high is None:
            self._edges.append((start, None, again := self._state()))
            self._add(body, again, back := self._state())
            self._edges += [(back, None, again), (again, None, end)]
            return
        self._edges.append((start, None, end))
        for _ in range(high - low):
            self._add(body, start, start := self._state())
            self._edges.append((start, None, end))

    def _closed(self, states: set[int]) -> frozenset[int]:
        found, waiting = set(states), list(states)
        while waiting:
            new = {target for letter, target in self._out.get(waiting.pop(), ()) if letter is None} - found
            found |= new
            waiting += new
        return frozenset(found)

    def after(self, states: frozenset[int], token: int) -> frozenset[int]:
        """The states after a token, none where it is refused."""
        whole = {
            target for s in states for x, target in self._out.get(s, ()) if isinstance(x, frozenset) and token in x
        }
        read = states if token in self._text else frozenset[int]()
        for byte in self.vocab.token_bytes(token):
            read = self._closed({target for s in read for letter, target in self._out.get(s, ()) if letter == byte})
        return self._closed(whole) | read

    def is_complete(self, states: frozenset[int]) -> bool:
        return END in states

    def allowed(self, states: frozenset[int]) -> set[int]:
        found = {token for token in self._all if self.after(states, token)}
        return found | {*self.vocab.stop_ids} if self.is_complete(states) else found
