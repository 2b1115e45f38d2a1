"""Compositions of schemas and other grammars, with oracles that try every way of cutting a text into parts."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import lark

import grammarlm as gl
from tests.masks.canvas.canvas_law import Case
from tests.masks.canvas.json_cases import by_schema
from tests.masks.canvas.substituted import BLANKS

Accepts = Callable[[bytes], bool]
MOST_KEPT = 1 << 18  # answers of a part, which several cases ask
Piece = tuple[Any, Accepts]  # a grammar, and its oracle


def schema(value: Any, order: tuple[str, ...] = (), whitespace: str = "compact", **options: Any) -> Piece:
    accepts = by_schema(value, order, BLANKS[whitespace])
    return gl.JsonSchema(value, whitespace=whitespace, spelling="plain", **options), lru_cache(MOST_KEPT)(accepts)


def regex(pattern: str) -> Piece:
    compiled = re.compile(pattern, re.S)

    def accepts(data: bytes) -> bool:
        try:
            return compiled.fullmatch(data.decode()) is not None
        except UnicodeDecodeError:
            return False

    return gl.Regex(pattern), accepts


def text(until: str) -> Piece:
    def accepts(data: bytes) -> bool:
        try:
            return data.decode().find(until) == len(data.decode()) - len(until) >= 0
        except UnicodeDecodeError:
            return False

    return gl.Text(until=until), accepts


def rules(grammar: Any, in_lark: str | None = None, parser: str = "lalr") -> Piece:
    """A Lark grammar, or one in another notation and its texts in stock lark's."""
    reader = lark.Lark(in_lark or grammar.text, parser=parser)

    def accepts(data: bytes) -> bool:
        try:
            reader.parse(data.decode())
        except (lark.exceptions.UnexpectedInput, UnicodeDecodeError):
            return False
        return True

    return grammar, lru_cache(MOST_KEPT)(accepts)


def one_after_another(*pieces: Piece) -> Piece:
    def accepts(data: bytes) -> bool:
        ends = {0}
        for _, piece in pieces:
            ends = {j for i in ends for j in range(i, len(data) + 1) if piece(data[i:j])}
        return len(data) in ends

    grammar = pieces[0][0]
    for piece, _ in pieces[1:]:
        grammar = grammar + piece
    return grammar, lru_cache(None)(accepts)


def one_of(*pieces: Piece) -> Piece:
    grammar = pieces[0][0]
    for piece, _ in pieces[1:]:
        grammar = grammar | piece
    return grammar, lambda data: any(accepts(data) for _, accepts in pieces)


def case(piece: Piece, extra: list[bytes], begins: str, alphabet: bytes = bytes(range(256))) -> Case:
    """All bytes and some tokens more; `begins`: a regex that the beginnings of all texts match, which saves time, no more."""
    tokens = [b"?", *(bytes([b]) for b in range(256)), *extra, b"."]
    compiled = re.compile(begins.encode(), re.S)
    return Case(
        piece[0],
        tokens,
        piece[1],
        lambda data: not data.strip(alphabet) and compiled.fullmatch(data) is not None,
        alphabet=alphabet,
    )
