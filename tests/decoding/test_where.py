"""where=: draws from what a predicate accepts of what the grammar allows, exactly; and what happens where it accepts nothing."""

import math
from collections import Counter

import pytest

import grammarlm as gl
from tests.rounding import LOG_P

torch = pytest.importorskip("torch")

TOKENS = [b"a", b"b", b"ab", b"ba", b"c", b"\xc3", b"\xa9", b""]
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[7])
TABLE = torch.randn(8, 8, generator=torch.Generator().manual_seed(1))


def model(ids):
    return TABLE[ids]


def law(accepts, regex, temperature, longest):
    """(text, probability): at each step the softmax of what both accept, worked out from all texts of the language."""

    def grow(path, text):
        allowed = [t for t in range(5) if regex(text + TOKENS[t].decode()) and accepts(text + TOKENS[t].decode())]
        stops = (regex(text) == "end" or len(path) - 1 == longest) and accepts(text)
        allowed = [] if len(path) - 1 == longest else allowed
        can = allowed + ([7] if stops else [])
        p = torch.softmax(TABLE[path[-1]].double()[can] / temperature, 0)
        for token, share in zip(can, p.tolist(), strict=True):
            if token == 7:
                yield text, share
            else:
                for whole, further in grow((*path, token), text + TOKENS[token].decode()):
                    yield whole, share * further

    found = Counter()
    for text, share in grow((4,), ""):
        found[text] += share
    return found


def test_the_law_of_what_is_accepted():
    """Texts of [abc]{0,3}, with no "bb" and an "a" first, so that the empty one is none of them."""

    def regex(text):
        return "end" if len(text) <= 3 else ""

    def accepts(text):
        return "bb" not in text and text.startswith("a")

    expected = law(accepts, regex, 0.8, longest=9)
    assert math.isclose(sum(expected.values()), 1)
    draws = 3000
    outs = gl.generate(
        model, [4], vocab=VOCAB, regex="[abc]{0,3}", where=accepts, temperature=0.8, seed=1, n=draws, batch_size=draws
    )
    counts = Counter(out.text for out in outs)
    assert set(counts) <= set(expected)
    likely = {text: p for text, p in expected.items() if p * draws > 5}
    chi_square = sum((counts[text] - draws * p) ** 2 / (draws * p) for text, p in likely.items())
    assert chi_square < len(likely) + 4 * math.sqrt(2 * len(likely))
    assert all(out.value == out.text and out.finish_reason == "stop" for out in outs)


def test_figures_are_those_of_the_grammar():
    """The log-probability of a token is that in what the grammar allows, whatever the predicate refuses."""
    out = gl.generate(
        model, [4], vocab=VOCAB, regex="[abc]{3}", where=lambda text: "c" not in text, temperature=0.5, seed=2
    )
    last, left = 4, 3
    for token, logprob in zip(out.tokens, out.logprobs, strict=True):
        can = [t for t in range(5) if len(TOKENS[t]) <= left]
        assert math.isclose(
            logprob, float(torch.log_softmax(TABLE[last][can] / 0.5, 0)[can.index(token)]), abs_tol=LOG_P
        )
        last, left = token, left - len(TOKENS[token])


def test_it_sees_whole_characters():
    seen = []
    gl.generate(
        model, [4], vocab=VOCAB, regex="(é|a){6}", where=lambda text: seen.append(text) or True, temperature=2.0, seed=4
    )
    assert any("é" in text for text in seen)
    assert all(set(text) <= {"é", "a"} for text in seen)
    assert "" not in seen


@pytest.mark.parametrize("forced", ["score", "off"])
def test_forced_tokens_are_asked_about_too(forced):
    seen = []
    out = gl.generate(
        model, [4], vocab=VOCAB, regex="cc[ab]cc", where=lambda text: seen.append(text) or True, forced=forced
    )
    assert [text for text in seen if out.text.startswith(text)] == [out.text[:n] for n in range(1, 6)]
