"""Sets of nodes as integers (bit n = node n), and costs by point."""

from __future__ import annotations

from collections.abc import Iterator


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
