"""The minimal automaton of a formula, written so that equal texts mean equal sets of traces.

States are numbered as a breadth-first walk over the letters meets them; letters after which all states agree are one class,
numbered in the same way. Letters are the actions in the order of their names; without actions, all valuations of the propositions
on which something depends, in alphabetical order.

    0*:0,1/1:1,1 ...     state 0, which accepts (*), and where the classes lead; then state 1
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from grammarlm.errors import LimitExceeded

from .formulas import Formula, Formulas
from .states import Letter, State, States

MOST_PROPOSITIONS = 10
MOST_STATES = 1 << 14
MOST_ENTRIES = 1 << 21  # states times letters
Table = list[list[int]]


def canonical_form(formulas: Formulas, formula: Formula, actions: Sequence[tuple[str, Letter]] | None) -> str:
    """Of a formula over named actions, or over all valuations."""
    used = formulas.propositions
    if actions is not None:
        kinds = list(dict.fromkeys(names & frozenset(used) for _, names in actions))
        table, accepting = _minimal(*_explored(formulas, formula, kinds))
        columns = [kinds.index(names & frozenset(used)) for _, names in actions]
        digest = hashlib.blake2b(repr([name for name, _ in actions]).encode(), digest_size=6).hexdigest()
        return f"{len(actions)} actions {digest}; {_written([[row[c] for c in columns] for row in table], accepting)}"
    if len(used) > MOST_PROPOSITIONS:
        raise LimitExceeded(
            f"canonical over all valuations of {len(used)} propositions: it takes at most {MOST_PROPOSITIONS}; "
            "give actions=..., over which there are fewer"
        )
    letters = [_valuation(used, bits) for bits in range(1 << len(used))]
    table, accepting = _minimal(*_explored(formulas, formula, letters))
    for bit in reversed(range(len(used))):
        low = [bits for bits in range(1 << len(used)) if not bits >> bit & 1]
        if all(row[bits] == row[bits | 1 << bit] for row in table for bits in low):
            table, used = [[row[bits] for bits in low] for row in table], [*used[:bit], *used[bit + 1 :]]
    return f"{', '.join(map(repr, used)) or 'no propositions'}; {_written(table, accepting)}"


def _valuation(names: Sequence[str], bits: int) -> Letter:
    return frozenset(name for at, name in enumerate(names) if bits >> at & 1)


def _explored(formulas: Formulas, formula: Formula, letters: Sequence[Letter]) -> tuple[Table, list[bool]]:
    """All states that letters lead to; the first is the start."""
    states = States(formulas, letters, lambda: None)
    numbers: dict[State, int] = {states.begin(formula): 0}
    table: Table = []
    for state in (waiting := list(numbers)):
        row = []
        for letter in range(len(letters)):
            after = states.after(state, letter)
            number = numbers.setdefault(after, len(numbers))
            if number == len(waiting):
                waiting.append(after)
            row.append(number)
        table.append(row)
        if len(numbers) > MOST_STATES or len(numbers) * len(letters) > MOST_ENTRIES:
            raise LimitExceeded(
                f"the formula has more than {len(numbers) - 1:,} states over {len(letters):,} letters; make it smaller"
            )
    return table, [states.accepts(state) for state in numbers]


def _minimal(table: Table, accepting: Sequence[bool]) -> tuple[Table, list[bool]]:
    """States that no continuation tells apart are one; numbered from the start on."""
    block = [int(accepts) for accepts in accepting]
    while True:
        keys: dict[tuple[int, ...], int] = {}
        finer = [
            keys.setdefault((block[state], *[block[after] for after in row]), len(keys))
            for state, row in enumerate(table)
        ]
        if len(keys) == len(set(block)):
            break
        block = finer
    number = {block[0]: 0}
    first: list[int] = [0]
    for state in first:  # it grows
        for after in table[state]:
            if number.setdefault(block[after], len(number)) == len(first):
                first.append(after)
    return [[number[block[after]] for after in table[state]] for state in first], [accepting[state] for state in first]


def _written(table: Table, accepting: Sequence[bool]) -> str:
    columns = list(zip(*table, strict=True))
    classes = {column: number for number, column in enumerate(dict.fromkeys(columns))}
    of_letter = ",".join(str(classes[column]) for column in columns)
    rows = "/".join(
        f"{state}{'*' if accepts else ''}:{','.join(str(column[state]) for column in classes)}"
        for state, accepts in enumerate(accepting)
    )
    return f"letters {of_letter}; {rows}"
