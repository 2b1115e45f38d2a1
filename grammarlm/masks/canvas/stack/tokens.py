"""What every token does to every control: walks of the vocabulary's trie over sets of threads, and tables of what remains.

From each control a set of threads is led down the trie; sets are interned, so a step from node to node is a lookup. Where a set has
a need (bytewise.py), what the tokens below still have to read, the **remainder**, is a micro point of that need: it is run for each
symbol that may be revealed. Remainders are strings of byte classes, so few differ; micro points that do the same are one, found by
splitting them until nothing differs any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.vocab.vocabulary import Vocabulary

from .bytewise import DEAD, Bytewise, Need, Thread

UNKNOWN = -1
EMPTY = 0  # the set without threads
ENDED = b""  # the remainder of the end of the text
Micro = tuple[Need, bytes]  # a need, and the classes of the bytes that remain


@dataclass
class Outcome:
    """What reading something leads to: threads (a control, and what it pushed), and micro points."""

    threads: frozenset[Thread] = frozenset()
    micros: frozenset[int] = frozenset()


@dataclass
class MicroRules:
    """What a micro point does by the symbol revealed."""

    need: Need
    rest: bytes
    rules: dict[int, Outcome] = field(default_factory=dict)
    ends: bool = False  # the text ends where the stack is empty


class TokenWalks:
    """All controls that tokens lead to, what tokens do to them, and all micro points."""

    def __init__(
        self, machine: Bytewise, class_of: np.ndarray, vocab: Vocabulary, check: Callable[[], None], most: int
    ):
        self.machine, self._vocab, self._trie, self._check, self._most = machine, vocab, vocab.trie, check, most
        self._columns = class_of[self._trie.byte].astype(np.int64)
        self._class_of = class_of
        self._sets: list[tuple[Thread, ...]] = [()]  # their threads that can read
        self._threads: list[frozenset[Thread]] = [frozenset()]
        self._numbers: dict[frozenset[Thread], int] = {frozenset(): EMPTY}
        self._needs: list[tuple[Need, ...]] = [()]
        self._after = np.full((64, machine.columns), UNKNOWN, np.int32)
        self._after[EMPTY] = EMPTY
        self._first: dict[Need, np.ndarray] = {}
        self._first_rows: list[np.ndarray] = []
        self._all_threads: dict[Need, int] = {}
        self._known_below: dict[object, list[tuple[int, int]]] = {}
        self._node_of = np.flatnonzero(self._trie.token < vocab.words * 32)
        self._tokens = self._trie.token[self._node_of].astype(np.int64)
        self._trie_node = np.full(vocab.size, -1, np.int64)  # by token
        self._trie_node[self._tokens] = self._node_of
        self.micros: list[MicroRules] = []
        self._micro_numbers: dict[Micro, int] = {}
        # By control: the tokens that it reads, the number of the outcome of each, and the outcomes.
        self.outcomes: list[tuple[np.ndarray, np.ndarray, list[Outcome]]] = []
        self.ends: dict[int, frozenset[int]] = {}  # by control: the micro points of the end of the text

    # ------------------------------------------------------------------ all of it

    def run(self) -> None:
        """From the controls that the machine knows, until nothing is new. All symbols must be known."""
        control = micro = 0
        while control < self.machine.controls or micro < len(self.micros):
            if control < self.machine.controls:
                self._walk(control)
                control += 1
            else:
                for symbol in range(1, len(self.machine.symbols)):
                    self._reveal(self.micros[micro], symbol)
                micro += 1
            if len(self.micros) + len(self._sets) > self._most:
                raise LimitExceeded("a canvas: the grammar's tokens do more different things than limits.max_states")

    # ------------------------------------------------------------------ sets

    def _set(self, threads: frozenset[Thread]) -> int:
        number = self._numbers.get(threads)
        if number is None:
            number = self._numbers[threads] = len(self._sets)
            closed = self.machine.closure(threads)
            self._threads.append(threads)
            self._sets.append(closed.readers)
            self._needs.append(closed.needs)
            if number >= len(self._after):
                self._after = np.concatenate([self._after, np.full_like(self._after, UNKNOWN)])
        return number

    def _step(self, number: int, column: int) -> int:
        after = int(self._after[number, column])
        if after == UNKNOWN:
            self._check()
            pairs = ((int(self.machine.row(control)[column]), local) for control, local in self._sets[number])
            after = self._set(frozenset(pair for pair in pairs if pair[0] != DEAD))
            self._after[number, column] = after
        return after

    def _read(self, threads: tuple[Thread, ...], needs: tuple[Need, ...], rest: bytes) -> Outcome:
        """What some closed threads do with a remainder."""
        micros = [self._micro(need, rest) for need in needs]
        if not rest:
            return Outcome(micros=frozenset(m for m in micros if m >= 0))
        pairs = ((int(self.machine.row(control)[rest[0]]), local) for control, local in threads)
        number = self._set(frozenset(pair for pair in pairs if pair[0] != DEAD))
        for at in range(1, len(rest)):
            micros += [self._micro(need, rest[at:]) for need in self._needs[number]]
            number = self._step(number, rest[at])
            if number == EMPTY:
                break
        return Outcome(self._threads[number], frozenset(m for m in micros if m >= 0))

    # ------------------------------------------------------------------ micro points

    def _micro(self, need: Need, rest: bytes) -> int:
        """The number of a micro point, -1 where nothing reads on."""
        if rest and not self._firsts(need)[rest[0]]:
            return -1
        key = need, rest
        if key not in self._micro_numbers:
            self._micro_numbers[key] = len(self.micros)
            self.micros.append(MicroRules(need, rest, ends=not rest and self.machine.ends(need)))
        return self._micro_numbers[key]

    def _firsts(self, need: Need) -> np.ndarray:
        """bool [columns]: what may be read first after a need, whatever is revealed."""
        known = self._first.get(need)
        if known is None:
            known = self._first[need] = np.zeros(self.machine.columns, bool)
            for control, _ in self._sets[self._any_of(need)]:
                known |= self.machine.row(control) != DEAD
        return known

    def _reveal(self, micro: MicroRules, symbol: int) -> None:
        closed = self.machine.revealed(micro.need, symbol)
        if closed.readers or closed.needs:
            outcome = self._read(closed.readers, closed.needs, micro.rest)
            if outcome.threads or outcome.micros:
                micro.rules[symbol] = outcome

    # ------------------------------------------------------------------ walks

    def _walk(self, control: int) -> None:
        """Leads one control down the trie."""
        trie, start = self._trie, self._set(frozenset([(control, ())]))
        reached = np.zeros(len(trie.byte) + 1, np.int32)
        reached[-1] = start
        for level in trie.levels:
            before = reached[trie.parent[level]]
            alive = before != EMPTY
            nodes, before = level[alive], before[alive]
            if not len(nodes):
                break
            self._check()
            reached[nodes] = self._stepped(before, self._columns[nodes])
        self.ends[control] = frozenset(m for need in self._needs[start] if (m := self._micro(need, ENDED)) >= 0)
        self._collect(reached)

    def _stepped(self, before: np.ndarray, columns: np.ndarray) -> np.ndarray:
        after = self._after[before, columns]
        if (after == UNKNOWN).any():
            width = self._after.shape[1]
            missing = after == UNKNOWN
            for pair in np.unique(before[missing].astype(np.int64) * width + columns[missing]).tolist():
                self._step(*divmod(pair, width))
            after = self._after[before, columns]
        return after

    def _collect(self, reached: np.ndarray) -> None:
        """The outcome of each token from a control."""
        micros = self._remainders(reached)
        finals = reached[self._node_of]
        found: dict[tuple[int, frozenset[int]], int] = {}
        outcomes: list[Outcome] = [Outcome()]
        of = np.zeros(self._vocab.size, np.int32)
        sets = np.unique(finals)
        numbers = np.zeros(len(self._sets), np.int32)
        for number in sets[sets != EMPTY].tolist():
            found[number, frozenset()] = numbers[number] = len(outcomes)
            outcomes.append(Outcome(self._threads[number]))
        of[self._tokens] = numbers[finals]
        for token, some in micros.items():
            key = int(reached[self._trie_node[token]]), frozenset(some)
            if key not in found:
                found[key] = len(outcomes)
                outcomes.append(Outcome(self._threads[key[0]], key[1]))
            of[token] = found[key]
        twins = self._trie.twins
        of[twins[:, 0]] = of[twins[:, 1]]
        read = np.flatnonzero(of)
        self.outcomes.append((read, of[read], outcomes))

    # ------------------------------------------------------------------ remainders of tokens

    def _remainders(self, reached: np.ndarray) -> dict[int, set[int]]:
        """By token, the micro points that a control needs on its way."""
        trie, found = self._trie, dict[int, set[int]]()
        goes_on = self._goes_on()
        nodes = np.flatnonzero(goes_on[reached[trie.parent], self._columns])  # after what precedes a need is over
        before = reached[trie.parent[nodes]]
        for number in np.unique(before).tolist():
            for need in self._needs[number]:
                first = self._firsts(need)
                here = nodes[(before == number) & first[self._columns[nodes]]]
                for depth in np.unique(trie.depth[here]).tolist():
                    for token, micro in self._below(need, here[trie.depth[here] == depth], depth):
                        found.setdefault(token, set()).add(micro)
        return found

    def _goes_on(self) -> np.ndarray:
        """bool [sets, columns]: what may be read first after the needs of each set."""
        while len(self._first_rows) < len(self._sets):
            row = np.zeros(self.machine.columns, bool)
            for need in self._needs[len(self._first_rows)]:
                row |= self._firsts(need)
            self._first_rows.append(row)
        return np.array(self._first_rows)

    def _below(self, need: Need, nodes: np.ndarray, depth: int) -> list[tuple[int, int]]:
        """(token, micro point) for the tokens below some nodes of one depth, where a need arose one byte before."""
        key = need, depth, nodes.tobytes()
        known = self._known_below.get(key)
        if known is None:
            micros = ((int(token), self._micro(need, self._rest(int(token), depth - 1))) for token in self._kept(need, nodes, depth))
            known = self._known_below[key] = [(token, micro) for token, micro in micros if micro >= 0]
        return known

    def _rest(self, token: int, at: int) -> bytes:
        offsets = self._vocab.offsets
        data = self._vocab.data[int(offsets[token]) + at : int(offsets[token + 1])]
        return self._class_of[data].tobytes()

    def _kept(self, need: Need, nodes: np.ndarray, depth: int) -> np.ndarray:
        """The tokens whose remainders may be read, whatever is revealed: those that die are left out before they are looked at one
        by one."""
        trie = self._trie
        reached, kept = np.zeros(len(trie.byte) + 1, np.int32), np.zeros(len(trie.byte) + 1, bool)
        reached[nodes] = self._stepped(np.full(len(nodes), self._any_of(need)), self._columns[nodes])
        tokens = [nodes]
        for level in trie.levels[depth:]:
            parents = trie.parent[level]
            inside = (reached[parents] != EMPTY) | kept[parents]
            here, parents = level[inside], parents[inside]
            if not len(here):
                break
            self._check()
            before = reached[parents]
            reached[here] = self._stepped(before, self._columns[here])
            kept[here] = kept[parents] | self._goes_on()[before, self._columns[here]]
            tokens.append(here)
        found = np.concatenate(tokens)
        found = found[(reached[found] != EMPTY) | kept[found]]
        ids = trie.token[found]
        kept_ids: np.ndarray = ids[ids < self._vocab.words * 32]
        return kept_ids

    def _any_of(self, need: Need) -> int:
        """The set of all threads that a need may go on with."""
        known = self._all_threads.get(need)
        if known is None:
            threads: set[Thread] = set()
            seen, waiting = {need}, [need]
            while waiting:
                here = waiting.pop()
                for symbol in range(1, len(self.machine.symbols)):
                    closed = self.machine.revealed(here, symbol)
                    threads.update(closed.readers)
                    waiting += [other for other in closed.needs if other not in seen]
                    seen.update(closed.needs)
            known = self._all_threads[need] = self._set(frozenset(threads))
        return known


def merged(micros: list[MicroRules]) -> np.ndarray:
    """int [micros]: a class for each, equal iff they do the same; -1 for those after which nothing goes on."""
    alive = [micro.ends or any(outcome.threads for outcome in micro.rules.values()) for micro in micros]
    is_new = True
    while is_new:
        is_new = False
        for number, micro in enumerate(micros):
            if not alive[number] and any(alive[m] for outcome in micro.rules.values() for m in outcome.micros):
                alive[number] = is_new = True
    of = [0 if is_alive else -1 for is_alive in alive]
    count = 0
    while True:
        numbers: dict[object, int] = {}
        after = []
        for number, micro in enumerate(micros):
            if not alive[number]:
                after.append(-1)
                continue
            rules = frozenset(
                (symbol, outcome.threads, frozenset(of[m] for m in outcome.micros) - {-1})
                for symbol, outcome in micro.rules.items()
                if outcome.threads or any(alive[m] for m in outcome.micros)
            )
            after.append(numbers.setdefault((of[number], micro.ends, rules), len(numbers)))
        of = after
        if len(numbers) == count:
            return np.array(of, int)
        count = len(numbers)
