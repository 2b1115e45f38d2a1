"""Parser of SentencePiece model files (a protocol buffer), without the library.

A piece writes a space as U+2581. The type of a piece decides the rest: BYTE pieces (`<0x0A>`) are one byte, CONTROL and UNKNOWN
pieces are special (the library decodes them to nothing, and to a question mark), all others are text. The library strips spaces at
the beginning of a text (the model's `add_dummy_prefix` put one there); a token's bytes keep them.
"""

import re
from collections.abc import Iterator
from typing import Any

from grammarlm.errors import TokenizerError
from grammarlm.vocab.token_table import TokenTable

MARK = "\u2581"
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")

# Fields of the messages ModelProto, SentencePiece, TrainerSpec and NormalizerSpec.
_PIECES, _TRAINER, _DENORMALIZER = 1, 2, 5
_PIECE, _TYPE = 1, 3
_EOS_PIECE = 47
_CHARSMAP = 2


def read_model(proto: bytes, name: str) -> tuple[TokenTable, dict[str, bytes]]:
    """The table of a serialized model, and the bytes of each piece."""
    try:
        return _read(proto, name)
    except TokenizerError:
        raise
    except (IndexError, KeyError, ValueError, AttributeError, TypeError) as error:
        raise TokenizerError(
            f"{name} is no SentencePiece model: {error}. (A file of tiktoken ranks may also be called .model: build a "
            "tiktoken.Encoding of it and pass that)"
        ) from None


def _read(proto: bytes, name: str) -> tuple[TokenTable, dict[str, bytes]]:
    tokens: list[bytes] = []
    special: list[int] = []
    controls: list[int] = []
    spelled: dict[str, bytes] = {}
    eos = "</s>"
    for field, value in _fields(proto):
        if field == _PIECES:
            piece, kind = _piece(value)
            if kind in (CONTROL, UNKNOWN):
                special.append(len(tokens))
            if kind == CONTROL:
                controls.append(len(tokens))
            spelled[piece] = _spell(piece, kind, name)
            tokens.append(spelled[piece])
        elif field == _TRAINER:
            eos = next((text.decode() for number, text in _fields(value) if number == _EOS_PIECE), eos)
        elif field == _DENORMALIZER and any(number == _CHARSMAP and rules for number, rules in _fields(value)):
            raise TokenizerError(f"{name} has a denormalizer_spec: what it makes of decoded text is not known")
    if not tokens:
        raise ValueError("it has no pieces")
    ends = [i for i in controls if tokens[i] == eos.encode()]
    return TokenTable.from_tokens(tokens, special, ends), spelled


def _piece(message: bytes) -> tuple[str, int]:
    fields: dict[int, Any] = dict(_fields(message))
    return fields[_PIECE].decode(), fields.get(_TYPE, NORMAL)


def _spell(piece: str, kind: int, name: str) -> bytes:
    if kind == BYTE:
        found = _BYTE.fullmatch(piece)
        if found is None:
            raise TokenizerError(f"{name} has the byte piece {piece!r}: byte pieces are written <0x00> to <0xFF>")
        return bytes([int(found[1], 16)])
    return (piece if kind in (CONTROL, UNKNOWN) else piece.replace(MARK, " ")).encode()


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The (field, value) pairs of a protocol buffer message: int or bytes. Floats are skipped."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == 2:
            length, at = _varint(message, at)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
            continue
        else:
            raise ValueError(f"a field of the unknown kind {kind} at byte {at}")
        if length > len(message) - at:
            raise ValueError(f"a field of {length} bytes at byte {at}, where {len(message) - at} are left")
        yield key >> 3, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A varint (seven bits a byte, lowest first), and the position after it."""
    value = shift = 0
    while shift < 70:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError(f"a number of more than ten bytes at byte {at}")
