"""One turn of an assistant that may call tools.

    Tools([get_weather, Search], format="hermes")                           a text, or a text and calls
    Tools(openai_tools, format=tokenizer, calls="required", parallel=False) one call
    Tools([get_weather], format="hermes", reasoning=500, answer=Report)     at most 500 tokens of thought; then calls or a report

A turn is what a chat template can render: reasoning, if any; then text up to a call, calls, the end; or an `answer` (a schema or a
grammar) in place of the text and the calls. From the first tag of a call on all is held, and free text has none of the tags: a call
that is begun otherwise is no text. Where a call is required, no text comes before it. A tag is a special token where the vocabulary
has it, and then the text has not its letters either.

Arguments are valid under the tool's schema, which is closed: without properties that it does not declare, unless it says so itself;
"strict": False means any object. read.py reads a turn back.
"""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from functools import cached_property
from typing import Any, ClassVar

from grammarlm.errors import GrammarError, UnsupportedFeature, brief, suggesting
from grammarlm.grammars.compose import Grammar, Literal
from grammarlm.grammars.derived import Derived, Specials
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.regular.regex import Regex
from grammarlm.grammars.repeat import Repeat
from grammarlm.grammars.text import Text

from .entries.arguments import Arguments, Value
from .entries.writer import EntryWriter
from .formats import layout_of
from .given import CHOICE, Tool, choice_of, tools_of
from .texts import SLOT, first_letters, free_text, joined, mark_of, one_of, some, with_slots
from .tool_format import Entries, ToolFormat

INDEX = "0|[1-9][0-9]{0,8}"
ORDERS = ("schema", "any")
OPENED = ("none", "open", "closed")


