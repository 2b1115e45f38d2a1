"""What the server refuses, what it survives, and that a client who leaves frees its row."""

import asyncio
import json
import threading

import pytest

from grammarlm.decoding.live.live import live_of
from grammarlm.integrations.server.app import application
from grammarlm.integrations.server.asked import Bounds
from tests.integrations.server.conftest import KEY, settled
from tests.integrations.vllm.bad_requests import BAD, HARD

httpx = pytest.importorskip("httpx", reason="the client is not installed: pip install httpx")

MESSAGES = [{"role": "user", "content": "Count 15 minutes."}]
ONLY_WRONG_ELSEWHERE = {  # of the plug-in's bad requests: what a conversation's template makes right
    "tools without a format", "no token of thought", "nothing asked",
}  # fmt: skip
BODIES = {
    "no JSON": ("{", "the body is no JSON"),
    "a list": ([1], "the body is [1]; it takes an object"),
    "nothing": ({}, "messages is None; it takes a list of messages"),
    "no messages": ({"messages": []}, "messages is []"),
    "messages that are texts": ({"messages": ["hello"]}, "messages is ['hello']"),
    "conversations": ({"messages": [MESSAGES]}, "it takes a list of messages"),
    "a role": ({"messages": [{"role": "king", "content": "a"}]}, "has the role 'king'"),
    "no content": ({"messages": [{"role": "user"}]}, "has no content"),
    "a picture": ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "only parts of text are read"),
    "half a character": ({"messages": [{"role": "user", "content": "\ud800"}]}, "half of a surrogate pair"),
    "an unknown name": ({"temprature": 1}, "'temprature' is not supported here; did you mean 'temperature'?"),
    "a prompt in a conversation": ({"prompt": "a"}, "'prompt' is not supported here; it is of /v1/completions"),
    "a form in the wrong place": ({"regex": "a"}, "write it as {'grammarlm': {'regex': ...}}"),
    "a form of another server's": ({"guided_regex": "a"}, "user; forms of answers are in 'grammarlm'"),
    "a format without a schema": ({"response_format": {"type": "json_schema"}}, "response_format: /json_schema: it is missing"),
    "more than the model is made for": (
        {"messages": [{"role": "user", "content": "word " * 3000}]}, "tokens, and the model is made for 2,048; shorten it"),
    "a tool in another shape": ({"tools": [{"name": "f", "input_schema": {}}]}, "has no 'parameters', and has 'input_schema'"),
    "a template": ({"chat_template": "{{ 1 }}"}, "'chat_template' is not supported here"),
    "a penalty": ({"frequency_penalty": 0.5}, "frequency_penalty is 0.5, which is not supported"),
    "a bias": ({"logit_bias": {"5": 1}}, "logit_bias is {'5': 1}, which is not supported"),
    "effort": ({"reasoning_effort": "high"}, "'reasoning_effort' is not supported here"),
    "cold": ({"temperature": -1}, "temperature"),
    "hot": ({"temperature": "hot"}, "temperature"),
    "a large top_p": ({"top_p": 2}, "top_p"),
    "half a top_k": ({"top_k": 1.5}, "top_k"),
    "no answers": ({"n": 0}, "n=0; it takes an integer of 1 or more"),
    "many answers": ({"n": 1000}, "the number of answers to a request=1000; it takes an integer from 1 to 64"),
    "a huge number": ({"n": 10**400}, "the number of answers to a request"),
    "no tokens": ({"max_tokens": 0}, "max_tokens=0; it takes an integer from 1 to 400"),
    "many tokens": ({"max_tokens": 10**9}, "max_tokens=1000000000; it takes an integer from 1 to 400"),
    "two lengths": ({"max_tokens": 5, "max_completion_tokens": 5}, "mean the same; give one of them"),
    "a seed": ({"seed": -1}, "seed"),
    "an empty stop": ({"stop": ""}, "stop"),
    "stops of numbers": ({"stop": [1]}, "stop"),
    "a word for true": ({"stream": "yes"}, "stream='yes'; it takes True or False"),
    "options of no stream": ({"stream_options": {"include_usage": True}}, "stream_options is an option of stream"),
    "options of a stream": ({"stream": True, "stream_options": {"x": 1}}, "stream_options is {'x': 1}"),
    "alternatives alone": ({"top_logprobs": 3}, "top_logprobs is an option of logprobs"),
    "many alternatives": ({"logprobs": True, "top_logprobs": 99}, "top_logprobs=99; it takes an integer from 0 to 20"),
    "a choice of no tools": ({"tool_choice": "required"}, "tool_choice"),
    "an empty list of tools": ({"tools": []}, "tools is an empty list"),
    "a tool of another type": ({"tools": [{"type": "web_search"}]}, "web_search"),
    "a form that nobody knows": ({"response_format": {"type": "xml"}}, "xml"),
    "a form that is no object": ({"response_format": "json"}, "response_format"),
    "two forms": ({"response_format": {"type": "json_object"}, "grammarlm": {"regex": "a"}}, "an answer has one form"),
    "the same twice": ({"tools": [{"name": "f"}], "grammarlm": {"tools": [{"name": "f"}]}}, "tools is given twice"),
    "too few tokens": ({"max_tokens": 3, "grammarlm": {"regex": "(ab1){40}"}}, "max_tokens=3 may not be enough"),
    "a length in tokens": ({"grammarlm": {"regex": "a", "min_tokens": 5}}, "min_tokens is not supported here"),
    "options that are a list": ({"grammarlm": [1]}, "grammarlm is [1]"),
    "a format of numbers": ({"grammarlm": {"reasoning": True, "tool_format": 5}}, "tool_format is 5"),
    "kwargs": ({"chat_template_kwargs": 5}, "chat_template_kwargs is 5"),
    "kwargs that collide": ({"chat_template_kwargs": {"tokenize": True}}, "the chat template refuses"),
}  # fmt: skip


