"""Texts in Lark's notation that would keep lark busy for minutes, for ever, or until the memory is gone; and how each ends here."""

from collections.abc import Callable
from typing import NamedTuple


class Hostile(NamedTuple):
    """`outcome` is how the error begins, or "built" where the text is read."""

    outcome: str
    text: Callable[[], str]


DEEP = 1_000_000
AB = 'A: "a"\nB: "b"\n'
LIMIT, BROKEN, BUILT = "LimitExceeded", "GrammarError", "built"


def many(count: int, line: str) -> str:
    """The line once for each i; {j} is i + 1."""
    return "".join(line.format(i=i, j=i + 1) for i in range(count))


def nested(opening: str, inside: str, closing: str, depth: int, rest: str = AB) -> str:
    return f"start: {opening * depth}{inside}{closing * depth}\n{rest}"


def distinct_instances() -> str:
    lines = "t{i}{{x}}: t{j}{{p{i}{{x}}}} t{j}{{q{i}{{x}}}}\np{i}{{x}}: x\nq{i}{{x}}: x x\n"
    return "start: t0{A}\n" + many(40, lines) + "t40{x}: x\n" + AB


HOSTILE: dict[str, Hostile] = {
    "sixty-five brackets": Hostile(f"{LIMIT} brackets", lambda: nested("(", "A", ")", 65)),
    "a thousand open brackets": Hostile(f"{LIMIT} brackets", lambda: "start: " + "(" * 1000),
    "a million brackets": Hostile(f"{LIMIT} the grammar is too long", lambda: nested("(", "A", ")", DEEP)),
    "a million open brackets": Hostile(f"{LIMIT} the grammar is too long", lambda: "start: " + "(" * DEEP),
    "a million optional brackets": Hostile(f"{LIMIT} the grammar is too long", lambda: nested("[", "A", "]", DEEP)),
    "a million templates in each other": Hostile(
        f"{LIMIT} the grammar is too long", lambda: nested("_f{", "A", "}", DEEP, "_f{x}: x\n" + AB)
    ),
    "as deep as allowed": Hostile(BUILT, lambda: nested("[(", "A", " B)~1]", 32)),
    "a deep template": Hostile(BUILT, lambda: "start: _f{A}\n_f{x}: " + "(" * 64 + "x" + " B)" * 64 + "\n" + AB),
    "a hundred thousand strings": Hostile(
        f"{LIMIT} the grammar is too long", lambda: "start: " + " | ".join(f'"k{i}"' for i in range(100_000)) + "\n"
    ),
    "a hundred thousand rules": Hostile(
        f"{LIMIT} the grammar is too long", lambda: "start: r0\n" + many(100_000, "r{i}: r{j}\n")
    ),
    "five thousand strings": Hostile(BUILT, lambda: "start: " + " | ".join(f'"k{i}"' for i in range(5000)) + "\n"),
    "a template without end": Hostile(
        f"{LIMIT} template _f expands", lambda: "start: _f{A}\n_f{x}: _f{_f{x}} | x\n" + AB
    ),
    "arguments that double": Hostile(
        f"{LIMIT} template _g expands",
        lambda: "start: _f{A}\n_f{x}: x | _f{_g{x, x}}\n_g{x, y}: x y\n" + AB,
    ),
    "a template of templates without end": Hostile(
        f"{LIMIT} template ", lambda: "start: ap{f, A}\nap{g, x}: g{x} | ap{g, g{x}}\nf{x}: x\n" + AB
    ),
    "two to the forty instances": Hostile(f"{LIMIT} template", distinct_instances),
    "forty templates that copy": Hostile(
        BUILT, lambda: "start: t0{A}\n" + many(40, "t{i}{{x}}: t{j}{{x}} t{j}{{x}}\n") + "t40{x}: x\n" + AB
    ),
    "a large template a thousand times": Hostile(
        f"{LIMIT} ",
        lambda: (
            f"start: {' | '.join(f'_f{{r{i}}}' for i in range(1000))}\n"
            + many(1000, "r{i}: A\n")
            + f"_f{{x}}: {'x A | ' * 500} B\n"
            + AB
        ),
    ),
    "sixty optional parts": Hostile(f"{LIMIT} the alternatives multiply", lambda: f"start: {'[A] ' * 60}\n" + AB),
    "sixty question marks": Hostile(f"{LIMIT} the alternatives multiply", lambda: f"start: {'A? ' * 60}\n" + AB),
    "ten thousand question marks": Hostile(
        f"{LIMIT} the alternatives multiply", lambda: f"start: {'A? ' * 10_000}\n" + AB
    ),
    "three hundred brackets in a row": Hostile(BUILT, lambda: f"start: {'(A) ' * 300}\n" + AB),
    "a product of choices": Hostile(f"{LIMIT} the alternatives multiply", lambda: f"start: {'(A | B) ' * 40}\n" + AB),
    "a sum of products": Hostile(
        f"{LIMIT} with r", lambda: "start: A\n" + many(200, "r{i}: " + "(A | B) " * 8 + "\n") + AB
    ),
    "up to a billion": Hostile(BUILT, lambda: "start: A~0..1000000000\n" + AB),
    "repeats of repeats": Hostile(f"{LIMIT} the alternatives multiply", lambda: nested("(", "A | B", ")~0..49", 40)),
    "large repeats of large repeats": Hostile(BUILT, lambda: nested("(", "A | B", ")~0..1000000000", 40)),
    "repeats of nothing": Hostile(BUILT, lambda: nested("(", "", ")~49", 20)),
    "a count of forty digits": Hostile(f"{LIMIT} a number", lambda: f"start: A~0..{'9' * 40}\n" + AB),
    "a priority of a million digits": Hostile(f"{LIMIT} a number", lambda: f"start.{'9' * DEEP}: A\n" + AB),
    "terminals that double": Hostile(
        f"{LIMIT} terminal", lambda: "start: T0\n" + many(60, "T{i}: T{j} T{j}\n") + 'T60: "k"\n'
    ),
    "a chain of terminals": Hostile(
        f"{LIMIT} terminal", lambda: "start: T0\n" + many(5000, 'T{i}: "a" | T{j}\n') + 'T5000: "k"\n'
    ),
    "terminals in a circle": Hostile(
        f"{BROKEN} terminal", lambda: "start: T0\n" + many(5000, "T{i}: T{j}\n") + "T5000: T0\n"
    ),
    "a terminal repeated too often": Hostile(
        f"{LIMIT} a terminal repeats", lambda: 'start: A\nA: "a"~0..99999999999\n'
    ),
    "a pattern that repeats too often": Hostile(f"{LIMIT} a regular", lambda: "start: /a{99999999999}/\n"),
    "a deep pattern": Hostile(f"{LIMIT} the parentheses", lambda: f"start: /{'(' * 40_000}a{')' * 40_000}/\n"),
    "a deep pattern in escapes": Hostile(
        f"{LIMIT} the parentheses", lambda: f"start: /{chr(92)}x28" + "\\x28" * 9000 + "/\n"
    ),
    "a string of ten million": Hostile(f"{LIMIT} a literal", lambda: f'start: "{"a" * 10_000_000}"\n'),
    "backslashes in an open string": Hostile(f"{BROKEN} a string is not closed", lambda: 'start: "' + "\\" * 99_999),
    "backslashes in an open pattern": Hostile(f"{BROKEN} a regular", lambda: "start: /" + "\\" * 99_999),
    "a million empty lines": Hostile(BUILT, lambda: 'start: "a"\n' + "\n" * DEEP + 'b: "c"\n'),
    "a million blanks": Hostile(BUILT, lambda: 'start: "a"' + " " * DEEP + "\n"),
    "five thousand unused rules in a chain": Hostile(
        BUILT, lambda: "start: A\n" + many(5000, "r{i}: r{j}\n") + "r5000: A\n" + AB
    ),
    "five thousand extensions": Hostile(BUILT, lambda: "start: A\n" + "%extend start: B\n" * 5000 + AB),
    "a rule of a thousand names": Hostile(BUILT, lambda: f"start: {'A ' * 1000}\n" + AB),
    "a chain of rules in the wrong order": Hostile(
        BUILT, lambda: "start: r0\n" + many(3000, "r{i}: r{j}\n") + "r3000: A\n" + AB
    ),
    "exponentially many states": Hostile(
        f"{LIMIT} the grammar's parser needs more than",
        lambda: "start: A start | B start | A t0\n" + many(25, "t{i}: A t{j} | B t{j}\n") + "t25: A\n" + AB,
    ),
    "many rules that may follow all others": Hostile(
        f"{LIMIT} making the parser's states",
        lambda: f"start: {' | '.join(f'T{i} start' for i in range(1500))} | A\n" + many(1500, 'T{i}: "t{i}"\n') + AB,
    ),
    "many repeats in one state": Hostile(
        BUILT,
        lambda: f"start: {' | '.join(f'T{i}*' for i in range(3000))}\n" + many(3000, 'T{i}: "t{i}"\n'),
    ),
    "not a text at all": Hostile(f"{BROKEN} unexpected character", lambda: "\x00\xff" * 1000),
    "nothing": Hostile(f"{BROKEN} the grammar has no rule", lambda: ""),
}
