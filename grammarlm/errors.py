"""The exceptions, one tree.

    Exception
    ├── GrammarError(ValueError)        a grammar or its text is at fault; .position / .pointer say where
    │   ├── UnsupportedFeature          understood, but not enforced exactly: refused by name
    │   ├── UnsatisfiableGrammar        no text (or no sequence of tokens) satisfies it
    │   └── LimitExceeded               time, memory, states or depth ran out (see Limits)
    ├── TokenizerError(ValueError)      a tokenizer whose token bytes cannot be told exactly
    └── MaskError(ValueError)           a mask, logits or row index of the wrong shape, type or device

A message says what was found, where, what would be accepted and what to do, in at most 500 characters.
"""

LONGEST_MESSAGE = 500


def shorten(message: str, longest: int = LONGEST_MESSAGE) -> str:
    """The message, its middle cut out where it is too long."""
    if len(message) <= longest:
        return message
    keep = (longest - 5) // 2
    return f"{message[:keep]} ... {message[-keep:]}"


def brief(value: object) -> str:
    """A value in a message. Whole numbers of many digits and deep nests have no repr."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."


class GrammarError(ValueError):
    """A grammar is at fault. `position` is the offset in its text, `pointer` a JSON pointer, where either is known."""

    def __init__(self, message: str, *, position: int | None = None, pointer: str | None = None):
        super().__init__(shorten(message))
        self.position = position
        self.pointer = pointer


class UnsupportedFeature(GrammarError):
    """A construct that is understood but cannot be enforced exactly. `keywords`: those of a JSON schema that it is about."""

    def __init__(
        self,
        message: str,
        *,
        position: int | None = None,
        pointer: str | None = None,
        keywords: tuple[str, ...] = (),
    ):
        super().__init__(message, position=position, pointer=pointer)
        self.keywords = keywords


def placed_error(error: GrammarError, pointer: str) -> GrammarError:
    """The error with a place in a schema in front."""
    message, position = f"{pointer or '#'}: {error}", error.position
    if isinstance(error, UnsupportedFeature):
        return type(error)(message, position=position, pointer=pointer, keywords=error.keywords)
    return type(error)(message, position=position, pointer=pointer)


class UnsatisfiableGrammar(GrammarError):
    """Nothing satisfies the grammar."""


class LimitExceeded(GrammarError):
    """A limit of `Limits` was reached; the state is as before the call."""


class TokenizerError(ValueError):
    """A tokenizer whose token bytes cannot be told exactly."""

    def __init__(self, message: str):
        super().__init__(shorten(message))


class MaskError(ValueError):
    """A mask, logits or row index does not fit."""

    def __init__(self, message: str):
        super().__init__(shorten(message))


def caret(text: str, position: int, width: int = 60) -> str:
    """Two lines: the line of `text` around `position`, and a caret under it."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)]
    column = position - start
    left = max(0, column - width // 2)
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line[left : left + width])
    return f"{shown}\n{' ' * (column - left)}^"
