"""Linear temporal logic on finite traces: random formulas, their recursive definition, and automata of sets of obligations.

A formula is a tuple: ("p", name), ("true",), ("!", f), ("U", f, g) and so on; a trace is a list of sets of propositions.
"""

import random
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

Formula = tuple[Any, ...]
UNARY, BINARY = "!XNFG", ("&", "|", "->", "<->", "U", "R", "W")
Ways = frozenset[tuple[bool, frozenset[Formula]]]  # is a further position needed? what must hold there


def random_formula(rng: random.Random, depth: int, names: Sequence[str]) -> Formula:
    if depth == 0 or rng.random() < 0.15:
        return ("p", rng.choice(names)) if rng.random() < 0.9 else (rng.choice(["true", "false", "last"]),)
    sign = rng.choice([*UNARY, *BINARY, "&", "|"])
    parts = [random_formula(rng, depth - 1, names) for _ in range(1 if sign in UNARY else 2)]
    return (sign, *parts)


def written(f: Formula) -> str:
    if f[0] == "p":
        return f[1] if f[1].isidentifier() else '"' + f[1].replace("\\", "\\\\").replace('"', '\\"') + '"'
    if len(f) == 1:
        return str(f[0])
    parts = [part[0] if len(part) == 1 else f"({written(part)})" for part in f[1:]]
    return f"{f[0]} {parts[0]}" if len(parts) == 1 else f"{parts[0]} {f[0]} {parts[1]}"


def holds(f: Formula, trace: Sequence[frozenset[str]], i: int = 0) -> bool:
    """The definition."""
    sign, parts, later = f[0], f[1:], range(i, len(trace))
    match sign:
        case "p":
            return parts[0] in trace[i]
        case "true" | "false":
            return bool(sign == "true")
        case "last":
            return i == len(trace) - 1
        case "!":
            return not holds(parts[0], trace, i)
        case "X":
            return i + 1 < len(trace) and holds(parts[0], trace, i + 1)
        case "N":
            return i + 1 == len(trace) or holds(parts[0], trace, i + 1)
        case "F":
            return any(holds(parts[0], trace, k) for k in later)
        case "G":
            return all(holds(parts[0], trace, k) for k in later)
        case "R":
            return all(holds(parts[1], trace, k) or any(holds(parts[0], trace, j) for j in range(i, k)) for k in later)
        case "U" | "W":
            until = any(
                holds(parts[1], trace, k) and all(holds(parts[0], trace, j) for j in range(i, k)) for k in later
            )
            return until or (sign == "W" and all(holds(parts[0], trace, k) for k in later))
    left, right = (holds(part, trace, i) for part in parts)
    return {"&": left and right, "|": left or right, "->": not left or right, "<->": left is right}[sign]


# ---- automata: a state is a set of ways, each an obligation for the next position; nothing is simplified.


@cache
def ways(f: Formula, here: frozenset[str], is_true: bool = True) -> Ways:
    """What must hold of the next position so that f holds (or does not) where these propositions do."""
    sign, parts = f[0], f[1:]
    always, never = frozenset([(False, frozenset[Formula]())]), frozenset[Any]()
    if sign in ("p", "true", "false"):
        return always if (parts[0] in here if sign == "p" else sign == "true") is is_true else never
    if sign == "last":
        return ways(("N", ("false",)), here, is_true)
    if sign == "!":
        return ways(parts[0], here, not is_true)
    if sign in "XN":
        return frozenset([((sign == "X") is is_true, frozenset([parts[0] if is_true else ("!", parts[0])]))])
    if sign in ("&", "|"):
        found = [ways(part, here, is_true) for part in parts]
        return joined(*found) if (sign == "&") is is_true else found[0] | found[1]
    if sign == "->":
        return ways(("|", ("!", parts[0]), parts[1]), here, is_true)
    if sign == "<->":
        both, neither = ("&", *parts), ("&", ("!", parts[0]), ("!", parts[1]))
        return ways(("|", both, neither), here, is_true)
    if sign == "F":
        return ways(("|", parts[0], ("X", f)), here, is_true)
    if sign == "G":
        return ways(("&", parts[0], ("N", f)), here, is_true)
    if sign == "U":
        return ways(("|", parts[1], ("&", parts[0], ("X", f))), here, is_true)
    if sign == "W":
        return ways(("|", parts[1], ("&", parts[0], ("N", f))), here, is_true)
    return ways(("&", parts[1], ("|", parts[0], ("N", f))), here, is_true)


def joined(some: Ways, others: Ways) -> Ways:
    return frozenset((a or b, f | g) for (a, f), (b, g) in product(some, others))


class Traces:
    """The deterministic automaton of a formula over some letters."""

    def __init__(self, f: Formula, letters: Sequence[frozenset[str]]):
        self.letters, self.start = letters, frozenset([(True, frozenset([f]))])
        self._after: dict[tuple[Ways, int], Ways] = {}
        self._alive: dict[Ways, bool] = {}

    def after(self, state: Ways, letter: int) -> Ways:
        key = state, letter
        if key not in self._after:
            found: set[Any] = set()
            for _, formulas in state:
                rest: Ways = frozenset([(False, frozenset())])
                for f in formulas:
                    rest = joined(rest, ways(f, self.letters[letter]))
                found |= rest
            self._after[key] = frozenset(found)
        return self._after[key]

    @staticmethod
    def accepts(state: Ways) -> bool:
        return any(not must for must, _ in state)

    def goes_on(self, state: Ways) -> bool:
        """Do some further positions, one at least, satisfy it?"""
        if state not in self._alive:
            reached = [self.after(state, letter) for letter in range(len(self.letters))]
            seen = set(reached)
            for each in reached:  # it grows
                new = {self.after(each, letter) for letter in range(len(self.letters))} - seen
                seen |= new
                reached += new
            self._alive[state] = any(map(self.accepts, reached))
        return self._alive[state]


def same_language(some: Traces, other: Traces) -> bool:
    """Over the same letters, by pairs of states."""
    seen, waiting = {(some.start, other.start)}, [(some.start, other.start)]
    while waiting:
        a, b = waiting.pop()
        for letter in range(len(some.letters)):
            pair = some.after(a, letter), other.after(b, letter)
            if some.accepts(pair[0]) is not other.accepts(pair[1]):
                return False
            if pair not in seen:
                seen.add(pair)
                waiting.append(pair)
    return True
