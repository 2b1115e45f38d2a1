"""Partly filled rows with few holes against every way of filling them in, read by an oracle and by a matcher."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from tests.masks.canvas.canvas_law import Case, fails, holes_of, ids_in


def row_of(case: Case, length: int, *pieces: bytes | None) -> list[int]:
    """Tokens by their bytes, None for a hole, stop ids to the end."""
    ids = {spelled: token for token, spelled in enumerate(case.tokens) if token}
    row = [-1 if piece is None else ids[piece] for piece in pieces]
    return row + case.stop_ids[:1] * (length - len(row))


def completions(case: Case, partial: list[int]) -> np.ndarray:
    """All rows of the language with these tokens; oracle and matcher agree on each."""
    stops, found = set(case.stop_ids), []
    candidates = [*sorted(tried(case) - stops - set(case.special)), *case.stop_ids]
    holes = holes_of(partial)
    for chosen in itertools.product(candidates, repeat=len(holes)):
        row = list(partial)
        for at, token in zip(holes, chosen, strict=True):
            row[at] = token
        text = list(itertools.takewhile(lambda token: token not in stops, row))
        if set(row[len(text) :]) <= stops and case.accepts(b"".join(case.tokens[token] for token in text)):
            found.append(row)
    for row in found[:: max(1, len(found) // 50)]:
        assert is_read(case, row), row
    return np.array(found, int).reshape(-1, len(partial))


def tried(case: Case) -> set[int]:
    """The tokens that texts may have."""
    return {*case.stop_ids, *(token for token, spelled in enumerate(case.tokens) if case.begins(spelled))}


def judged(case: Case) -> set[int]:
    """The tokens of which is known where they may not stand: all; of a part of the language those that are tried and do not begin
    within a character, which may be one that is not tried."""
    if not case.is_part:
        return set(range(case.width))
    return {token for token in tried(case) if not case.tokens[token] or not 0x80 <= case.tokens[token][0] < 0xC0}


def is_read(case: Case, row: list[int]) -> bool:
    matcher = case.constraint.matcher()
    return all(matcher.is_finished or matcher.advance(token) for token in row) and (
        matcher.is_finished or matcher.is_accepting
    )


def check_partial(
    case: Case,
    partial: list[int],
    complete: Callable[[Case, list[int]], np.ndarray] = completions,
    begun: Sequence[int] = (),
    canvas: object = None,
    repeated: list[int] | None = None,
) -> bool:
    """All answers about one row behind what a matcher has read; returns whether it can be completed.

    `repeated`: gets the tokens that are allowed and can only make a key come twice, which a commit refuses; None: there are none.
    """
    if canvas is None:
        canvas = canvas_behind(case, len(partial), begun)
    left = complete(case, [*begun, *partial])[:, len(begun) :]
    assert canvas.is_completable(partial) == (len(left) > 0), partial
    allowed, rng = canvas.allowed(partial), np.random.default_rng(0)
    asked = judged(case)
    for at in holes_of(partial):
        own, found = set(left[:, at].tolist()), ids_in(allowed.row(at))
        assert own <= found, (partial, at)
        check_extra(canvas, partial, at, found & asked - own, repeated)
    if len(left) and not holes_of(partial) and complete is completions:
        for at in [at for at, token in enumerate(partial) if token not in case.stop_ids]:
            others = completions(case, [*begun, *partial[:at], -1, *partial[at + 1 :]])[:, len(begun) + at]
            own, found = set(others.tolist()), ids_in(allowed.row(at))
            assert own <= found, (partial, at)
            check_extra(canvas, partial, at, found & asked - own, repeated)
    logits = rng.standard_normal((len(partial), case.width)).astype(np.float32)
    if not len(left):
        assert fails(canvas.fill, partial, logits)
    elif not case.is_part:  # else it may be filled with what is not tried
        assert (left == canvas.fill(partial, logits)).all(1).any()
        assert (left == canvas.sample(partial, logits, seed=1)).all(1).any()
    return len(left) > 0


def check_extra(canvas: object, partial: list[int], at: int, extra: set[int], repeated: list[int] | None) -> None:
    """What is allowed at a position although no completion has it."""
    assert not extra or repeated is not None, (partial, at, extra)
    for token in extra:
        assert not canvas.is_completable([*partial[:at], token, *partial[at + 1 :]]), (partial, at, token)
        repeated.append(token)


def canvas_behind(case: Case, length: int, begun: Sequence[int]) -> object:
    if not begun:
        return case.constraint.canvas(length)
    matcher = case.constraint.matcher()
    assert all(map(matcher.advance, begun)), begun
    return case.constraint.canvas(length, after=matcher)


def check_steps(case: Case, partial: list[int]) -> None:
    """The masked tokens of a row that can be completed, given one after another on one canvas."""
    canvas = case.constraint.canvas(len(partial))
    while len(holes := holes_of(partial)) > 1:
        left = completions(case, partial)
        if not len(left):
            return
        partial = list(partial)
        partial[holes[0]] = int(left[len(left) // 2, holes[0]])
        check_partial(case, partial, canvas=canvas)
