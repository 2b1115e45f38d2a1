"""The official client against the server: each answer is the one that generate() gives."""

import asyncio
import json

import pytest

import grammarlm as gl
from tests.integrations.server.conftest import KEY

openai = pytest.importorskip("openai", reason="the client is not installed: pip install openai")

ORDER = "Mira Tolan ordered seven steel lamps at 24.95 euros each and has not paid.\n"
SCHEMA = {"type": "object", "properties": {"customer": {"type": "string"}, "quantity": {"type": "integer"}},
          "required": ["customer", "quantity"], "additionalProperties": False}  # fmt: skip
TIMER = {
    "type": "function",
    "function": {
        "name": "set_timer",
        "parameters": {"type": "object", "properties": {"minutes": {"type": "integer"}}, "required": ["minutes"]},
    },
}
TAG = {
    "type": "structural_tag",
    "format": {"type": "tag", "begin": "<a>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</a>"},
}
TRIGGERED = {
    "type": "structural_tag",
    "format": {"type": "triggered_tags", "triggers": ["<a>"], "tags": [TAG["format"]]},
}
DRAWN = {"n": 2, "seed": 1, "temperature": 1.0, "max_tokens": 9}
GBNF = 'root ::= "a" | "b" root'
MESSAGES = [{"role": "user", "content": "Count 15 minutes."}]
# A request beside its messages, and generate()'s settings for the same.
CHATS = {
    "free": ({"max_tokens": 20}, {"max_tokens": 20}),
    "schema": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "order", "schema": SCHEMA}}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "order", "schema": SCHEMA}}},
    ),
    "json_object": ({"response_format": {"type": "json_object"}}, {"response_format": {"type": "json_object"}}),
    "structural tag": ({"response_format": TAG}, {"response_format": TAG}),
    "tags, cut": ({"response_format": TRIGGERED, "max_tokens": 5}, {"response_format": TRIGGERED, "max_tokens": 5}),
    "tools": ({"tools": [TIMER]}, {"tools": [TIMER]}),
    "required": ({"tools": [TIMER], "tool_choice": "required"}, {"tools": [TIMER], "tool_choice": "required"}),
    "one tool": (
        {"tools": [TIMER], "tool_choice": {"type": "function", "function": {"name": "set_timer"}}, "parallel_tool_calls": False},
        {"tools": [TIMER], "tool_choice": "set_timer", "parallel": False},
    ),
    "a text, cut": ({"tools": [TIMER], "tool_choice": "none", "max_tokens": 4},
                                   {"tools": [TIMER], "tool_choice": "none", "max_tokens": 4}),
    "no tool": (
        {"tools": [TIMER], "tool_choice": "none", "max_tokens": 30},
        {"tools": [TIMER], "tool_choice": "none", "max_tokens": 30},
    ),
    "reasoning": (
        {"extra_body": {"grammarlm": {"reasoning": 9, "choices": ["yes", "no"], "tool_format": "hermes"}}},
        {"reasoning": 9, "choices": ["yes", "no"], "tool_format": "hermes"},
    ),
    "regex": ({"extra_body": {"grammarlm": {"regex": "[a-z]{3}"}}}, {"regex": "[a-z]{3}"}),
    "cut": ({"max_tokens": 5, "extra_body": {"grammarlm": {"regex": "[a-z]{9}", "close": False}}},
            {"max_tokens": 5, "regex": "[a-z]{9}", "close": False}),
    "drawn": (
        {"n": 3, "seed": 7, "temperature": 1.1, "top_p": 0.9, "max_tokens": 12, "stop": ["e", "."]},
        {"n": 3, "seed": 7, "temperature": 1.1, "top_p": 0.9, "max_tokens": 12, "stop": ["e", "."]},
    ),
    "more settings": (
        {"seed": 3, "temperature": 1.0, "max_completion_tokens": 9, "extra_body": {"top_k": 5, "repetition_penalty": 1.2}},
        {"seed": 3, "temperature": 1.0, "max_tokens": 9, "top_k": 5, "repetition_penalty": 1.2},
    ),
}  # fmt: skip


@pytest.fixture
def client(served):
    return openai.OpenAI(base_url=f"{served}/v1", api_key=KEY, max_retries=0)


def expected(tiny, prompt, settings):
    model, tokenizer = tiny
    outs = gl.generate(model, prompt, tokenizer=tokenizer, **{"max_tokens": 400, **settings})
    return outs if isinstance(outs, list) else [outs]


