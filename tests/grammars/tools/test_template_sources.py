"""Where ToolFormat.of() finds chat templates: tokenizers, models of llama.cpp, and what stands beside a template."""

import dataclasses
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.tools import formats
from grammarlm.grammars.tools.tool_format import ToolFormat
from tests.corpus_files import corpus
from tests.oracles.chat_templates import needs_jinja2
from tests.real_data import FOLDER, needs_data

pytestmark = needs_jinja2
CASES = {case["name"]: case for case in corpus("chat_templates")}


@needs_data
@pytest.mark.parametrize("name", ["qwen3", "llama3_1", "gpt2"])
def test_tokenizers(name: str) -> None:
    tokenizer = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(FOLDER / "tokenizers" / name)
    if name != "qwen3":  # templates without tools, and none
        with pytest.raises(
            gl.UnsupportedFeature, match="writes no calls" if name == "llama3_1" else "no chat template"
        ):
            ToolFormat.of(tokenizer)
        return
    form = ToolFormat.of(tokenizer)
    hermes = formats.read("hermes").layout
    assert dataclasses.asdict(form) == dataclasses.asdict(dataclasses.replace(hermes, name="learned"))
    conversation = [{"role": "user", "content": "hi"}]
    prompts = [
        tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True, enable_thinking=thinks)
        for thinks in (True, False)
    ]
    assert [form.opened(prompt) for prompt in prompts] == ["none", "closed"]


class Model:
    """What ToolFormat.of() reads of a llama.cpp model."""

    def __init__(self, **metadata: str):
        self.metadata = metadata

    def token_bos(self) -> int:
        return -1

    def token_eos(self) -> int:
        return 2

    def detokenize(self, ids: list[int], special: bool) -> bytes:
        return b"</s>" if ids == [2] and special else b""


def test_models_of_llama_cpp() -> None:
    template = CASES["JSON in markers, written without blanks"]["template"].strip()
    plain = "{% for m in messages %}{{ m.content }}{% endfor %}"
    form = ToolFormat.of(template)
    assert ToolFormat.of(Model(**{"tokenizer.chat_template": template})) == form
    assert (
        ToolFormat.of(Model(**{"tokenizer.chat_template": plain, "tokenizer.chat_template.tool_use": template})) == form
    )
    with pytest.raises(gl.UnsupportedFeature, match="no chat template"):
        ToolFormat.of(Model())
    own = CASES["arguments are JSON text, and content is none beside calls"]["template"].strip()
    assert ToolFormat.of(Model(**{"tokenizer.chat_template": own})).stop == ("</s>", "</s>")


class Tokenizer:
    """What it reads of a transformers tokenizer."""

    def __init__(self, chat_template: Any, response_template: Any = None, special: tuple[str, ...] = ()):
        self.chat_template, self.response_template = chat_template, response_template
        self.special_tokens_map = {"bos_token": "<s>", "eos_token": "</s>", "additional_special_tokens": list(special)}
        self.added_tokens_decoder = dict(enumerate(special))


def test_tokens_are_the_tokenizers_own() -> None:
    template = CASES["arguments are JSON text, and content is none beside calls"]["template"].strip()
    assert ToolFormat.of(template).stop == ("", "")
    assert ToolFormat.of(Tokenizer(template)).stop == ("</s>", "</s>")
    assert ToolFormat.of(Tokenizer({"default": "nothing", "tool_use": template})).stop == ("</s>", "</s>")
    inside = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ bos_token }}"
    inside += "{{ c.function.name }} {{ c.function.arguments | tojson }}{{ eos_token }}{% endfor %}{% endfor %}"
    assert ToolFormat.of(Tokenizer(inside)).call == ("<s>", " ", "</s>")
    with pytest.raises(gl.UnsupportedFeature, match="give the tokenizer instead"):
        ToolFormat.of(inside)


SILENT = "{{ tools | tojson }}{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}{% endfor %}"
FUNCTION = {"name": "{name}", "arguments": "{content}"}
# A field of a response template, and what it says of calls: around each, around all, between two.
RESPONSES = [
    (
        {"open": "<t>", "close": "</t>", "repeats": True, "transform": {"function": "{content}"}},
        (('<t>{"name": "', '", "arguments": ', "}</t>"), ("", ""), ""),
    ),
    (
        {
            "open_pattern": r"<\|c\|>to=f\.(?P<name>\w+).*?<\|m\|>",
            "close": "<|call|>",
            "transform": {"function": FUNCTION},
        },
        (("<|c|>to=f.", "<|m|>", "<|call|>"), ("", ""), None),
    ),
    (
        {
            "open": ["<A>", "<B>"],
            "close": "</A>",
            "transform_each": True,
            "transform": {"function": {"name": "{tool}", "arguments": "{args}"}},
        },
        (('{"tool": "', '", "args": ', "}"), ("<A>[", "]</A>"), ", "),
    ),
]


