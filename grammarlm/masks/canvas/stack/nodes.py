"""Sets of nodes as integers (bit n = node n), costs by point, places of a row and the ways to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

Costs = tuple[tuple[int, int], ...]  # (point, tokens), sorted


class Place(NamedTuple):
    step: int
    point: int
    node: int


class Way(NamedTuple):
    """One of the ways to a place."""

    value: float
    places: tuple[Place, ...]  # where it comes from
    edge: int = -1  # the edge that it takes in its step, -1: none


def members(nodes: int) -> Iterator[int]:
    """The nodes of a set, ascending."""
    while nodes:
        lowest = nodes & -nodes
        yield lowest.bit_length() - 1
        nodes ^= lowest


def offer_costs(known: dict[int, int], costs: dict[int, int], more: int, room: int) -> None:
    """Lowers known costs."""
    for after, tokens in costs.items():
        if tokens + more <= room and tokens + more < known.get(after, room + 1):
            known[after] = tokens + more
