"""Formats of calls, by the tokenizer that has them or by name.

    ToolFormat.of(tokenizer)      learned from the chat template, and verified on other conversations (learning/)
    ToolFormat.named("hermes")    one of the files in formats/

What its fields mean is said in layout.py.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from grammarlm.errors import GrammarError, UnsupportedFeature, check_type

from . import formats
from .layout import Entries, Layout, Nested
from .learning.chat_template import ChatTemplate
from .learning.learn import is_silent, learn
from .learning.renderings import NoCalls
from .learning.response import of_response_template, reasoning_of
from .learning.source import Source, source_of

__all__ = ["Entries", "Nested", "ToolFormat"]


@dataclass(frozen=True)
class ToolFormat(Layout):
    """How a model family writes calls of tools, and the turn around them."""

    @classmethod
    def of(cls, tokenizer: Any, *, template: str | None = None) -> ToolFormat:
        """The format that a chat template writes: that of a transformers tokenizer or a llama.cpp model, or a template's text.

        `template`: another one for this tokenizer.

        It is learned, or one of the formats with a name; UnsupportedFeature where it writes calls as neither.
        """
        try:
            source = source_of(tokenizer, template)
            return cls.of_layout(_layout_of(source))
        except GrammarError as error:
            raise UnsupportedFeature(
                f"no format of calls is known for this chat template: {error}; name one of {', '.join(formats.names())}"
                " by gl.ToolFormat.named(), or describe it by gl.ToolFormat()"
            ) from None

    @classmethod
    def named(cls, name: str) -> ToolFormat:
        """One of the formats that have a file; ValueError for a name that none has."""
        check_type(name, str, "ToolFormat.named() takes a name")
        return cls.of_layout(formats.read(name).layout)

    @classmethod
    def of_layout(cls, layout: Layout) -> ToolFormat:
        return cls(**{field.name: getattr(layout, field.name) for field in fields(layout)})


@lru_cache(maxsize=32)
def _layout_of(source: Source) -> Layout:
    """What is learned from a chat template; what it leaves out is in the response template, or in a file whose mark it has."""
    template = ChatTemplate(source.template, source.tokens)
    files = [file for file in map(formats.read, formats.names()) if source.shows(file.mark, file.said)]
    for call_id in (None, *(file.layout.call_id for file in files if file.layout.call_id)):
        try:
            found = source.cleaned(learn(template, call_id))
            return found if found.reasoning else replace(found, reasoning=reasoning_of(source.response))
        except NoCalls as error:
            silent = error
    response = of_response_template(source.response)
    if not (response or files) or not is_silent(template):
        raise silent
    return response or _closest(files).layout


def _closest(files: list[formats.File]) -> formats.File:
    """The format that most marks tell of."""
    best = max(len(file.mark + file.said) for file in files)
    found = [file for file in files if len(file.mark + file.said) == best]
    if len(found) > 1:
        names = " and ".join(str(file.layout.name) for file in found)
        raise GrammarError(f"it writes no calls, and has the marks of {names}")
    return found[0]
