"""Chat templates: Jinja programs that write conversations, as tokenizers carry them.

    ChatTemplate(source, {"eos_token": "</s>"}).render(messages=[...], tools=[...])

They are other people's programs: sandbox.py says in which bounds they run.
"""

from __future__ import annotations

import json
from typing import Any

from grammarlm.errors import GrammarError, LimitExceeded, MissingPackage

LONGEST = 1 << 18  # characters of a template


class ChatTemplate:
    """A template, compiled; GrammarError where it is no template, LimitExceeded where it is too large."""

    def __init__(self, source: str, tokens: dict[str, str] | None = None):
        try:
            from .sandbox import compiled
        except ImportError:
            raise MissingPackage(
                "chat templates are read by jinja2, 3.1.6 or later: pip install -U jinja2, or name a format"
            ) from None
        if len(source) > LONGEST:
            raise LimitExceeded(f"the chat template has {len(source)} characters; more than {LONGEST} are not read")
        self.source, self.tokens = source, {"bos_token": "", "eos_token": "", **(tokens or {})}
        try:
            self._template = compiled(source)
        except Exception as error:  # whatever a compiler of someone else's language raises
            raise GrammarError(f"the chat template is none: {type(error).__name__}: {error}") from None

    def render(self, **given: Any) -> str:
        """What the template writes; GrammarError where it fails, LimitExceeded where it writes too much in all its renderings."""
        try:
            return self._template.render(**self.tokens, **json.loads(json.dumps(given)))
        except LimitExceeded:
            raise
        except Exception as error:  # whatever a template does wrong
            raise GrammarError(f"the chat template fails: {type(error).__name__}: {error}") from None