def calls_of(message):
    return [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]


def is_tag(settings):
    return settings.get("response_format", {}).get("type") == "structural_tag"


def ending(out, is_tag=False):
    """A text of any form that ends with its tokens is cut, also where a turn with tools closes it."""
    is_text = out.turn is not None and out.turn.tools.answer is None and not out.calls
    is_cut = out.finish_reason == "length" or (out.finish_reason == "closed" and (is_text or is_tag))
    return "tool_calls" if out.calls else "length" if is_cut else "stop"


@pytest.mark.parametrize("name", CHATS)
def test_a_conversation(name, client, tiny):
    request, settings = CHATS[name]
    found = client.chat.completions.create(model="tiny", messages=MESSAGES, **request)
    outs = expected(tiny, MESSAGES, settings)
    assert [choice.index for choice in found.choices] == list(range(len(outs)))
    for choice, out in zip(found.choices, outs, strict=True):
        assert (choice.message.content or "") == out.content
        assert calls_of(choice.message) == [(call.name, call.json) for call in out.calls]
        assert getattr(choice.message, "reasoning_content", None) == out.reasoning
        assert choice.finish_reason == ending(out, is_tag(settings))
    assert found.usage.completion_tokens == sum(len(out.tokens) for out in outs)
    assert found.model == "tiny"


@pytest.mark.parametrize("name", CHATS)
def test_a_stream_says_the_same(name, client, tiny):
    request, settings = CHATS[name]
    outs = expected(tiny, MESSAGES, settings)
    content, reasoning, calls, ends = [""] * len(outs), [""] * len(outs), [[] for _ in outs], [None] * len(outs)
    chunks = client.chat.completions.create(
        model="tiny", messages=MESSAGES, stream=True, stream_options={"include_usage": True}, **request
    )
    for chunk in chunks:
        for choice in chunk.choices:
            content[choice.index] += choice.delta.content or ""
            reasoning[choice.index] += getattr(choice.delta, "reasoning_content", None) or ""
            for call in choice.delta.tool_calls or ():
                assert call.index == len(calls[choice.index])
                calls[choice.index].append((call.function.name, json.loads(call.function.arguments)))
            ends[choice.index] = choice.finish_reason
    assert content == [out.content for out in outs]
    assert reasoning == [out.reasoning or "" for out in outs]
    assert calls == [[(call.name, call.json) for call in out.calls] for out in outs]
    assert ends == [ending(out, is_tag(settings)) for out in outs]
    assert chunk.usage.completion_tokens == sum(len(out.tokens) for out in outs)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_calls_of_a_conversation_have_ids_of_their_own(is_streamed, client):
    """Clients look up results by the ids of calls, and the first call of each turn was "call_0"."""
    ids = []
    for _ in range(2):
        found = client.chat.completions.create(
            model="tiny", messages=MESSAGES, tools=[TIMER], tool_choice="required", n=2, stream=is_streamed
        )
        choices = (
            [choice for chunk in found for choice in chunk.choices if choice.delta.tool_calls]
            if is_streamed
            else found.choices
        )
        for choice in choices:
            ids += [call.id for call in (choice.delta if is_streamed else choice.message).tool_calls]
    assert len(ids) >= 4
    assert len(set(ids)) == len(ids)
    assert all(one.startswith("call_") and len(one) <= 40 for one in ids)  # OpenAI takes no longer ones


