"""Where chat templates are found: in transformers tokenizers, in llama.cpp models, or as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from grammarlm.errors import GrammarError

from ..layout import Layout

UNKNOWN = {
    "bos_token": "<uvwbos>",
    "eos_token": "<uvweos>",
}  # what stands for tokens of which a template knows only the names
TEMPLATE = "tokenizer.chat_template"


@dataclass(frozen=True)
class Source:
    """A chat template, the tokens that it asks for by name, and what stands beside it: the texts of special tokens."""

    template: str
    tokens: dict[str, str] = field(default_factory=lambda: dict(UNKNOWN))
    special: frozenset[str] = frozenset()
    response: Any = None  # a response template, see response.py

    def __hash__(self) -> int:
        return hash((self.template, self.special))

    def shows(self, marks: Iterable[str], said: Iterable[str]) -> bool:
        """Whether the marks stand in the template or are special tokens, and what is said stands in the template."""
        has_marks = all(text in self.template or text in self.special for text in marks)
        return has_marks and all(text in self.template for text in said)

    def cleaned(self, layout: Layout) -> Layout:
        """The format without the tokens that stand for unknown ones: "" is the tokenizer's own."""
        unknown = UNKNOWN["eos_token"]
        calls, answer = ("" if text == unknown else text for text in layout.stop)
        layout = replace(layout, stop=(calls, answer))
        if any(token in repr(layout) for token in UNKNOWN.values()):
            raise GrammarError("it writes special tokens by names that it does not define; give the tokenizer instead")
        return layout


def source_of(tokenizer: Any, template: str | None = None) -> Source:
    """Of a tokenizer, or of another template with its tokens. TypeError where it is none of these; GrammarError where it has no
    chat template."""
    if isinstance(tokenizer, str):
        return Source(tokenizer)
    if isinstance(getattr(tokenizer, "metadata", None), dict):
        return _of_llama(tokenizer)
    if not hasattr(tokenizer, "chat_template"):
        raise TypeError(
            "ToolFormat.of() takes a transformers tokenizer, a llama.cpp model or the text of a chat template, "
            f"not {type(tokenizer).__name__}"
        )
    named = getattr(tokenizer, "special_tokens_map", {})
    return Source(
        template=_chosen(template or tokenizer.chat_template),
        tokens=UNKNOWN | {name: text for name, text in named.items() if isinstance(text, str)},
        special=frozenset(map(str, getattr(tokenizer, "added_tokens_decoder", {}).values())),
        response=getattr(tokenizer, "response_template", None),
    )


def _of_llama(model: Any) -> Source:
    """A model's file has its templates; the model knows its tokens."""
    templates = {
        name.removeprefix(TEMPLATE).lstrip("."): text for name, text in model.metadata.items() if TEMPLATE in name
    }
    tokens = dict(UNKNOWN)
    for name in ("bos", "eos"):
        id = getattr(model, f"token_{name}", lambda: -1)()
        if id >= 0:
            tokens[f"{name}_token"] = model.detokenize([id], special=True).decode("utf-8", "replace")
    return Source(_chosen(templates), tokens)


def _chosen(templates: Any) -> str:
    """Of several templates, that for tools is meant."""
    if isinstance(templates, dict):
        templates = next((templates[name] for name in ("tool_use", "default", "") if templates.get(name)), None)
    if not isinstance(templates, str):
        raise GrammarError("the tokenizer has no chat template; use gl.ToolFormat.named(), or give the template's text")
    return templates
