"""Formats of model families for tests, with what is special in their vocabularies and what free text does not hold."""

import json
from dataclasses import dataclass

import grammarlm as gl
from grammarlm.grammars.tools.tool_format import Entries, Nested, ToolFormat
from tests.oracles.tool_turns import Rules

THINK = ("<think>\n", "\n</think>", "\n\n")
THINK_MARKS = ("<think>", "</think>")


@dataclass(frozen=True)
class Layout:
    form: ToolFormat
    rules: Rules
    specials: tuple[str, ...] = ()


def _layout(
    form: ToolFormat,
    mark: str,
    *,
    more: tuple[str, ...] = (),
    value: str = "",
    specials: tuple[str, ...] = (),
    **more_rules,
) -> Layout:
    return Layout(form, Rules((mark, *more), value, **more_rules), specials)


LAYOUTS = [
    _layout(
        ToolFormat(
            "hermes",
            ('<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>"),
            between="\n",
            beside=("", "\n"),
            reasoning=THINK,
        ),
        "<tool_call>",
        more=THINK_MARKS,
    ),
    _layout(
        ToolFormat("llama3", ('{"name": "', '", "parameters": ', "}"), between=None, beside=None),
        '{"name":',
    ),
    _layout(
        ToolFormat(
            "array",
            ('{"name": "', '", "arguments": ', ', "id": "{id}"}'),
            section=("[TOOL_CALLS] [", "]"),
            between=", ",
        ),
        "[TOOL_CALLS]",
        specials=("[TOOL_CALLS]",),
    ),
    _layout(
        ToolFormat(
            "sections",
            ("<|call|>functions.", ":{index}<|args|>", "<|call_end|>"),
            section=("<|calls|>", "<|calls_end|>"),
            call_id="functions.{name}:{index}",
            reasoning=("<think>", "</think>", ""),
        ),
        "<|calls|>",
        more=THINK_MARKS,
        specials=("<|calls|>", "<|calls_end|>", "<|call|>", "<|args|>", "<|call_end|>", "<think>", "</think>"),
    ),
    _layout(
        ToolFormat("fenced", ("<|call|>", "\n```json\n", "\n```<|call_end|>"), section=("", "<|done|>"), between="\n"),
        "<|call|>",
        specials=("<|call|>", "<|call_end|>", "<|done|>"),
    ),
    _layout(
        ToolFormat(
            "function tags",
            ("<tool_call>\n<function=", ">\n", "</function>\n</tool_call>"),
            between="\n",
            beside=("", "\n"),
            reasoning=THINK,
            arguments=Entries(("<parameter=", ">\n", "\n</parameter>\n")),
        ),
        "<tool_call>",
        more=THINK_MARKS,
        value="</parameter>",
    ),
    _layout(
        ToolFormat(
            "key tags",
            ("<tool_call>", "", "</tool_call>"),
            arguments=Entries(("<arg_key>", "</arg_key><arg_value>", "</arg_value>")),
        ),
        "<tool_call>",
        value="</arg_value>",
        specials=("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    ),
    _layout(
        ToolFormat(
            "typed",
            ('<invoke name="', '">\n', "</invoke>\n"),
            section=("\n\n<calls>\n", "</calls>"),
            arguments=Entries(('<p name="', '" string="true">', "</p>\n"), other='" string="false">'),
        ),
        "<calls>",
        value="</p>",
    ),
    _layout(
        ToolFormat(
            "named twice",
            ("<call>\n<tool>", "</tool><args>", "</args></{name}>"),
            arguments=Entries(("<", ">", "</{key}>"), gap=","),
        ),
        "<call>",
        value="</",
    ),
]
LAYOUTS += [
    _layout(
        ToolFormat(
            "braces",
            ("<|call>call:", "{", "}<call|>"),
            reasoning=("<|channel>thought\n", "\n<channel|>", ""),
            arguments=Entries(
                ("", ":", ""),
                gap=",",
                strings=('<|"|>', '<|"|>'),
                values=Nested(("{", "}"), ("[", "]")),
                python=("null",),
                keys="sorted",
            ),
        ),
        "<|call>",
        more=("<|channel>", "<channel|>"),
        specials=("<|call>", "<call|>", '<|"|>', "<|channel>", "<channel|>"),
        notation="braces",
        words=(("None", None),),
    ),
    _layout(
        ToolFormat(
            "python in tags",
            ("<call>\n<function=", ">", "\n</function>\n</call>"),
            beside=("", "\n\n"),
            arguments=Entries(("\n<parameter=", ">", "</parameter>"), python=("boolean", "null", "object", "array")),
        ),
        "<call>",
        value="</parameter>",
        notation="python",
        words=(("None", None), ("True", True), ("False", False)),
    ),
    _layout(
        ToolFormat(
            "python call",
            ("", "(", ")"),
            section=("<|start|>[", "]<|call_end|>"),
            between=", ",
            arguments=Entries(
                ("", "=", ""), gap=", ", strings=("'", "'"), python=("boolean", "null", "array", "object")
            ),
        ),
        "<|start|>",
        specials=("<|start|>", "<|call_end|>"),
        notation="python",
        words=(("None", None), ("True", True), ("False", False)),
    ),
    _layout(
        ToolFormat(
            "recipients",
            (" to=", '<|message|><calls>\n<invoke name="{name}">', "\n</invoke>\n</calls>"),
            between="<|eom|><|start|>assistant",
            arguments=Entries(('\n<p name="', '">', "</p>")),
            reasoning=(" to=self<|message|>", "<|eom|><|start|>assistant", ""),
            content=(" to=user<|message|>", ""),
            beside=None,
        ),
        "<|eom|>",
        value="</p>",
        specials=("<|message|>", "<|eom|>", "<|start|>"),
    ),
    _layout(
        ToolFormat(
            "led",
            ("", "=", ""),
            ("<act>", "</acts>"),
            between=";",
            reasoning=THINK,
            content=("\n", ""),
            beside=("\n", ""),
            lead="<acts>",
            thought_gap="\n",
        ),
        "<act>",
        more=("<acts>", *THINK_MARKS),
        specials=("<acts>",),
    ),
    _layout(
        ToolFormat(
            "led by a blank", ('<c>{"name": "', '", "arguments": ', "}"), between="", content=(" ", ""), lead=" "
        ),
        "<c>",
    ),
]
BY_NAME = {layout.form.name: layout for layout in LAYOUTS}


def vocabulary(specials: tuple[str, ...]) -> gl.Vocabulary:
    """All bytes, the special tokens and a stop token."""
    tokens = [*(bytes([byte]) for byte in range(256)), *(name.encode() for name in specials), b"</s>"]
    last = len(tokens) - 1
    return gl.Vocabulary(tokens, stop_ids=[last], special_ids=range(256, last + 1))


def written(form: ToolFormat, calls: list[tuple[str, dict]], content: str = "", reasoning: str | None = None) -> str:
    """The text of a turn."""
    text = "" if reasoning is None else form.reasoning[0] + reasoning + form.reasoning[1] + form.reasoning[2]
    gap = form.thought_gap if reasoning is None else ""
    if not calls:
        return text + form.content[0].removeprefix(gap) + content + form.content[1]
    text += form.lead
    if content:
        text += form.beside[0].removeprefix(gap) + content + form.beside[1]
    return text + form.write([(name, arguments, f"call{index}") for index, (name, arguments) in enumerate(calls)])


def message_of(form: ToolFormat, calls: list[tuple[str, dict]], content: str, thought: str | None) -> dict:
    """A message, as templates with this format take it."""
    message: dict = {"role": "assistant", "content": content or form.no_text}
    if thought is not None:
        message |= dict.fromkeys(("reasoning_content", "reasoning", "thinking"), thought)
    listed = []
    for index, (name, arguments) in enumerate(calls):
        id = (
            (form.call_id or f"abcdefg0{index}")
            .replace("{name}", name)
            .replace("{index}", str(index + form.first_index))
        )
        function = {"name": name, "arguments": json.dumps(arguments) if form.as_text else arguments}
        listed.append({"id": id, "type": "function", "function": function})
    return message | ({"tool_calls": listed} if calls else {})
