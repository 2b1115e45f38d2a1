"""The exceptions, one tree.

    Exception
    ├── GrammarError(ValueError)        a grammar or its text is at fault; .position / .pointer say where
    │   ├── UnsupportedFeature          understood, but not enforced exactly: refused by name
    │   ├── UnsatisfiableGrammar        no text (or no token sequence) satisfies it
    │   └── LimitExceeded               time, memory, states or depth ran out (see Limits)
    ├── TokenizerError(ValueError)      a tokenizer whose token bytes cannot be determined exactly
    ├── MaskError(ValueError)           a mask, logits or row index of the wrong shape, type or device
    ├── TooManyCalls(RuntimeError)      agenerate() and astream(): as many calls wait as may
    └── SchemaWarning(UserWarning)      a warning: keywords or formats of a schema that nobody has defined

A message says what was found, where, what would be accepted and what to do, in at most 500 characters.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

LONGEST_MESSAGE = 500
SHOWN = 60  # characters of the line above a caret
Function = TypeVar("Function", bound=Callable[..., Any])


def shorten(message: str, longest: int = LONGEST_MESSAGE) -> str:
    """The message, its middle cut out where it is too long. Halves of surrogate pairs, which no stream takes, are escaped."""
    if not message.isascii():
        message = message.encode("utf-8", "backslashreplace").decode()
    if len(message) <= longest:
        return message
    keep = (longest - 5) // 2
    return f"{message[:keep]} ... {message[-keep:]}"


def brief(value: object, longest: int = 40) -> str:
    """A value in a message. repr() raises for integers of too many digits, deep nesting and some caller's classes."""
    try:
        text = repr(value[: longest + 1] if isinstance(value, (str, bytes)) else value)
    except Exception:
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= longest else text[: longest - 3] + "..."


def unknown_argument(function: str, name: str, known: Iterable[str]) -> TypeError:
    """The TypeError for an argument that a function does not have."""
    from difflib import get_close_matches

    names = sorted(known)
    longer = [each for each in names if len(name) > 2 and each.startswith(name)]  # temp: temperature
    near = longer or get_close_matches(name, names, n=1)
    hint = f"did you mean {' or '.join(f'{each}=' for each in near)}?" if near else f"there are {', '.join(names)}"
    return TypeError(shorten(f"{function}() has no argument {name[:60]}=; {hint}"))


def suggesting(name: str) -> Callable[[Function], Function]:
    """Decorator: an unknown argument raises a TypeError that suggests the closest name."""

    def decorate(function: Function) -> Function:
        code = function.__code__
        known = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self", "cls"}

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            for given in named:
                if given not in known:
                    raise unknown_argument(name, given, known)
            return function(*arguments, **named)

        return cast(Function, call)

    return decorate


def check_type(value: object, kinds: type | tuple[type, ...], takes: str, instead: str = "") -> None:
    """TypeError where a value is of another kind: "compile() takes a gl.Vocabulary, not list; see ..."."""
    if not isinstance(value, kinds):
        raise TypeError(f"{takes}, not {type(value).__name__}{f'; {instead}' if instead else ''}")


class GrammarError(ValueError):
    """A grammar is at fault. `position` is the offset in its text, `pointer` a JSON pointer, where either is known."""

    def __init__(self, message: str, *, position: int | None = None, pointer: str | None = None):
        super().__init__(shorten(message))
        self.position = position
        self.pointer = pointer


class UnsupportedFeature(GrammarError):
    """A construct that is understood but cannot be enforced exactly. `keywords`: the JSON schema keywords concerned."""

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
    """The error with its place in a schema put before the message."""
    message, position = f"{pointer or '#'}: {error}", error.position
    if isinstance(error, UnsupportedFeature):
        return type(error)(message, position=position, pointer=pointer, keywords=error.keywords)
    return type(error)(message, position=position, pointer=pointer)


class UnsatisfiableGrammar(GrammarError):
    """Nothing satisfies the grammar."""


class LimitExceeded(GrammarError):
    """A limit of `Limits` was reached; the state is as before the call."""


class TokenizerError(ValueError):
    """A tokenizer whose token bytes cannot be determined exactly."""

    def __init__(self, message: str):
        super().__init__(shorten(message))


class MissingPackage(ImportError):
    """Something needs a package that is not installed, or that is too old."""


class TooManyCalls(RuntimeError):
    """As many calls wait for a model as may wait; the call has not begun."""


class SchemaWarning(UserWarning):
    """A schema has keywords or formats that nobody has defined; mostly they are misspelt, and what was meant does not hold."""


class MaskError(ValueError):
    """A mask, logits or row index does not fit."""

    def __init__(self, message: str):
        super().__init__(shorten(message))


def caret(text: str, position: int) -> str:
    """Two lines: the line of `text` around `position`, and a caret under it."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)]
    column = position - start
    left = max(0, column - SHOWN // 2)
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line[left : left + SHOWN])
    return f"{shown}\n{' ' * (column - left)}^"