class Tools(Derived):
    """One turn: reasoning, a text and calls, or an answer.

    tools            functions, pydantic models, dataclasses, OpenAI's dictionaries
    format           a ToolFormat, its name, or what ToolFormat.of takes: a tokenizer, a chat template
    calls            "any", "required", "none", the name of the one tool to call, or OpenAI's tool_choice
    parallel         False: at most one call
    reasoning        True: a thought comes first; a number: of at most so many tokens. None: none, unless the prompt has begun one
    answer           a grammar, or a schema, that may come instead of calls
    property_order   "schema" or "any": the order of arguments
    opened           what the prompt has of the reasoning, see `after`: "none", "open", or "closed" where it has ended
    """

    @suggesting("Tools")
    def __init__(
        self,
        tools: Any,
        *,
        format: Any,
        calls: Any = "any",
        parallel: bool = True,
        reasoning: int | bool | None = None,
        answer: Any = None,
        property_order: str = "schema",
        opened: str = "none",
    ):
        if not isinstance(format, ToolFormat):
            format = ToolFormat.named(format) if isinstance(format, str) else ToolFormat.of(format)
        for name, value, values in (
            ("parallel", parallel, (True, False)),
            ("property_order", property_order, ORDERS),
            ("opened", opened, OPENED),
        ):
            if value not in values:
                raise ValueError(f"Tools({name}={brief(value)}): it takes {' or '.join(map(repr, values))}")
        if reasoning is not None and not isinstance(reasoning, int):
            raise TypeError(
                f"Tools(reasoning=...) takes True, None or a number of tokens, not {type(reasoning).__name__}"
            )
        if reasoning is not None and reasoning is not False and reasoning < 1:
            raise ValueError(f"Tools(reasoning={reasoning}): it takes a number of tokens from 1")
        whitespace = "compact" if "compact" in (format.json, getattr(format.arguments, "values", "")) else None
        made = tools_of(tools, whitespace=whitespace, property_order=property_order)
        mode, allowed = choice_of(calls)
        if answer is not None and not isinstance(answer, Grammar):
            answer = JsonSchema(answer)
        thought = None if reasoning is False else reasoning
        self._set(made, format, mode, allowed, parallel, thought, answer, property_order, opened, None)

    def _set(
        self, tools: tuple[Tool, ...], format: ToolFormat, mode: str, allowed: tuple[str, ...] | None, parallel: bool,
        reasoning: int | bool | None, answer: Grammar | None, property_order: str, opened: str, whitespace: str | None,
    ) -> None:  # fmt: skip
        self.tools, self.format, self.mode, self.allowed, self.parallel = tools, format, mode, allowed, parallel
        self.reasoning, self.answer, self.property_order = reasoning, answer, property_order
        self.opened, self.whitespace = opened, whitespace

    def after(self, prompt: str) -> Tools:
        """The turn that follows this prompt, which may have opened or closed the reasoning."""
        return self._with(opened=self.format.opened(prompt))

    def spelled(self, whitespace: str) -> Tools:
        return self if self.whitespace is not None else self._with(whitespace=whitespace)

    def _with(self, **changed: Any) -> Tools:
        other = copy.copy(self)
        other.__dict__.update(changed)
        return other

    # ------------------------------------------------------------------ what it stands for

    def grammar(self, specials: Specials) -> Grammar:
        return joined(self._thought(specials), self._turn(specials))

    @cached_property
    def callable(self) -> dict[str, Tool]:
        """The tools that may be called, by name."""
        names = {tool.name for tool in self.tools} if self.allowed is None else set(self.allowed)
        return {} if self.mode == "none" else {tool.name: tool for tool in self.tools if tool.name in names}

    @property
    def thinks(self) -> bool:
        """Is there a thought in the turn?"""
        return self.opened == "open" or (self.opened == "none" and self.reasoning is not None)

    @property
    def no_thought(self) -> str:
        """What may stand where there is no thought: some templates write an empty one."""
        return "".join(self.format.reasoning or ()) if self.opened == "none" and not self.thinks else ""

    @cached_property
    def opening(self) -> str:
        """What all calls begin with, up to the first name, id or number."""
        section, call = self.format.section[0], self.format.call[0]
        return section + SLOT.split(call)[0]

    def around(self, texts: tuple[str, str]) -> tuple[str, str]:
        """What stands around a text in this turn."""
        return texts[0].removeprefix("" if self.thinks else self.format.thought_gap), texts[1]

    def marks(self) -> list[str]:
        """What no free text holds: the tags that calls, the reasoning and the texts around a text begin with. Where an answer has
        a beginning of its own, so that it is told from a call there, it may hold words that calls begin with."""
        form = self.format
        tags = [
            mark_of(text)
            for text in (
                self.opening,
                *(form.reasoning or ())[:2],
                form.content[0],
                *(form.beside or ())[:1],
                form.lead,
            )
        ]
        ends = [mark_of(text) for text in (form.content[1], *(form.beside or ())[1:])]
        found = [mark for mark in tags if mark[:1] in ("<", "[") or (mark == tags[0] and not form.content[0].strip())]
        return list(dict.fromkeys(mark for mark in found + ends if mark))

    def _thought(self, specials: Specials) -> Grammar:
        form = self.format.reasoning
        if not self.thinks:
            return specials.grammar(self.no_thought) | "" if self.no_thought else Literal("")
        if form is None:
            where = "the chat template" if self.format.name == "learned" else f"the format {self.format.name!r}"
            raise UnsupportedFeature(
                f"{where} has no reasoning; leave reasoning= out, or name a format that has, such as "
                "'hermes' (tool_format= of gl.generate, format= of gl.Tools)"
            )
        begin = Literal("") if self.opened == "open" else specials.grammar(form[0])
        marks, end = list(filter(None, [*self.marks(), mark_of(form[1])])), specials.grammar(form[1])
        most = None if self.reasoning is True else self.reasoning
        if most is None:
            thought = joined(free_text(marks), end)
        elif isinstance(end, Literal):
            thought = Text(until=form[1], max_tokens=most, excludes=[mark for mark in marks if mark not in form[1]])
        else:
            thought = joined(Text(max_tokens=most, excludes=marks), end)
        return joined(begin, thought, specials.grammar(form[2]))

    def _turn(self, specials: Specials) -> Grammar:
        self._check()
        form, calls = self.format, None
        if self.callable:
            lead, calls = specials.grammar(form.lead), self._calls(specials)
            if self.mode != "any":
                return joined(lead, calls)
        text: Grammar = free_text(self.marks()) if self.answer is None else self.answer
        before, after = map(specials.grammar, self.around(form.content))
        whole = joined(before, text, after)
        if calls is None:
            return whole
        if self.answer is not None or form.beside is None:
            return one_of([whole, joined(lead, calls)])
        if self.around(form.beside) == self.around(form.content) == ("", "") and not form.lead:
            return joined(text, calls | "")
        before, after = map(specials.grammar, self.around(form.beside))
        return one_of([whole, joined(lead, joined(before, some(text), after) | "", calls)])

    def _calls(self, specials: Specials) -> Grammar:
        form = self.format
        slots: dict[str, str | Grammar] = {"id": Regex(form.id), "index": Regex(INDEX)}
        begin, _, mid = f"{form.call[0]}{{name}}{form.call[1]}".partition("{name}")
        has_own_end = "{name}" in form.call[2]
        end = with_slots(form.call[2], specials, **slots)
        ways = []
        for tool in self.callable.values():
            specials.tick()
            between = with_slots(mid, specials, name=tool.name, **slots)
            own_end = [with_slots(form.call[2], specials, name=tool.name, **slots)] if has_own_end else []
            ways.append(joined(Literal(tool.name), between, self._arguments(tool, specials), *own_end))
        call = joined(with_slots(begin, specials, **slots), one_of(ways), *([] if has_own_end else [end]))
        is_one = not self.parallel or self.mode == "one" or form.between is None
        gap = specials.grammar(form.between) if form.between else None
        calls = call if is_one else Repeat(call, min=1, separator=gap)
        return joined(specials.grammar(form.section[0]), calls, specials.grammar(form.section[1]))

    def _arguments(self, tool: Tool, specials: Specials) -> Grammar:
        entries = self.format.arguments
        where = f"tool {tool.name!r:.80}"
        if not isinstance(entries, Entries):
            return tool.schema if tool.is_sure else Value(tool.schema, where, "").objects()
        writer = EntryWriter(entries, self.arguments_of(tool), specials, where, self.format.call[2])
        return writer.grammar(self.property_order)

    def arguments_of(self, tool: Tool) -> Arguments:
        known: dict[str, Arguments] = self.__dict__.setdefault("_read", {})
        if tool.name not in known:
            known[tool.name] = Arguments.of(tool.schema, f"tool {tool.name!r:.80}")
        return known[tool.name]

    @property
    def after_name(self) -> list[str]:
        """What may follow a name: it has none of the letters that these begin with."""
        form = self.format
        if form.call[1]:
            return [form.call[1]]
        return [form.arguments.entry[0], form.call[2]] if isinstance(form.arguments, Entries) else ["{"]

    def _check(self) -> None:
        """GrammarError where the description is not well formed."""
        form, names = self.format, [tool.name for tool in self.tools]
        known = set[str]()
        for name in names:
            if name in known:
                raise GrammarError(f"two tools have the name {name!r:.80}; give each its own")
            known.add(name)
        for name in self.allowed or ():
            if name not in known:
                raise GrammarError(
                    f"{CHOICE} names the tool {name!r:.80}; there are {', '.join(names)[:200] or 'none'}"
                )
        if self.mode in ("required", "one") and not self.callable:
            raise GrammarError(f'{CHOICE} asks for a call, and there are no tools; give some, or "none"')
        whole = "".join(form.call)
        for slot in ("{id}", "{index}"):
            if whole.count(slot) > 1:
                raise UnsupportedFeature(
                    f"the format {form.name!r} writes {slot} twice in a call, which cannot be held"
                )
        if self.callable and self.mode == "any" and not mark_of(self.opening):
            raise UnsupportedFeature(
                f"the format {form.name!r} has no mark that calls begin with, so none can be told from a text; use "
                'calls="required" or calls="none"'
            )
        for name in self.callable:
            self._check_name(name)

    def _check_name(self, name: str) -> None:
        quoted = SLOT.sub("", self.format.call[0]).endswith('"') and json.dumps(name, ensure_ascii=False) != f'"{name}"'
        ends = first_letters(*self.after_name)
        if not name or quoted or not name.isprintable() or name != name.strip() or ends & set(name):
            raise GrammarError(
                f"the format {self.format.name!r} cannot spell the name {name!r:.80}; use letters, digits, _ and -"
            )

    # ------------------------------------------------------------------ saved and compared

    SAVED: ClassVar[dict[str, Any]] = {
        "names": tuple[str, ...], "schemas": tuple[JsonSchema, ...], "format": str, "mode": str,
        "allowed": tuple[str, ...] | None, "parallel": bool, "reasoning": int | bool | None, "answer": Grammar | None,
        "property_order": str, "opened": str, "whitespace": str | None,
    }  # fmt: skip

    def saved(self) -> list[Any]:
        names, schemas = tuple(tool.name for tool in self.tools), tuple(tool.schema for tool in self.tools)
        rest = [getattr(self, name) for name in list(self.SAVED)[3:]]
        return [names, schemas, json.dumps(asdict(self.format)), *rest]

    @classmethod
    def from_saved(cls, names: tuple[str, ...], schemas: tuple[JsonSchema, ...], format: str, **rest: Any) -> Tools:
        made = object.__new__(cls)
        tools = tuple(Tool(name, schema) for name, schema in zip(names, schemas, strict=True))
        fields = json.loads(format)
        made._set(tools, ToolFormat.of_layout(layout_of(fields.pop("name"), fields)), **rest)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tools) and self.saved() == other.saved()

    def __hash__(self) -> int:
        return hash(tuple(self.saved()))

    def __repr__(self) -> str:
        names = ", ".join(tool.name for tool in self.tools[:4])
        more = f", ... {len(self.tools):,} tools" if len(self.tools) > 4 else ""
        return f"Tools([{names}{more}], format={self.format.name!r})"
