"""A vocabulary of all bytes, and which texts are taken under it."""

import grammarlm as gl

BYTES = gl.Vocabulary([*(bytes([byte]) for byte in range(256)), b"</s>"], stop_ids=[256], special_ids=[256])


def accepts(constraint: gl.Constraint, text: str | bytes) -> bool:
    matcher = constraint.matcher()
    return matcher.advance_bytes(text.encode() if isinstance(text, str) else text) and matcher.is_accepting