def post(client, body, path="/v1/chat/completions", **more):
    content = body if isinstance(body, str) else json.dumps(body)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}", **more}
    return client.post(path, content=content, headers=headers)


def check_served(client):
    found = post(client, {"messages": MESSAGES, "grammarlm": {"choices": ["yes"]}})
    assert (found.status_code, found.json()["choices"][0]["message"]["content"]) == (200, "yes")


def refused(found, message="", status=400):
    assert found.status_code == status, found.text
    error = found.json()["error"]
    assert message in error["message"]
    assert 0 < len(error["message"]) <= 500
    return error


@pytest.fixture(scope="module")
def client(served):
    with httpx.Client(base_url=served, timeout=120) as made:
        yield made


@pytest.mark.parametrize("name", BODIES)
def test_a_bad_request_is_refused_by_name_and_the_next_one_is_served(name, client):
    body, message = BODIES[name]
    if isinstance(body, dict) and body and "messages" not in body:
        body = {"messages": MESSAGES, **body}
    refused(post(client, body), message)
    check_served(client)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_grammar_is_refused(name, client):
    found = post(client, {"messages": MESSAGES, "grammarlm": BAD[name], "max_tokens": 64})
    if name not in ONLY_WRONG_ELSEWHERE or found.status_code != 200:
        refused(found)
    check_served(client)


@pytest.mark.parametrize("name", HARD)
def test_a_hard_grammar_is_served_or_refused(name, client):
    found = post(client, {"messages": MESSAGES, "grammarlm": {**HARD[name], "close": False}, "max_tokens": 8})
    if found.status_code != 200:
        refused(found)
    check_served(client)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (None, "prompt is None; it takes a text, a list of ids"),
        ([], "prompt is []"),
        ([{"role": "user", "content": "a"}], "it takes a text, a list of ids"),
        (["a", [1]], "it takes a text, a list of ids"),
        ([True], "it takes a text, a list of ids"),
        ([10**9], "has the id 1000000000"),
        (["a"] * 65, "the number of answers to a request=65"),
    ],
    ids=["none", "empty", "messages", "mixed", "a flag", "no id", "many"],
)
def test_a_bad_prompt(prompt, message, client):
    refused(post(client, {"prompt": prompt}, "/v1/completions"), message)


