"""What generate() makes of messages: the prompt, and the turn that the answer is.

    chat = Chat.of(settings, tokenizer)
    text = chat.text(messages)                   what the model reads
    form = chat.turn(form, text)                 tools, reasoning, and the answer that may come instead of calls

Without tools and reasoning= the answer is held to its description alone; where the prompt has opened a thought (DeepSeek R1's
does), that is ended first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grammarlm.decoding.answers.answer_format import AnswerFormat
from grammarlm.errors import GrammarError, brief
from grammarlm.grammars.generated import as_generated
from grammarlm.grammars.structural_tag.grammar import StructuralTag
from grammarlm.grammars.text import Text
from grammarlm.grammars.tools.given import check_tools, described
from grammarlm.grammars.tools.tool_format import ToolFormat
from grammarlm.grammars.tools.tools import Tools

from .messages import read_messages, with_arguments, with_thoughts
from .rendering import end_id, first_special, ids_of, render, template_of

THINKING = ("enable_thinking", "thinking")  # what templates call it


@dataclass(frozen=True)
class ChatSettings:
    """What generate() is asked for of conversations; its docstring says what each means."""

    tools: Sequence[Any] | None = None
    tool_choice: Any = "auto"
    parallel: bool = True
    reasoning: int | bool | None = None
    tool_format: Any = None
    chat_template: str | None = None
    chat_template_kwargs: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.tools is not None:
            check_tools(self.tools)
            object.__setattr__(self, "tools", tuple(self.tools))
        elif self.tool_choice != "auto" or self.parallel is not True:
            name = "parallel" if self.tool_choice == "auto" else "tool_choice"
            raise ValueError(f"{name}= is an option of tools=, which is not given")
        if self.chat_template_kwargs is not None and not isinstance(self.chat_template_kwargs, Mapping):
            raise TypeError(
                f"chat_template_kwargs is {brief(self.chat_template_kwargs, 60)}; it takes a dictionary of what the template gets"
            )

    def check_unused(self) -> None:
        """ValueError for what is of conversations only."""
        for name, default in vars(ChatSettings()).items():
            if getattr(self, name) != default:
                instead = (
                    "; for a prompt that is a text: grammar=gl.Tools(...)" if name != "chat_template_kwargs" else ""
                )
                raise ValueError(
                    f'{name}= is for conversations, and the prompt is none; pass messages, [{{"role": "user", "content": ...}}]'
                    f"{instead}"
                )


@dataclass(frozen=True)
class Chat:
    """Conversations with one tokenizer."""

    settings: ChatSettings
    tokenizer: Any
    template: str

    @classmethod
    def of(cls, settings: ChatSettings, tokenizer: Any) -> Chat:
        return cls(settings, tokenizer, template_of(tokenizer, settings.chat_template, bool(settings.tools)))

    @property
    def is_turn(self) -> bool:
        """Is the answer asked to be a turn with tools, or with or without reasoning?"""
        return self.settings.tools is not None or self.settings.reasoning is not None

    @cached_property
    def format(self) -> ToolFormat:
        """How the model writes calls and reasoning."""
        given = self.settings.tool_format
        if given is None:
            return ToolFormat.of(self.tokenizer, template=self.template)
        if isinstance(given, ToolFormat):
            return given
        return ToolFormat.named(given) if isinstance(given, str) else ToolFormat.of(given)

    @cached_property
    def known_format(self) -> ToolFormat | None:
        """The same; None where it is not needed and the template says nothing that is understood."""
        try:
            return self.format
        except GrammarError:
            if self.is_turn:
                raise
            return None

    def text(self, messages: Sequence[Mapping[str, Any]], name: str = "the prompt") -> str:
        """The conversation as the model reads it."""
        read = with_thoughts(read_messages(messages, self.template, name), self.template)
        has_calls = any(one.get("tool_calls") for one in read)
        if has_calls and (format := self.known_format) is not None:
            read = with_arguments(read, format.as_text)
        given = dict(self.settings.chat_template_kwargs or {})
        if self.settings.reasoning is not None:
            given = {**dict.fromkeys(THINKING, bool(self.settings.reasoning)), **given}
        if self.settings.tools:
            given["tools"] = [described(tool) for tool in self.settings.tools]
        return render(self.tokenizer, self.template, read, name, **given)

    def ids(self, text: str) -> list[int]:
        return ids_of(self.tokenizer, text)

    def turn(self, form: AnswerFormat, text: str) -> AnswerFormat:
        """The format of the answer to a prompt."""
        if self.is_turn:
            return self._turn(form, text)
        if form.grammar is None or (format := self.known_format) is None or format.opened(text) != "open":
            return form
        return self._turn(form, text)

    def _turn(self, form: AnswerFormat, text: str) -> AnswerFormat:
        given = self.settings
        if form.find is not None:
            raise ValueError(
                "items= is a list of ids, not a turn of an assistant: leave tools= and reasoning= out, or give texts"
            )
        if form.constraint is not None:
            raise ValueError(
                "grammar= is compiled, and in a turn with tools or reasoning it is a part: pass the grammar itself"
            )
        if isinstance(form.grammar, StructuralTag):
            raise ValueError("a structural tag says itself how calls are written; leave tools= and reasoning= out")
        tools = Tools(
            given.tools or (),
            format=self.format,
            calls="none" if given.tools is None else given.tool_choice,
            parallel=given.parallel,
            reasoning=given.reasoning,
            answer=None if form.grammar == Text() else form.grammar,
        )
        return AnswerFormat(as_generated(tools.after(text)), inner=form)

    @cached_property
    def stop_ids(self) -> list[int]:
        """Tokens with which the template ends a turn."""
        found = [end_id(self.tokenizer, self.template)]
        if self.is_turn:
            found += [first_special(self.tokenizer, stop) for stop in self.format.stop]
        return [id for id in found if id is not None]
