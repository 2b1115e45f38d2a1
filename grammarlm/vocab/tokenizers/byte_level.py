"""Byte-level BPE's alphabet: 256 printable characters, one for each byte (GPT-2, Llama 3, Qwen, Mistral-Nemo).

A byte whose Latin-1 character is visible stands for itself; the other 68 take the characters from U+0100 on, so a
space is U+0120 and a newline U+010A. A token with any character outside this alphabet is not byte-level encoded:
its bytes are its UTF-8 text, as in added tokens such as two newlines.
"""

_VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_HIDDEN = [byte for byte in range(256) if byte not in set(_VISIBLE)]


class _ToLatin1(dict[int, int]):
    """Character -> the Latin-1 character of its byte; any other -> a character that Latin-1 does not have."""

    def __missing__(self, character: int) -> int:
        return 0x100


_TO_LATIN1 = _ToLatin1({byte: byte for byte in _VISIBLE} | {0x100 + i: byte for i, byte in enumerate(_HIDDEN)})
_FROM_LATIN1 = {byte: character for character, byte in _TO_LATIN1.items()}


def byte_level_bytes(token: str) -> bytes:
    """The bytes that a byte-level token stands for: `byte_level_bytes("\u0120the") == b" the"`."""
    try:
        return token.translate(_TO_LATIN1).encode("latin-1")
    except UnicodeEncodeError:
        return token.encode()


def byte_level_text(token: bytes) -> str:
    """The characters that stand for bytes: the inverse of `byte_level_bytes`."""
    return token.decode("latin-1").translate(_FROM_LATIN1)