def test_names_of_conversations_are_none_of_completions(client):
    refused(post(client, {"prompt": "a", "tools": []}, "/v1/completions"), "'tools' is not supported here")
    refused(post(client, {"prompt": "a", "echo": True}, "/v1/completions"), "echo is True, which is not supported")
    assert post(client, {"prompt": "a", "echo": False, "max_tokens": 3}, "/v1/completions").status_code == 200


QUANTITY = {"type": "object", "properties": {"quantity": {"type": "integer", "minimum": 1}}, "required": ["quantity"]}
BEGUN = '{"quantity": '


@pytest.mark.parametrize(
    ("begun", "text", "token", "reason"),
    [
        (BEGUN, "0", "'0'", "refused by /quantity: minimum 1"),
        (BEGUN, "7", "'7'", "allowed"),
        (BEGUN, "", "(end)", "the text may not end here"),
        ("", "", "(end)", "the text may not end here"),
        ("{", "}", "'}'", "refused by required: quantity"),
        (BEGUN + "7}", "", "(end)", "allowed"),
        (BEGUN, "7} and", "' and'", "is ' '; expected"),
    ],
)
def test_why_an_answer_does_not_go_on_so(begun, text, token, reason, client, tiny):
    tokens = tiny[1].encode(begun, add_special_tokens=False)
    body = {"messages": MESSAGES, "grammarlm": {"schema": QUANTITY}, "tokens": tokens, "text": text}
    found = post(client, body, "/why").json()
    assert found["token"] == token
    assert reason in found["reason"]


def test_why_of_any_text_and_of_what_cannot_be_asked(client):
    free = {"messages": MESSAGES, "tokens": [5], "text": "a"}
    assert post(client, free, "/why").json() == {"token": "'a'", "reason": "allowed"}
    digits = {**free, "grammarlm": {"regex": "[0-9]{3}"}}
    refused(post(client, digits, "/why"), "not the beginning of an answer")
    refused(post(client, {**digits, "tokens": [10**30]}, "/why"), "not the beginning of an answer")
    refused(post(client, {**free, "temprature": 1}, "/why"), "did you mean 'temperature'?")
    for wrong in ({"tokens": "5"}, {"tokens": [True]}, {"text": 5}, {"text": "a" * 201}, {"text": None}):
        refused(post(client, {**free, **wrong}, "/why"), "'tokens' (ids of its answer) and 'text'")
    refused(post(client, {**free, "text": "\ud800"}, "/why"))
    refused(post(client, free, "/why", Authorization=""), "API key", 401)
    check_served(client)


def test_who_may_ask(client):
    body = {"messages": MESSAGES}
    refused(post(client, body, Authorization="Bearer of another"), "API key", 401)
    refused(post(client, body, Authorization=""), "API key", 401)
    refused(post(client, body, **{"Content-Type": "text/plain"}), "content-type")
    assert post(client, body, Host="evil.example").status_code == 400
    assert client.get("/health").json() == {"status": "ok"}
    wrong = client.get("/v1/chat/completions")
    refused(wrong, "GET is not answered here; it takes POST", 405)
    assert wrong.headers["allow"] == "POST"
    refused(client.get("/v1/engines"), "there is no '/v1/engines'; there are /, /health, /v1/chat/completions", 404)
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "http" not in page.text.replace("http-equiv", "")
    check_served(client)


def test_a_large_body_is_not_read(tiny):
    starlette = pytest.importorskip("starlette.testclient")
    app = application(*tiny, name="tiny", bounds=Bounds(max_body=1000), hosts=("testserver",))
    with starlette.TestClient(app) as client:
        refused(post(client, {"messages": MESSAGES, "user": "x" * 2000}), "more than 1,000 bytes", 413)
        check_served(client)


