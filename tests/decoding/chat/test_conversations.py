"""Messages as a prompt: its ids are transformers', its answer is a turn that the conversation goes on with."""

import json
from functools import cache
from typing import Any, Literal

import pytest

import grammarlm as gl
from grammarlm.models.tiny import FOLDER as EMBEDDED
from tests.decoding.planted import noise
from tests.oracles.chat_templates import needs_jinja2
from tests.real_data import FOLDER, TOKENIZERS, needs_data

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = needs_jinja2

ASKED = {"role": "user", "content": "Count 15 minutes."}
# A template of the kind that Hermes, Qwen and others have.
HERMES = """
{%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.reasoning_content %}<think>
{{ message.reasoning_content.strip('\\n') }}
</think>

{% endif %}{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
{%- if message.content or not loop.first %}{{ '\\n' }}{% endif %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and enable_thinking is false %}<think>

</think>

{% endif %}{% endif %}"""


@cache
def hermes_tokenizer() -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(EMBEDDED)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.chat_template = HERMES
    return tokenizer


class Scripted:
    """Writes a given text after each prompt, and then a token that ends it, and keeps the prompts."""

    def __init__(self, tokenizer: Any, texts: list[str], end: int):
        self.tokenizer, self.left, self.end = tokenizer, list(texts), end
        self.prompts: list[list[int]] = []
        self._noise = noise(len(tokenizer))

    def begin(self) -> None:
        """The next forward is of a new prompt."""
        self._prompt: list[int] | None = None

    def __call__(self, ids: Any) -> Any:
        if self._prompt is None:
            self._prompt = ids[0].tolist()
            self.prompts.append(self._prompt)
            text = self.left.pop(0)
            self._answer = [*self.tokenizer(text, add_special_tokens=False)["input_ids"], self.end]
        logits = self._noise(ids)
        for at in range(len(self._prompt) - 1, ids.shape[1]):
            done = at + 1 - len(self._prompt)
            if done < len(self._answer):
                logits[0, at, self._answer[done]] += 50
        return logits


def ask(model: Scripted, messages: list[Any], **options: Any) -> Any:
    model.begin()
    return gl.generate(model, messages, tokenizer=model.tokenizer, forced="off", **options)


def set_timer(minutes: int) -> str:
    """Sets a timer."""
    return f"rings in {minutes}"


def get_weather(city: str, unit: Literal["c", "f"] = "c") -> str:
    return f"18 {unit} in {city}"


def prompt_ids(model_width: int, messages: Any, **options: Any) -> list[int]:
    """The ids that a model gets first."""
    seen: list[list[int]] = []

    def model(ids: Any) -> Any:
        seen.append(ids[0].tolist())
        return torch.zeros(*ids.shape, model_width)

    gl.generate(model, messages, max_tokens=1, close=False, **options)
    return seen[0]


def test_the_embedded_model_talks_and_calls() -> None:
    model, _tokenizer = gl.load_tiny()
    messages: list[Any] = [
        {"role": "user", "content": "At 20, Permi Vaanbert moved to Vinronen to work as a carpenter."}
    ]
    out = gl.generate(model, messages, schema={"type": "object"})
    assert out.value["age"] == 20
    assert out.message == {"role": "assistant", "content": out.text}
    messages += [out.message, {"role": "user", "content": "The same, but the age is 31."}]
    assert gl.generate(model, messages, schema={"type": "object"}).value == out.value | {"age": 31}

    out = gl.generate(model, [ASKED], tools=[set_timer, get_weather])
    assert [(call.name, call.arguments, call.call()) for call in out.calls] == [
        ("set_timer", {"minutes": 15}, "rings in 15")
    ]
    events = list(gl.stream(model, [ASKED], tools=[set_timer, get_weather]))
    assert [event.value for event in events if event.kind == "call"] == list(out.calls)
    assert "".join(event.text for event in events if event.kind == "text") == out.text == events[-1].result.text
    several = gl.generate(
        model, [[ASKED], [ASKED, out.message, {"role": "user", "content": "Count 20 minutes."}]], tools=[set_timer]
    )
    assert [one.calls[0].name for one in several] == ["set_timer", "set_timer"]
    assert gl.Generator(model, tools=[set_timer])([ASKED]).calls == out.calls