def test_a_conversation_goes_on(client, tiny):
    messages = list(MESSAGES)
    first = client.chat.completions.create(model="tiny", messages=messages, tools=[TIMER]).choices[0].message
    messages += [first.model_dump(exclude_none=True)]
    messages += [{"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "it rings"}]
    second = client.chat.completions.create(model="tiny", messages=messages, max_tokens=20).choices[0].message
    [out] = expected(tiny, messages, {"max_tokens": 20})
    assert second.content == out.content


@pytest.mark.parametrize(
    ("prompt", "request_", "settings"),
    [
        (ORDER, {"max_tokens": 9}, {"max_tokens": 9}),
        ([ORDER, "Ada"], DRAWN, DRAWN),
        ([5, 6, 7], {"max_tokens": 9}, {"max_tokens": 9}),
        ([[5, 6, 7], [8, 9]], {"max_tokens": 9}, {"max_tokens": 9}),
        (ORDER, {"extra_body": {"grammarlm": json.dumps({"schema": SCHEMA})}}, {"schema": SCHEMA}),
        (ORDER, {"extra_body": {"grammarlm": {"grammar": GBNF}}}, {"grammar": gl.Gbnf(GBNF)}),
        (ORDER, {"extra_body": {"response_format": {"type": "json_object"}}}, {"schema": {"type": "object"}}),
    ],
    ids=["free", "several", "ids", "lists of ids", "schema", "gbnf", "response format"],
)  # fmt: skip
@pytest.mark.parametrize("is_streamed", [False, True])
def test_completions(prompt, request_, settings, is_streamed, client, tiny):
    outs = expected(tiny, prompt, settings)
    found = client.completions.create(model="tiny", prompt=prompt, stream=is_streamed, **request_)
    if not is_streamed:
        assert [choice.text for choice in found.choices] == [out.text for out in outs]
        assert found.usage.completion_tokens == sum(len(out.tokens) for out in outs)
        return
    texts = [""] * len(outs)
    for chunk in found:
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert texts == [out.text for out in outs]


def test_log_probabilities(client, tiny):
    asked = {"logprobs": True, "top_logprobs": 4, "seed": 2, "temperature": 0.8, "stop": ["a"], "max_tokens": 30}
    asked |= {"extra_body": {"grammarlm": {"regex": "[a-z ]{1,30}"}}}
    [out] = expected(
        tiny, MESSAGES, {"regex": "[a-z ]{1,30}", "seed": 2, "temperature": 0.8, "stop": ["a"], "max_tokens": 30}
    )
    whole = client.chat.completions.create(model="tiny", messages=MESSAGES, **asked).choices[0]
    chunks = client.chat.completions.create(model="tiny", messages=MESSAGES, stream=True, **asked)
    streamed = [
        token
        for chunk in chunks
        for token in (chunk.choices[0].logprobs or whole.logprobs.model_copy(update={"content": []})).content
    ]
    for tokens in (whole.logprobs.content, streamed):
        assert [token.logprob for token in tokens] == pytest.approx(out.logprobs, abs=1e-4)
        assert [token.model_logprob for token in tokens] == pytest.approx(out.model_logprobs, abs=1e-4)
        for token in tokens:
            assert len(token.top_logprobs) == min(4, token.allowed)
            best = [top.logprob for top in token.top_logprobs]
            assert best == sorted(best, reverse=True)
            if token.token in {top.token for top in token.top_logprobs}:
                assert min(abs(token.logprob - one) for one in best) < 1e-4
    text = b"".join(bytes(token.bytes) for token in whole.logprobs.content).decode()
    assert text.startswith(whole.message.content)

    found = client.completions.create(model="tiny", prompt=ORDER, logprobs=2, max_tokens=5).choices[0]
    assert "".join(found.logprobs.tokens) == found.text
    assert [len(top) for top in found.logprobs.top_logprobs] == [2] * 5


def test_many_clients_at_once(served, tiny):
    """As generate() for each, whoever else is answered at the same time."""
    client = openai.AsyncOpenAI(base_url=f"{served}/v1", api_key=KEY, max_retries=0)
    names = [name for name in CHATS if name != "drawn"]

    async def one(name, is_streamed):
        request = CHATS[name][0]
        asked = client.chat.completions.create(model="tiny", messages=MESSAGES, stream=is_streamed, **request)
        if not is_streamed:
            return (await asked).choices[0].message.content or ""
        return "".join([chunk.choices[0].delta.content or "" async for chunk in await asked])

    async def all_of_them():
        return await asyncio.gather(*(one(name, is_streamed) for name in names for is_streamed in (False, True)))

    found = asyncio.run(all_of_them())
    wanted = [expected(tiny, MESSAGES, CHATS[name][1])[0].content for name in names for _ in range(2)]
    assert found == wanted


def test_models_and_health(client, served):
    assert [model.id for model in client.models.list()] == ["tiny"]
    with pytest.raises(openai.NotFoundError, match="there is no model 'large'; this server has 'tiny'"):
        client.completions.create(model="large", prompt="a")
    stranger = openai.OpenAI(base_url=f"{served}/v1", api_key="another", max_retries=0)
    for call in (stranger.models.list, lambda: stranger.completions.create(model="tiny", prompt="a")):
        with pytest.raises(openai.AuthenticationError, match="the API key is missing or wrong"):
            call()
