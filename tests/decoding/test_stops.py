"""stop=: the answer ends before the stop string that is complete first, however the text falls into tokens."""

import itertools
import random
from typing import Any

import pytest

import grammarlm as gl
from tests.decoding.planted import Planted, noise

torch = pytest.importorskip("torch")

PIECES = [bytes([byte]) for byte in range(256)] + [
    b"\n\n",
    b"ab",
    b"bc",
    b"b\nc",
    b"\nQ",
    b"Q:",
    b"a\nQ:x",
    "é".encode(),
    b'"}',
    b"}\n",
]
VOCAB = gl.Vocabulary([*PIECES, b"</s>"], stop_ids=[len(PIECES)])
END, PROMPT = len(PIECES), [65]


def expected(text: bytes, stops: list[str]) -> tuple[bytes, str | None]:
    """By hand: the first byte after which some stop string is complete; of several the longest."""
    for end in range(len(text) + 1):
        fitting = [stop for stop in stops if text[:end].endswith(stop.encode())]
        if fitting:
            longest = max(fitting, key=lambda stop: len(stop.encode()))
            return text[: end - len(longest.encode())], longest
    return text, None


def spelled(text: bytes, rng: random.Random) -> list[int]:
    """A random spelling in tokens."""
    ids, at = [], 0
    while at < len(text):
        fitting = [number for number, piece in enumerate(PIECES) if text.startswith(piece, at)]
        ids.append(rng.choice(fitting))
        at += len(PIECES[ids[-1]])
    return ids


def answers(text: bytes, ids: list[int], **options: Any) -> gl.Result:
    model = Planted(noise(VOCAB.size), {tuple(PROMPT): [*ids, END]}, lift=200)
    out = gl.generate(model, PROMPT, vocab=VOCAB, **options)
    *events, last = gl.stream(model, PROMPT, vocab=VOCAB, **options)
    assert "".join(event.text for event in events if event.kind == "text") == last.result.text == out.text
    assert last.result.tokens == out.tokens
    return out


def test_every_text_is_cut_where_the_first_stop_is_complete() -> None:
    rng = random.Random(0)
    stops = ["\n", "\n\n", "\nQ:", "bc", "abcab", "é", "Q", "xyz"]
    met: set[str | None] = set()
    for _ in range(150):
        text = b"".join(
            rng.choice([b"a", b"b", b"c", b"\n", b"Q", b":", b"x", "é".encode()]) for _ in range(rng.randint(1, 12))
        )
        ids = spelled(text, rng)
        chosen = rng.sample(stops, rng.randint(1, 3))
        out = answers(text, ids, stop=chosen, draft=rng.choice([None, "copy"]))
        cut, by = expected(text, chosen)
        assert (out.text.encode(), out.stopped_by, out.finish_reason) == (cut, by, "stop")
        written = b"".join(PIECES[id] for id in out.tokens)
        assert out.tokens == ids[: len(out.tokens)]
        assert written.startswith(cut)
        assert not out.tokens or len(written) - len(PIECES[out.tokens[-1]]) < len(cut)
        assert (
            len(out.tokens)
            == len(out.logprobs)
            == len(out.model_logprobs)
            == len(out.stats.mass_removed)
            == out.stats.tokens
        )
        met.add(by)
    assert met >= {None, "\n", "\nQ:", "bc", "é", "Q"}


def test_all_spellings_of_one_text_are_cut_alike() -> None:
    text, stops = b"xa\nQ:x", ["\nQ:", "a\nQ:x"]
    for ids in itertools.islice(all_spellings(text), 60):
        out = answers(text, ids, stop=stops)
        assert (out.text, out.stopped_by) == ("xa", "\nQ:")


def all_spellings(text: bytes) -> Any:
    if not text:
        yield []
    for number, piece in enumerate(PIECES):
        if text.startswith(piece):
            yield from ([number, *rest] for rest in all_spellings(text[len(piece) :]))


def test_with_a_grammar_it_ends_only_where_the_grammar_may() -> None:
    text = b'{"a":"b\nc"}\n}'
    grammar = gl.Regex(r'\{"a":"[^"]*"\}(\n\})?')
    out = answers(text, spelled(text, random.Random(1)), grammar=grammar, stop=["\n", '"'])
    assert (out.text, out.stopped_by, out.finish_reason) == ('{"a":"b\nc"}', "\n", "stop")
    numbers = gl.Repeat(gl.Capture("n", gl.Regex("[0-9]+")), separator=gl.Regex(", ?"))
    out = answers(b"1, 2, 33", spelled(b"1, 2, 33", random.Random(2)), grammar=numbers, stop=", 3")
    assert out["n"] == ["1", "2"]
    assert out.stopped_by == ", 3"
    assert [part.span for part in out.parts] == [(0, 1), (3, 4)]


def test_forced_tokens_batches_and_samples() -> None:
    model, _tokenizer = gl.load_tiny()
    grammar = gl.Regex("(Ada|Tom): [0-9]{1,3}\n(END, the end of it)?")
    for forced in ("score", "off"):
        outs = gl.generate(
            model,
            ["Ada, 36.\n", "Tom, 41.\n"],
            grammar=grammar,
            stop="END",
            forced=forced,
            n=2,
            temperature=1.0,
            seed=3,
        )
        assert all(out.text.endswith("\n") and "END" not in out.text for out in outs)
        assert [out.stopped_by for out in outs].count("END") + [out.text[-1] for out in outs].count("\n") >= 4


@pytest.mark.parametrize(
    ("stop", "said"),
    [("", "stop has an empty text"), (["a", ""], "stop has an empty text"), (3, "stop is 3; it takes a text or a list"),
     ([2], "stop has 2; it takes texts"),
     (b"a", "stop is b'a'; it takes a text")],
)  # fmt: skip
def test_bad_input(stop: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        gl.generate(noise(VOCAB.size), PROMPT, vocab=VOCAB, stop=stop)
    with pytest.raises(ValueError, match="method='beam' takes no stop=: it chooses"):
        gl.generate(noise(VOCAB.size), PROMPT, vocab=VOCAB, stop="a", method="beam", grammar=gl.Regex("a+"))