def test_ten_turns_of_calls_and_results() -> None:
    """What the model reads is the template's rendering of all messages so far, written independently of ours."""
    tokenizer = hermes_tokenizer()
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    texts = []
    for turn in range(10):
        call = json.dumps({"name": "set_timer", "arguments": {"minutes": turn}})
        texts += [f"Turn {turn}.\n<tool_call>\n{call}\n</tool_call>", f"It rings, number {turn}."]
    model = Scripted(tokenizer, texts, end)
    messages: list[Any] = [{"role": "system", "content": "Be brief."}]
    written = "<|im_start|>system\n" + json.dumps(
        {"type": "function", "function": {"name": "set_timer", "description": "Sets a timer.",
         "parameters": gl.JsonSchema(set_timer).document()}}
    ) + "\n<|im_end|>\n<|im_start|>system\nBe brief.<|im_end|>\n"  # fmt: skip
    for turn in range(10):
        messages.append({"role": "user", "content": f"Ask {turn}"})
        out = ask(model, messages, tools=[set_timer])
        written += f"<|im_start|>user\nAsk {turn}<|im_end|>\n<|im_start|>assistant\n"
        assert tokenizer.decode(model.prompts[-1]) == written
        assert out.finish_reason == "stop"
        assert out.content == f"Turn {turn}."
        assert out.text == texts[2 * turn]
        (call,) = out.calls
        messages += [out.message, {"role": "tool", "tool_call_id": call.id, "content": call.call()}]
        written += f"{texts[2 * turn]}<|im_end|>\n<|im_start|>tool\nrings in {turn}<|im_end|>\n<|im_start|>assistant\n"
        out = ask(model, messages, tools=[set_timer])
        assert tokenizer.decode(model.prompts[-1]) == written
        assert out.text == out.content == texts[2 * turn + 1]
        assert not out.calls
        messages.append(out.message)
        written += f"{out.text}<|im_end|>\n"


def test_reasoning_is_told_to_the_template_and_read() -> None:
    tokenizer = hermes_tokenizer()
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    schema = {
        "type": "object",
        "properties": {"age": {"type": "integer"}},
        "required": ["age"],
        "additionalProperties": False,
    }
    model = Scripted(tokenizer, ['<think>\nHm.\n</think>\n\n{"age": 36}', '{"age": 36}'], end)
    out = ask(model, [ASKED], reasoning=True, schema=schema)
    assert (out.reasoning, out.value, out.content) == ("Hm.", {"age": 36}, '{"age": 36}')
    assert tokenizer.decode(model.prompts[-1]).endswith("assistant\n")
    out = ask(model, [ASKED], reasoning=False, schema=schema)
    assert tokenizer.decode(model.prompts[-1]).endswith("assistant\n<think>\n\n</think>\n\n")
    assert out.reasoning is None
    assert out.value == {"age": 36}
    model = Scripted(tokenizer, ["<think>\n" + "so " * 50], end)
    out = ask(model, [ASKED], reasoning=9, schema=schema, max_tokens=40)
    assert out.finish_reason in ("stop", "closed")
    assert set(out.value) == {"age"}
    assert out.reasoning.startswith("so s")


def test_a_thought_that_the_prompt_has_begun_is_ended_before_the_answer() -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(EMBEDDED)
    opened = HERMES.replace(
        "<|im_start|>assistant\n{% if enable_thinking", "<|im_start|>assistant\n<think>\n{% if enable_thinking"
    )
    model = Scripted(tokenizer, ["Six.\n</think>\n\n6"], tokenizer.eos_token_id)
    out = ask(model, [ASKED], choices=[5, 6], chat_template=opened)
    assert (out.reasoning, out.value) == ("Six.", 6)


def test_the_token_that_ends_a_turn_ends_the_answer() -> None:
    tokenizer = hermes_tokenizer()
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert end != tokenizer.eos_token_id
    out = ask(Scripted(tokenizer, ["Fine."], end), [ASKED])
    assert (out.text, out.finish_reason, out.tokens[-1] == end) == ("Fine.", "stop", False)


