"""One long arithmetic expression, spaced and broken into lines as people do."""

import random

NAMES = ["x", "y", "z", "rate", "total", "price_net", "alpha", "beta2", "n", "width", "height"]
FUNCTIONS = ["sin", "sqrt", "max", "min", "log", "exp", "clamp"]


def atom(rng: random.Random, depth: int) -> str:
    kind = rng.randrange(10)
    if kind < 3:
        return rng.choice(
            (str(rng.randint(0, 99999)), f"{rng.uniform(0, 99):.3f}", f"{rng.randint(1, 9)}e-{rng.randint(1, 30)}")
        )
    if kind < 5 or not depth:
        return rng.choice(NAMES)
    if kind < 7:
        return f"{rng.choice(FUNCTIONS)}({', '.join(expression(rng, depth - 1) for _ in range(rng.randint(1, 3)))})"
    return f"({expression(rng, depth - 1)})"


def expression(rng: random.Random, depth: int) -> str:
    text = "-" * (rng.random() < 0.1) + atom(rng, depth)
    while rng.random() < 0.45:
        text += rng.choice((" + ", " - ", " * ", " / ", " % ", "**", "*", "+")) + atom(rng, depth)
    return text


def text(rng: random.Random, size: int) -> str:
    """An expression of about `size` characters."""
    terms = [expression(rng, 3)]
    while sum(map(len, terms)) < size:
        terms.append(expression(rng, 4))
    return "\n + ".join(terms)