@pytest.mark.parametrize(("field", "expected"), RESPONSES)
def test_response_templates_where_a_chat_template_writes_no_calls(field: Any, expected: Any) -> None:
    response = {
        "start_anchor": "<|assistant|>",
        "fields": {
            "thinking": {"open": "<think>", "close": "</think>"},
            "content": {"close": "<|end|>"},
            "tool_calls": {"content": "json", **field},
        },
    }
    form = ToolFormat.of(Tokenizer(SILENT, response))
    assert (form.call, form.section, form.between) == expected
    assert (form.reasoning, form.turn, form.stop) == (
        ("<think>", "</think>", ""),
        "<|assistant|>",
        ("<|end|>", "<|end|>"),
    )
    parsing = pytest.importorskip("transformers.utils.chat_parsing")
    said = [("Find2", {"city": 'é\n"', "tags": [1, None]})]
    message = parsing.parse_response(f"<think>so</think>{form.write(said)}", response, prefix="")
    read = message["tool_calls"] if isinstance(message["tool_calls"], list) else [message["tool_calls"]]
    assert [tuple(each["function"].values()) for each in read] == said
    assert message["thinking"] == "so"


OTHER = {"content": "xml-inline", "transform": {"function": FUNCTION}}


@pytest.mark.parametrize("response", [{}, {"fields": {}}, {"fields": {"tool_calls": OTHER}}, 3])
def test_response_templates_that_say_something_else(response: Any) -> None:
    with pytest.raises(gl.UnsupportedFeature, match="writes no calls"):
        ToolFormat.of(Tokenizer(SILENT, response))


def test_reasoning_that_only_the_response_template_tells() -> None:
    template = CASES["JSON in markers, written without blanks"]["template"].strip()
    response = {"fields": {"thinking": {"open": "<r>", "close": "</r>"}}}
    assert ToolFormat.of(Tokenizer(template, response)).reasoning == ("<r>", "</r>", "")


def test_marks_are_looked_up_in_the_vocabulary_too() -> None:
    assert ToolFormat.of(Tokenizer(SILENT, special=("<|tool_call_start|>",))).name == "lfm2"
    with pytest.raises(gl.UnsupportedFeature):
        ToolFormat.of(Tokenizer(SILENT.replace("tools", "messages"), special=("<|tool_call_start|>",)))


def test_a_vocabulary_is_no_mark_of_what_many_models_write() -> None:
    """As models that were trained from Llama 3 or Qwen 2.5 to write lists of calls, with templates that write none."""
    asks = SILENT + "<|start_header_id|>Return [name(key=value)]{# or [{'name': ..., \"arguments\": ...}] #}"
    for special in (("<|python_tag|>",), ("<tool_call>", "</tool_call>")):
        with pytest.raises(gl.UnsupportedFeature, match="writes no calls"):
            ToolFormat.of(Tokenizer(asks, special=special))
    told = SILENT + 'Call as {"name": name, "parameters": dictionary of values}<|start_header_id|>'
    assert ToolFormat.of(Tokenizer(told, special=("<|python_tag|>",))).name == "llama3"
    assert ToolFormat.of(SILENT + '<tool_call>{"name": ..., "arguments": ...}').name == "hermes"


def test_marks_of_several_formats() -> None:
    assert ToolFormat.of(SILENT + "[TOOL_CALLS]name[ARGS]").name == "mistral"
    assert ToolFormat.of(SILENT + "[TOOL_CALLS]").name == "mistral_v3"
    assert ToolFormat.of(SILENT + "<｜tool▁sep｜>```json").name == "deepseek_r1"
    with pytest.raises(gl.UnsupportedFeature, match="the marks of glm and glm_4_7"):
        ToolFormat.of(SILENT + "<arg_key><arg_value>")


@pytest.mark.parametrize("wrong", [3, None, b"{{ messages }}", ["{{ messages }}"]])
def test_what_is_no_tokenizer(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"ToolFormat\.of\(\) takes a transformers tokenizer, .* not "):
        ToolFormat.of(wrong)
