"""The page at / in a real browser: what a user does there, on a desk and on a phone."""

import json
import threading
import time

import pytest

from tests.integrations.server.browser import browsing, needs_driver
from tests.integrations.server.conftest import KEY, settled

pytestmark = needs_driver
SCHEMA = {"type": "object", "properties": {"quantity": {"type": "integer", "minimum": 1}, "name": {"enum": ["lamps", "x" * 90]}},
          "required": ["quantity", "name"], "additionalProperties": False}  # fmt: skip
ANSWERED = "!document.querySelector('#send').disabled && document.querySelectorAll('.token.end').length"
WIDE = """[...document.querySelectorAll('body *')].filter(one => one.getBoundingClientRect().right > innerWidth + 0.5
 || one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display === 'block' && one.clientWidth)
 .map(one => one.outerHTML.slice(0, 99))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with browsing(tmp_path_factory.mktemp("browser")) as made:
        yield made


@pytest.fixture(params=[1280, 420])
def page(request, browser, served):
    """The page, with the key given. After each test: nothing runs off the screen, no script failed, nobody else was asked."""
    browser.open(served, request.param)
    browser.wait("!document.querySelector('#key_label').hidden")
    assert all(message.endswith("401 (Unauthorized)") for message in browser.complaints())
    browser.write("#key", KEY)
    browser.click("h1")
    browser.wait("document.querySelector('#model').innerText === 'tiny'")
    yield browser
    assert browser.run("[innerWidth, document.documentElement.scrollWidth]") == [request.param, request.param]
    assert browser.run(WIDE) == []
    assert browser.complaints() == []
    asked = [url for url in browser.asked_for() if url.startswith(("http", "ws"))]  # not the browser's own pages
    assert f"{served}/v1/models" in asked
    assert [url for url in asked if not url.startswith(f"{served}/")] == []


def send(page, message=None):
    if message is not None:
        page.write("#message", message)
    page.click("#send")
    page.wait(ANSWERED)
    assert page.text("#error") == ""


def pick(page, text):
    """The first token that contains this, or the end."""
    chips = page.run("[...document.querySelectorAll('.token')].map(one => one.innerText)")
    at = next(at for at, chip in enumerate(chips) if text in chip)
    page.click(f".token:nth-child({at + 1})")


def why_not(page, text):
    page.write("#instead", text)
    page.click("#why button")
    return page.wait("document.querySelector('#reason').innerText")


def test_an_answer_of_a_schema(page):
    page.write("#description", json.dumps(SCHEMA))
    send(page, "Seven steel lamps.")
    answer = json.loads(page.run("document.querySelector('#talk > .assistant').lastChild.innerText"))
    assert answer["quantity"] >= 1
    assert answer["name"] in SCHEMA["properties"]["name"]["enum"]
    tokens = page.run("[...document.querySelectorAll('.token:not(.end)')].map(one => one.innerText)")
    assert json.loads("".join(tokens).replace("␣", " ")) == answer
    pick(page, "{")
    assert page.text("#about").startswith('"{')
    assert "% with the form" in page.text("#about")
    assert page.run("document.querySelectorAll('#others tr').length") >= 1


def test_why_not_this_token(page):
    page.write("#description", json.dumps(SCHEMA))
    send(page, "Seven steel lamps.")
    digit = page.run("document.querySelector('#talk > .assistant').lastChild.innerText.match(/[0-9]/)[0]")
    pick(page, digit)
    assert why_not(page, "0").startswith("'0' is refused by /quantity: minimum 1\n")
    assert why_not(page, digit) == f"'{digit}' is allowed here"
    assert why_not(page, "").startswith("the end is refused")
    pick(page, "end")
    assert why_not(page, "") == "the end is allowed here"
    assert why_not(page, "and").startswith("'and' is refused\n")


def test_a_conversation_with_tools(page):
    page.choose("#kind", "tools")
    send(page)
    assert page.text("#talk > .assistant code").startswith("set_timer({")
    page.write("#talk input", "it rings")
    page.choose("#kind", "")
    page.write("#most", "12")
    send(page, "")
    assert page.run("[...document.querySelectorAll('#talk > div')].map(one => one.className)") == [
        "user",
        *["assistant"] * 2,
    ]
    assert page.run("document.querySelector('#talk input').readOnly")
    page.click("#clear")
    assert page.run("document.querySelectorAll('#talk > div, .token').length") == 0


def test_a_result_goes_into_the_conversation(page):
    """Its model answers as it would after these messages."""
    page.choose("#kind", "tools")
    send(page)
    page.write("#talk input", "it rings")
    pick(page, "end")
    page.run(
        "void (window.sent = [], window.fetch = (real => (url, given) => (sent.push(given?.body), real(url, given)))(fetch))"
    )
    send(page, "Thanks.")
    [sent] = page.run("sent")
    roles = [message["role"] for message in json.loads(sent)["messages"]]
    assert roles == ["user", "assistant", "tool", "user"]
    assert json.loads(sent)["messages"][2]["content"] == "it rings"


def test_an_answer_that_is_stopped(page, tiny):
    forwards = []

    def slow(*_):
        forwards.append(1)
        time.sleep(0.05)

    hook = tiny[0].register_forward_hook(slow)
    try:
        page.choose("#kind", "regex")
        page.write("#description", "[a-z ]{380,}")
        page.write("#most", "400")
        page.click("#send")
        page.wait("document.querySelectorAll('.token').length > 3")
        page.click("#stop")
        page.wait(ANSWERED)
        settled(forwards)
    finally:
        hook.remove()
    assert len(forwards) < 300
    assert page.text("#error") == ""
    assert page.text("#talk > .assistant").endswith("stopped")
    page.choose("#kind", "choices")
    send(page, "Go on.")
    assert page.run("document.querySelectorAll('#talk > .assistant').length") == 2


def test_an_answer_that_is_stopped_before_it_begins(page, tiny):
    """It is as if it had not been asked for."""
    gate = threading.Event()

    def held(*_):
        assert gate.wait(60)

    hook = tiny[0].register_forward_pre_hook(held)
    try:
        page.write("#message", "Seven steel lamps.")
        page.click("#send")
        page.wait("!document.querySelector('#stop').disabled")
        page.click("#stop")
        page.wait("!document.querySelector('#send').disabled")
    finally:
        gate.set()
        hook.remove()
    assert page.run("document.querySelector('#message').value") == "Seven steel lamps."
    assert page.run("document.querySelectorAll('#talk > div, .token').length") == 0
    send(page)
    assert page.run("[...document.querySelectorAll('#talk > div')].map(one => one.className)") == ["user", "assistant"]


@pytest.mark.parametrize(
    ("kind", "description", "error"),
    [
        ("tools", "[", "Tools, a JSON list: "),
        ("choices", "", "Choices, a JSON list: "),
        ("regex", "(", "regex"),
        ("schema", '{"type": "cat"}', "cat"),
    ],
)
def test_what_is_wrong_is_told(kind, description, error, page):
    page.choose("#kind", kind)
    page.write("#description", description)
    page.write("#message", "Hello.")
    page.click("#send")
    assert error in page.wait("document.querySelector('#error').innerText")
    assert page.run("document.querySelector('#message').value") == "Hello."
    assert page.run("document.querySelectorAll('#talk > div').length") == 0
    failed = [message for message in page.complaints() if "400 (Bad Request)" not in message]
    assert failed == []
