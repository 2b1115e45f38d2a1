"""Schema files: read up to a size bound; errors about other files reveal nothing of their content."""

from __future__ import annotations

import os

from grammarlm.errors import GrammarError
from grammarlm.files import read_file, shown
from grammarlm.grammars.json_schema.schema import parsed


def read_schema(path: str | os.PathLike[str]) -> str:
    """The JSON text of the file. GrammarError where it is no schema: says where that shows, but not what is there."""
    name = f"the file {shown(path)}"
    try:
        data = read_file(path)
    except OSError as error:
        raise GrammarError(f"{name} cannot be read: {error.strerror}") from None
    return schema_text(data, name)


def schema_text(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GrammarError(f"{name} is no UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None
    try:
        found = parsed(text)
    except GrammarError as error:
        message, _, _ = str(error).partition("\n")  # the line of the file follows
        raise type(error)(f"{name} holds no JSON Schema: {message}", position=error.position) from None
    if not isinstance(found, (dict, bool)):
        raise GrammarError(
            f"{name} holds no JSON Schema: an object, true or false is one, not a {type(found).__name__}"
        )
    return text
