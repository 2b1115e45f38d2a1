"""What an answer under `gl.Tools` says: reasoning, content and calls, read from its tokens.

    out = gl.generate(model, prompt, grammar=gl.Tools([get_weather], format="hermes"))
    for call in out.calls:
        messages.append({"role": "tool", "content": str(call.call()), "tool_call_id": call.id})

Names of special tokens are told apart from their letters: a special token is read by its id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.items.special_token import Token
from grammarlm.grammars.lowering import specials_of
from grammarlm.grammars.tools.read import Call, CallReader, TextReader, Turn, read
from grammarlm.grammars.tools.tools import Tools
from grammarlm.vocab.vocabulary import Vocabulary

Piece = str | Token


def tools_of(grammar: Grammar | None) -> Tools | None:
    return grammar if isinstance(grammar, Tools) else None


def turn_of(tools: Tools, vocab: Vocabulary, tokens: Sequence[int], pieces: Sequence[bytes], is_complete: bool) -> Turn:
    """The turn that an answer is; of one that was cut its text and the calls that are complete. ValueError where it is none."""
    specials, texts = specials_of(vocab), list(texts_of(vocab, tokens, pieces))
    if is_complete:
        return read(tools, texts, specials)
    reader = CallReader(tools, specials)
    calls = [call for text in texts for call in reader.feed(text)]
    return Turn(None, b"".join(pieces).decode(errors="replace"), tuple(calls), tools)


def texts_of(vocab: Vocabulary, tokens: Sequence[int], pieces: Sequence[bytes]) -> Iterator[Piece]:
    """Texts, and the special tokens between them."""
    special, read = frozenset(vocab.special_ids), bytearray()
    for token, piece in zip(tokens, pieces, strict=True):
        read += piece
        if token in special:
            if read:
                yield read.decode(errors="replace")
            read.clear()
            yield Token(vocab.token_bytes(token).decode(errors="replace"))
    if read:
        yield read.decode(errors="replace")


class Pieces:
    """The pieces of an answer while it is written."""

    def __init__(self, vocab: Vocabulary):
        self._vocab, self._special, self._bytes = vocab, frozenset(vocab.special_ids), b""

    def of(self, token: int, data: bytes) -> Piece | None:
        """Of a token that adds these bytes; None within a character."""
        if token in self._special:
            return Token(self._vocab.token_bytes(token).decode(errors="replace"))
        self._bytes += data
        try:
            text, self._bytes = self._bytes.decode(), b""
        except UnicodeDecodeError as error:  # a character that the next tokens complete
            text, self._bytes = self._bytes[: error.start].decode(), self._bytes[error.start :]
        return text or None


class CallEvents:
    """The calls of an answer while it is written."""

    def __init__(self, tools: Tools, vocab: Vocabulary):
        self._pieces, self._reader = Pieces(vocab), CallReader(tools, specials_of(vocab))

    def feed(self, token: int, data: bytes) -> list[Call]:
        """The calls that end with a token, which adds these bytes."""
        piece = self._pieces.of(token, data)
        return [] if piece is None else self._reader.feed(piece)


class TextEvents:
    """The reasoning and the content of an answer while it is written, as far as they are certain."""

    def __init__(self, tools: Tools, vocab: Vocabulary):
        self._pieces, self._reader = Pieces(vocab), TextReader(tools, specials_of(vocab))

    def feed(self, token: int, data: bytes) -> tuple[str, str]:
        """What a token adds to each, which adds these bytes."""
        piece = self._pieces.of(token, data)
        return ("", "") if piece is None else self._reader.feed(piece)
