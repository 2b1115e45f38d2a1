"""Small pushdown tables, and what they mean, by following every (control, stack)."""

import functools
import itertools
from collections.abc import Iterator

import numpy as np

from grammarlm.masks.canvas.classes import FIRST, STOP, TokenClasses
from grammarlm.masks.canvas.stack.grammars.table_maker import TableMaker
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.canvas.stack.symbols import ROOT
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.protocol import FINISHED

BEGIN = 2  # a control
Stack = tuple[int, ...]
Start = tuple[int, Stack]


def grid_of(table: StackTable, length: int, starts: list[Start], room: int = 0) -> StackGrid:
    """A grid in which each class is one token, of its own number."""
    classes = TokenClasses(np.arange(table.classes, dtype=np.int32), table.classes)
    return StackGrid(table, classes, length, starts, room, lambda: None)


def following(table: StackTable, places: frozenset[Start], token_class: int) -> frozenset[Start]:
    """Where a class leads to."""
    found, seen = set(), set()
    waiting = [
        (point, s)
        for c, s in places
        for e in table.edges_by_class[token_class]
        for d, point in [table.edges[e]]
        if c == d
    ]
    while waiting:
        place = point, stack = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        if point < table.controls:
            found.add(place)
        elif point < table.first_micro:
            symbol, after = table.pushes[point - table.controls]
            waiting.append((after, (*stack, symbol)))
        else:
            for here, symbol, after in table.rules:
                top = stack[-1] if stack else ROOT
                if here == point and symbol == top:
                    waiting.append((after, stack[:-1]))
                elif here == point and symbol == ~top:  # it stays
                    waiting.append((after, stack))
    return frozenset(found)


def all_rows(table: StackTable, length: int, starts: list[Start], room: int) -> np.ndarray:
    """All rows of classes from STOP on that can be completed by at most `room` more."""
    found, known = [], dict[tuple[frozenset[Start], int], bool]()
    for row in itertools.product(range(STOP, table.classes), repeat=length):
        places = frozenset(starts)
        for token_class in row:
            places = following(table, places, token_class)
        if can_end(table, places, room, known):
            found.append(row)
    return np.array(found, int).reshape(-1, length)


def can_end(table: StackTable, places: frozenset[Start], left: int, known: dict) -> bool:
    """After at most so many more tokens. No cached function: that would keep the table, and tables have large arrays."""
    key = places, left
    if key not in known:
        known[key] = any(control == FINISHED for control, _ in places | following(table, places, STOP)) or (
            left > 0
            and any(can_end(table, following(table, places, k), left - 1, known) for k in range(FIRST, table.classes))
        )
    return known[key]


def is_completable(table: StackTable, row: list[int], starts: list[Start], room: int) -> bool:
    """Of rows too long to be enumerated: by where each symbol may be gone again. For tables without circles of micro points."""

    last = len(row) + room + 1  # nothing follows a stop id after the row

    def steps(control: int, at: int) -> Iterator[tuple[int, int]]:
        given = row[at] if at < len(row) else -1
        for token_class in [given] if given >= 0 else range(STOP, table.classes):
            after = last if token_class == STOP and at >= len(row) else at + 1
            if at < after <= last - (token_class != STOP):
                edges = (table.edges[edge] for edge in table.edges_by_class[token_class])
                yield from ((point, after) for here, point in edges if here == control)

    @functools.cache
    def popped(symbol: int, point: int, at: int) -> frozenset[tuple[int, int]]:
        """From a point with the symbol on top: the points, and tokens read, at which it is gone."""
        if point < table.controls:
            return frozenset().union(*(popped(symbol, *after) for after in steps(point, at)))
        if point < table.first_micro:
            above, after = table.pushes[point - table.controls]
            return frozenset().union(*(popped(symbol, *there) for there in popped(above, after, at)))
        found = {(after, at) for here, asked, after in table.rules if (here, asked) == (point, symbol)}
        stays = [after for here, asked, after in table.rules if (here, asked) == (point, ~symbol)]
        return frozenset(found).union(*(popped(symbol, after, at) for after in stays))

    @functools.cache
    def ends(point: int, at: int) -> bool:
        """From a point on the empty stack."""
        if point == FINISHED and at >= len(row):
            return True
        if point < table.controls:
            return any(ends(*after) for after in steps(point, at))
        if point < table.first_micro:
            above, after = table.pushes[point - table.controls]
            return any(ends(*there) for there in popped(above, after, at))
        return any(ends(after, at) for here, asked, after in table.rules if here == point and asked in (ROOT, ~ROOT))

    for control, stack in starts:
        there = {(control, 0)}
        for symbol in reversed(stack):
            there = set().union(*(popped(symbol, *place) for place in there))
        if any(ends(*place) for place in there):
            return True
    return False


def random_table(rng: np.random.Generator) -> StackTable:
    """Effects that pop and push up to three symbols, micro points with loops, ends."""
    controls, symbols, classes = (int(rng.integers(*bounds)) for bounds in ((3, 6), (2, 4), (FIRST + 2, FIRST + 4)))
    maker = TableMaker(controls, symbols)

    def some(counts: list[int]) -> Stack:
        return tuple(rng.integers(1, symbols, rng.choice(counts)).tolist())

    def control() -> int:
        return int(rng.integers(BEGIN, controls))

    for _ in range(int(rng.integers(4, 10))):
        maker.effect(
            control(), int(rng.integers(FIRST, classes)), control(), some([0, 0, 0, 1, 1, 2]), some([0, 0, 1, 1, 2, 3])
        )
    for _ in range(int(rng.integers(0, 3))):
        here = maker.micro(int(rng.integers(2)))
        maker.enter(control(), int(rng.integers(FIRST, classes)), here)
        for symbol in rng.integers(0, symbols, 2).tolist():
            if symbol and rng.random() < 0.5:
                maker.pop(here, symbol, then=maker.micro(int(rng.integers(2))))
            else:
                (maker.pop if rng.random() < 0.6 else maker.keep)(here, symbol, control(), some([0, 1]))
    for _ in range(2):
        maker.end(control(), some([0, 0, 1]))
    return maker.table(classes)


def random_single_table(rng: np.random.Generator) -> StackTable:
    """What a class does hangs on the control and the symbol on top: each row has one derivation."""
    controls, symbols, classes = int(rng.integers(3, 6)), 3, FIRST + 3
    maker = TableMaker(controls, symbols)

    def pushed() -> Stack:
        return tuple(rng.integers(1, symbols, rng.choice([0, 0, 1, 1, 2])).tolist())

    for control in range(BEGIN, controls):
        for token_class in range(FIRST, classes):
            if rng.random() < 0.3:
                continue
            if rng.random() < 0.5:
                maker.effect(control, token_class, int(rng.integers(BEGIN, controls)), (), pushed())
                continue
            here = maker.micro((control, token_class))
            maker.enter(control, token_class, here)
            for symbol in range(symbols):
                if rng.random() < 0.7:
                    act = maker.pop if rng.random() < 0.7 else maker.keep
                    act(here, symbol, int(rng.integers(BEGIN, controls)), pushed())
        if rng.random() < 0.6:
            maker.end(control, ((), (1,))[int(rng.integers(2))])
    return maker.table(classes)


def random_starts(table: StackTable, rng: np.random.Generator) -> list[Start]:
    if rng.random() < 0.6:
        return [(BEGIN, ())]
    return [(BEGIN, tuple(rng.integers(1, table.symbols, rng.integers(0, 3)).tolist())) for _ in range(2)]
