"""Readable names of tokens."""

from __future__ import annotations

from .vocabulary import Vocabulary


def token_name(vocab: Vocabulary, token: int, width: int = 0) -> str:
    """A token as a Python literal; part of a character as bytes. With a width, in at most so many columns."""
    if token in vocab.stop_ids:
        return "(end)"
    data = vocab.token_bytes(token) if token < vocab.size else b""
    try:
        name = ascii(data.decode()) if width else repr(data.decode())
    except UnicodeDecodeError:
        name = repr(data)
    return name if not width or len(name) <= width else f"{name[: width - 3]}..."
