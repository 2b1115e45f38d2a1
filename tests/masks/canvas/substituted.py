"""Partly filled rows with few holes against every way of filling them in, read by an oracle and by a matcher."""

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

import grammarlm as gl
from tests.masks.canvas.canvas_law import Case, fails, holes_of, ids_in
from tests.masks.canvas.json_cases import by_schema

BLANKS = {"compact": "", "any": r"[ \t\r\n]*"}  # by whitespace=


def json_case(
    schema: Any, extra: Sequence[bytes], alphabet: bytes = bytes(range(256)), whitespace: str = "compact",
    order: tuple[str, ...] = (), **options: Any,
) -> Case:  # fmt: skip
    """All bytes and a few tokens more; `alphabet`: all bytes that a text can have, to say so saves time, no more."""
    tokens = [b"?", *(bytes([b]) for b in range(256)), *extra, b"."]
    accepts = by_schema(schema, order, BLANKS[whitespace])
    grammar = gl.JsonSchema(schema, whitespace=whitespace, spelling="plain", **options)
    return Case(grammar, tokens, lru_cache(None)(accepts), lambda data: not data.strip(alphabet), alphabet=alphabet)


def row_of(case: Case, length: int, *pieces: bytes | None) -> list[int]:
    """Tokens by their bytes, None for a hole, stop ids to the end."""
    ids = {spelled: token for token, spelled in enumerate(case.tokens) if token}
    row = [-1 if piece is None else ids[piece] for piece in pieces]
    return row + case.stop_ids[:1] * (length - len(row))


def completions(case: Case, partial: list[int]) -> np.ndarray:
    """All rows of the language with these tokens; oracle and matcher agree on each."""
    stops, found = set(case.stop_ids), []
    texts = [token for token in range(len(case.tokens)) if token not in stops and case.begins(case.tokens[token])]
    candidates = [*(token for token in texts if token not in case.special), *case.stop_ids]
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


def is_read(case: Case, row: list[int]) -> bool:
    matcher = case.constraint.matcher()
    return all(matcher.is_finished or matcher.advance(token) for token in row) and (
        matcher.is_finished or matcher.is_accepting
    )


def check_partial(
    case: Case, partial: list[int], complete: Callable[[Case, list[int]], np.ndarray] = completions
) -> bool:
    """All answers about one row; returns whether it can be completed."""
    canvas, left = case.constraint.canvas(len(partial)), complete(case, partial)
    assert canvas.is_completable(partial) == (len(left) > 0), partial
    allowed, rng = canvas.allowed(partial), np.random.default_rng(0)
    for at in holes_of(partial):
        assert ids_in(allowed.row(at)) == set(left[:, at].tolist()), (partial, at)
    logits = rng.standard_normal((len(partial), case.width)).astype(np.float32)
    if not len(left):
        assert fails(canvas.fill, partial, logits)
    else:
        assert (left == canvas.fill(partial, logits)).all(1).any()
        assert (left == canvas.sample(partial, logits, seed=1)).all(1).any()
    return len(left) > 0
