"""One token, by its id, or a special one by its text; never through its bytes.

    Token("<|tool_call|>") + JsonSchema(...)          Token(151657) | Regex(...)

A model's special tokens are no text: the bytes `<|tool_call|>` are spelled by other tokens, and no mask of a text allows the id.
This is the only way to ask for it. It adds no bytes to the text and one token to its length. GBNF writes it `<think>` or `<[12]>`.

An ordinary text token may be given by its id, too. Where it is read, its bytes may match as well: both readings are followed.

The id is looked up when the grammar is compiled for a vocabulary (masks/machines/stack/named_tokens.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from grammarlm.grammars.compose import Grammar


@dataclass(frozen=True)
class Token(Grammar):
    """The token with this id, or the special token with this text."""

    name: str | int

    def __post_init__(self) -> None:
        if isinstance(self.name, bool) or not isinstance(self.name, (str, int)):
            raise TypeError(f"Token() takes a special token's text or its id, not {type(self.name).__name__}")