def test_a_last_message_of_the_assistant_goes_on() -> None:
    tokenizer = hermes_tokenizer()
    model = Scripted(tokenizer, [" minutes"], tokenizer.eos_token_id)
    out = ask(model, [ASKED, {"role": "assistant", "content": "Fifteen"}])
    assert tokenizer.decode(model.prompts[-1]).endswith("<|im_start|>assistant\nFifteen")
    assert out.text == " minutes"


def test_arguments_of_calls_may_be_json_text() -> None:
    """As OpenAI's clients have them; the template wants objects."""
    tokenizer = hermes_tokenizer()
    call = {"id": "c", "type": "function", "function": {"name": "set_timer", "arguments": '{"minutes": 5}'}}
    result = {
        "role": "tool",
        "tool_call_id": "c",
        "content": [{"type": "text", "text": "it "}, {"type": "text", "text": "rings"}],
    }
    model = Scripted(tokenizer, ["Fine."], tokenizer.eos_token_id)
    ask(model, [ASKED, {"role": "assistant", "content": None, "tool_calls": [call]}, result], tools=[set_timer])
    text = tokenizer.decode(model.prompts[-1])
    assert '"arguments": {"minutes": 5}}' in text
    assert "tool\nit rings<|im_end|>" in text


@pytest.mark.parametrize("name", ["reasoning", "thinking", "reasoning_content"])
def test_reasoning_goes_back_under_the_name_that_the_template_reads(name: str) -> None:
    tokenizer = hermes_tokenizer()
    template = HERMES.replace("reasoning_content", name)
    model = Scripted(tokenizer, ["<think>\nHm.\n</think>\n\nYes."], tokenizer.eos_token_id)
    message = ask(model, [ASKED], reasoning=True, chat_template=template).message
    assert message == {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}
    for given in (message, {"role": "assistant", "content": "Yes.", name: "Hm."}):
        model = Scripted(tokenizer, ["Fine."], tokenizer.eos_token_id)
        ask(model, [ASKED, given, ASKED], chat_template=template)
        assert "<think>\nHm.\n</think>\n\nYes.<|im_end|>" in tokenizer.decode(model.prompts[-1])


def templates() -> list[Any]:
    return sorted((FOLDER / "chat_templates").glob("*.jinja"))


