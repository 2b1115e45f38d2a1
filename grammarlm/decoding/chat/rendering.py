"""A conversation as the chat template of a transformers tokenizer writes it, and the token with which that ends an answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from grammarlm.errors import MissingPackage, shorten

ASKED, ANSWER = "uvwasked", "uvwanswer"  # words that no template writes by itself


def template_of(tokenizer: Any, given: str | None, has_tools: bool) -> str:
    """The text of the template that is used; ValueError where there is none."""
    if not hasattr(tokenizer, "apply_chat_template"):
        kind = "no tokenizer" if tokenizer is None else type(tokenizer).__name__
        raise TypeError(
            f"a conversation is rendered by a transformers tokenizer, and there is {kind}; pass tokenizer=, or the prompt as a text"
        )
    if given is not None and not isinstance(given, str):
        raise TypeError(f"chat_template is {type(given).__name__}; it takes the text of a template")
    found = given or tokenizer.chat_template
    if isinstance(found, dict):
        found = (found.get("tool_use") if has_tools else None) or found.get("default")
    if not isinstance(found, str):
        raise ValueError(
            f"the tokenizer {type(tokenizer).__name__} has no chat template, which says how messages are written; pass "
            "chat_template=, its text, or the prompt as a text"
        )
    return found


def render(
    tokenizer: Any, template: str, messages: list[dict[str, Any]], name: str = "the prompt", **given: Any
) -> str:
    """The text of the prompt; a last message of the assistant is left open. `given`: tools, and further values."""
    goes_on = messages[-1]["role"] == "assistant"
    try:
        text: str = tokenizer.apply_chat_template(
            messages, chat_template=template, tokenize=False, add_generation_prompt=not goes_on,
            continue_final_message=goes_on, **given,
        )  # fmt: skip
    except ImportError as error:
        raise MissingPackage(f"chat templates are read by jinja2: pip install -U jinja2 ({error})") from None
    except Exception as error:  # whatever a template does wrong, or refuses
        raise ValueError(
            shorten(f"{name}: the chat template refuses the conversation: {type(error).__name__}: {error}")
        ) from None
    return text


def ids_of(tokenizer: Any, text: str) -> list[int]:
    """A rendered text's ids: its special tokens are written in it."""
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


@lru_cache(maxsize=32)
def end_id(tokenizer: Any, template: str) -> int | None:
    """The special token with which the template ends an answer; None where it writes none."""
    messages = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": ANSWER}]
    try:
        text = tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False)
    except Exception:  # a template for other conversations
        return None
    after = str(text).rpartition(ANSWER)[2].lstrip()
    return first_special(tokenizer, after)


def first_special(tokenizer: Any, text: str) -> int | None:
    """The special token that a text begins with: the longest."""
    known = {tokenizer.convert_tokens_to_ids(token): token for token in _special_tokens(tokenizer)}
    found = [
        (len(token), id) for id, token in known.items() if isinstance(id, int) and token and text.startswith(token)
    ]
    return max(found)[1] if found else None


def _special_tokens(tokenizer: Any) -> Sequence[str]:
    """Names of all special tokens, those that have no role among them."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    return [
        *getattr(tokenizer, "all_special_tokens", ()),
        *(str(token) for token in added if getattr(token, "special", False)),
    ]
