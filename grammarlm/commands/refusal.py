"""Where a text leaves a grammar, and what was expected there: read byte by byte, so that no tokenizer is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammarlm.errors import caret
from grammarlm.vocab.byte_vocabulary import STOP

if TYPE_CHECKING:
    from grammarlm.masks.matcher import Matcher


def refused(matcher: Matcher, text: bytes, name: str, *, whole: bool) -> str | None:
    """None where the text is accepted (`whole`: and may end there), else where and why not, with a caret under the position.

    The matcher's vocabulary is `byte_vocabulary`; the bytes read are not rolled back.
    """
    read = next((at for at, byte in enumerate(text) if not matcher.advance(byte)), len(text))
    if read == len(text) and (matcher.is_accepting or not whole):
        return None
    reason = matcher.explain(text[read] if read < len(text) else STOP)
    shown, position = text.decode(errors="replace"), len(text[:read].decode(errors="replace"))
    if read < len(text) and text[read] & 0xC0 == 0x80:  # inside a character: the caret is put under its beginning
        position -= 1
    line = shown.count("\n", 0, position) + 1
    column = position - shown.rfind("\n", 0, position)
    where = f"{name}, line {line}, column {column} (byte {read} of {len(text)})"
    return f"{where}: {reason}\n{caret(shown, position)}"