@needs_data
@pytest.mark.parametrize("path", templates(), ids=lambda path: path.stem)
def test_ids_are_those_of_apply_chat_template(path: Any) -> None:
    """Of every template that renders, as far as it does."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(EMBEDDED)
    template = path.read_text()
    begun = [{"role": "user", "content": "Say: é, <b>."}]
    talk = [*begun, {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "And?"}]
    dictionary = {
        "type": "function",
        "function": {"name": "look", "description": "d", "parameters": {"type": "object", "properties": {}}},
    }
    rendered = 0
    for messages in (begun, talk, [*talk, {"role": "assistant", "content": "So"}]):
        for thinks in (None, True, False):
            for tools in (None, [dictionary]):
                goes_on = messages[-1]["role"] == "assistant"
                given = {} if thinks is None else {"enable_thinking": thinks}
                try:
                    expected = tokenizer.apply_chat_template(
                        messages, chat_template=template, tools=tools, add_generation_prompt=not goes_on,
                        continue_final_message=goes_on, return_dict=False, **given,
                    )  # fmt: skip
                except Exception:
                    continue
                options = {"chat_template": template, "chat_template_kwargs": given, "tokenizer": tokenizer}
                if tools is None:
                    assert prompt_ids(len(tokenizer), messages, **options) == expected
                else:
                    try:
                        found = prompt_ids(len(tokenizer), messages, tools=tools, tool_choice="none", **options)
                    except (
                        gl.GrammarError
                    ):  # a format that cannot be learned is refused by name: test_tools_templates.py
                        continue
                    assert found == expected
                rendered += 1
    if not rendered:
        pytest.skip("transformers renders none of these")


@needs_data
@pytest.mark.parametrize("folder", TOKENIZERS, ids=lambda folder: folder.name)
def test_one_beginning_of_the_text(folder: Any) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    options = {} if tokenizer.chat_template else {"chat_template": "{{ bos_token or '' }}" + HERMES}
    found = prompt_ids(len(tokenizer), [ASKED], tokenizer=tokenizer, **options)
    assert found == tokenizer.apply_chat_template([ASKED], add_generation_prompt=True, return_dict=False, **options)
    assert tokenizer.bos_token_id is None or found.count(tokenizer.bos_token_id) <= 1


BAD: list[tuple[Any, dict[str, Any], str]] = [
    ([{"role": "usr", "content": "x"}], {}, "message 0 of the prompt has the role 'usr'; there are system, developer, user"),
    ([ASKED, {"role": "user"}], {}, "message 1 of the prompt has no content"),
    ([{"role": "user", "content": "a\ud800"}], {}, "half of a surrogate pair"),
    ([ASKED, {"content": "x"}], {}, "message 1 of the prompt has no role"),
    ([ASKED, "and?"], {}, "message 1 of the prompt is str: 'and?'; a message is"),
    ([[ASKED], [{"role": "user", "content": 3}]], {}, "1 of the list: content is int; it takes a text (json.dumps"),
    ([{"role": "user", "content": [{"type": "image_url"}]}], {}, "has a part of type 'image_url'; only parts of text"),
    ([ASKED, {"role": "assistant", "content": "", "tool_calls": [{"function": {}}]}], {}, "tool_calls is [{'function': {}}]; it"),
    ([ASKED, {"role": "assistant", "tool_calls": [{"name": "f", "arguments": {}}]}], {}, "ends with calls of tools; append"),
    ([{"role": "user", "content": None}], {}, "message 0 of the prompt has no content: {'role': 'user', 'content': None}"),
    ([ASKED, {"role": "tool", "content": None}], {}, "message 1 of the prompt has no content"),
    ([ASKED], {"heal": True}, "heal=True is for prompts that are texts"),
    ("x", {"tools": [set_timer]}, "tools= is for conversations, and the prompt is none; pass messages"),
    ("x", {"chat_template_kwargs": {"a": 1}}, "chat_template_kwargs= is for conversations"),
    ([ASKED], {"reasoning": True}, "has no reasoning; leave reasoning= out, or name a format that has"),
    ([ASKED], {"tools": [set_timer], "items": [[1, 2]]}, "items= is a list of ids, not a turn"),
    ([ASKED], {"tools": [set_timer], "tool_choice": "set_timmer"}, "names the tool 'set_timmer'; there are set_timer"),
    ([ASKED], {"tools": [set_timer], "tool_format": "hermess"}, "hermes"),
    ([ASKED], {"chat_template": "{{ raise_exception('alternate the roles') }}"}, "conversation: TemplateError: alternate"),
    ([ASKED], {"tools": set_timer}, "tools is function; it takes a list of tools, each a function"),
    ([ASKED], {"tools": [3]}, "3 is no tool"),
    ([ASKED], {"tools": [], "tool_choice": "required"}, "tool_choice= (calls= of gl.Tools) asks for a call, and there"),
    ([ASKED], {"tool_choice": "required"}, "tool_choice= is an option of tools=, which is not given"),
    ([ASKED], {"parallel": False}, "parallel= is an option of tools=, which is not given"),
    ([ASKED], {"chat_template_kwargs": [1]}, "chat_template_kwargs is [1]; it takes a dictionary"),
    ([ASKED], {"chat_template": 3}, "chat_template is int; it takes the text of a template"),
]  # fmt: skip


@pytest.mark.parametrize(("prompt", "options", "said"), BAD, ids=[said[:40] for _, _, said in BAD])
def test_bad_input_is_named(prompt: Any, options: dict[str, Any], said: str) -> None:
    model, _ = gl.load_tiny()
    with pytest.raises((TypeError, ValueError)) as raised:
        gl.generate(model, prompt, **options)
    assert said in str(raised.value)
    assert len(str(raised.value)) <= 500


def test_tokenizers_without_a_template() -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(EMBEDDED)
    tokenizer.chat_template = None
    with pytest.raises(
        ValueError, match="has no chat template, which says how messages are written; pass chat_template="
    ):
        prompt_ids(len(tokenizer), [ASKED], tokenizer=tokenizer)
    with pytest.raises(TypeError, match="and there is no tokenizer; pass tokenizer="):
        gl.generate(lambda ids: None, [ASKED], vocab=gl.Vocabulary([b"a", b"</s>"], stop_ids=[1]))
