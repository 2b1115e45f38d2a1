"""What tokens do from one thread over an unknown stack, by reading each of them to its end: the meaning of a survey (surveys.py).

row      the tokens that end within the frame, or at an end of it that is certain to be valid
exits    by label and border: the tokens that leave the frame before, with the number of their bytes that are consumed by then;
         what remains of them must not violate the border
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from grammarlm.layout.stack import ACCEPT, ANY, EXIT
from tests.oracles.stack_threads import Config, StackThreads

Entry = tuple[int, int]  # a token, and how many of its bytes are consumed


class Survey(NamedTuple):
    row: set[int]
    exits: dict[tuple[int, int], set[Entry]]


class Remainder(NamedTuple):
    token: int
    consumed: int
    rest: bytes


def exits_of(config: Config) -> set[tuple[int, int]]:
    """Label and border of each way in which a frame has just ended."""
    return {(stack[0], b) for q, stack, b in config if q == EXIT}


def ends_surely(config: Config, terminals: int) -> bool:
    """May a token end here, whatever is below on the stack?"""
    exits = exits_of(config)
    goes_on = any(q not in (ACCEPT, EXIT) for q, _, _ in config)
    return goes_on or not exits or any(0 < label <= terminals and border == ANY for label, border in exits)


def survey(
    threads: StackThreads, start: Config, remainders: Iterable[Remainder], column: Callable[[int], int]
) -> Survey:
    row: set[int] = set()
    exits: dict[tuple[int, int], set[Entry]] = defaultdict(set)
    terminals = threads.of.lr.end if threads.of.lr else 0
    for token, consumed, rest in remainders:
        config = start
        for place, byte in enumerate(rest):
            for label, border in exits_of(config):
                if is_kept(threads, border, rest[place:], column):
                    exits[label, border].add((token, consumed + place))
            config = threads.step(config, column(byte))
        if config and ends_surely(config, terminals):
            row.add(token)
        else:
            for way in exits_of(config):
                exits[way].add((token, consumed + len(rest)))
    return Survey(row, dict(exits))


def is_kept(threads: StackThreads, border: int, rest: bytes, column: Callable[[int], int]) -> bool:
    """Can the bytes be read without a violation of the border?"""
    for byte in rest:
        border = threads.of.border_after(border, column(byte))
        if border == 0:
            return False
    return True