def test_a_client_that_is_still_sending_reads_why(client):
    """The connection was reset before the refusal was read."""
    refused(post(client, {"messages": MESSAGES, "user": "x" * (10 << 20)}), "more than 4,194,304 bytes", 413)
    check_served(client)


def test_an_answer_without_a_number_has_the_positions_that_are_left(tiny):
    """A model with a table of positions refused each request that named no max_tokens, as most do."""
    transformers = pytest.importorskip("transformers")
    sizes = {"n_positions": 24, "n_embd": 8, "n_layer": 1, "n_head": 2, "bos_token_id": 0, "eos_token_id": 1}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=len(tiny[1]), **sizes)).eval()
    starlette = pytest.importorskip("starlette.testclient")
    with starlette.TestClient(application(model, tiny[1], name="tiny", hosts=("testserver",))) as client:
        body = {"prompt": [5] * 20, "grammarlm": {"regex": "[a-z]*"}}
        usage = post(client, body, "/v1/completions").json()["usage"]
        assert (usage["prompt_tokens"], 1 <= usage["completion_tokens"] <= 5) == (20, True)
        refused(post(client, {**body, "max_tokens": 9}, "/v1/completions"), "pass max_tokens=5")
        refused(
            post(client, {"prompt": [5] * 25}, "/v1/completions"),
            "the prompt has 25 tokens, and the model is made for 24",
        )
        long = {"prompt": [5] * 20, "grammarlm": {"regex": "(ab1){9}"}}
        refused(post(client, long, "/v1/completions"), "max_tokens=5 may not be enough")


def test_a_client_that_leaves_frees_its_row(client, tiny):
    """A forward after it has left nobody's texts are read."""
    free = {"messages": MESSAGES, "max_tokens": 400, "grammarlm": {"regex": "[a-z ]{380,}"}}
    forwards = []
    hook = tiny[0].register_forward_hook(lambda *_: forwards.append(1))
    try:
        with client.stream(
            "POST", "/v1/chat/completions", json={**free, "stream": True}, headers={"Authorization": f"Bearer {KEY}"}
        ) as found:
            next(found.iter_lines())
        leave_soon(client, free)
        settled(forwards)
    finally:
        hook.remove()
    check_served(client)
    assert live_of(tiny[0]).waiting == 0


def leave_soon(client, body):
    """A request whose client does not wait."""
    with httpx.Client(base_url=client.base_url, timeout=0.2) as hasty, pytest.raises(httpx.TimeoutException):
        post(hasty, body)


def test_more_requests_than_may_wait_are_refused(tiny):
    gate = threading.Event()

    def slow(ids):
        assert gate.wait(60)
        return tiny[0](ids).logits

    app = application(slow, tiny[1], name="tiny", bounds=Bounds(max_waiting=2), hosts=("testserver",))

    async def main():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
            body = {"prompt": "a", "max_tokens": 3}
            first = [asyncio.create_task(client.post("/v1/completions", json=body)) for _ in range(2)]
            await asyncio.sleep(0.1)
            error = refused(await client.post("/v1/completions", json=body), "2 requests wait already", 429)
            gate.set()
            assert [one.status_code for one in await asyncio.gather(*first)] == [200, 200]
            assert (await client.post("/v1/completions", json=body)).status_code == 200
            return error["type"]

    assert asyncio.run(main()) == "rate_limit_error"


def test_a_model_that_fails_is_not_the_clients_fault(tiny):
    def broken(ids):
        raise LookupError("a secret of this machine")

    app = application(broken, tiny[1], name="tiny", hosts=("testserver",))
    starlette = pytest.importorskip("starlette.testclient")
    with starlette.TestClient(app) as client:
        for is_streamed in (False, True):
            found = client.post("/v1/completions", json={"prompt": "a", "stream": is_streamed})
            assert "secret" not in refused(found, "the answer failed: LookupError", 500)["message"]
