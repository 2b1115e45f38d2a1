"""trials(until=): where they end, by the bytes that the grammar lets come; most=1 is masked."""

import re

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.published.methods import stepped
from grammarlm.published.methods.boundaries import Boundaries

WORDS = [b"a", b"b", b".", b",", b"a.", b"b,", b".a", b'"', b":", b'":', b'":a', b"x", b"a,", b"b."]
STOP = len(WORDS)
VOCAB = gl.Vocabulary([*WORDS, b""], stop_ids=[STOP])
TABLE = torch.randn(STOP + 1, STOP + 1, generator=torch.Generator().manual_seed(2)) * 1.5


def model(ids):
    return TABLE[ids]


def generate(**options):
    return gl.generate(model, [0], **{"vocab": VOCAB, "max_tokens": 24, "method": "trials", **options})


def by_bytes(matcher, data, until):
    """Does one of these bytes have another that could have come instead? Asked byte by byte."""
    for at, byte in enumerate(data):
        others = 0
        for other in set(b"".join(WORDS)) - {byte}:
            fork = matcher.fork()
            others += fork.advance_bytes(data[:at] + bytes([other]))
        if byte in until and others:
            return True
    return False


def test_a_boundary_is_a_character_that_was_chosen():
    grammar = gl.Regex(r'"x":([ab]{1,3}[.,]){2}":a')
    constraint = gl.compile(grammar, VOCAB)
    rng, judged = np.random.default_rng(3), set()
    boundaries = Boundaries('.,:"', VOCAB)
    for _ in range(60):
        matcher = constraint.matcher()
        while not matcher.is_finished:
            mask = gl.allocate_mask(1, VOCAB.size)
            matcher.fill_mask(mask)
            allowed = np.unpackbits(mask[0].view(np.uint8), bitorder="little")[: STOP + 1].astype(bool)
            token = int(rng.choice(np.flatnonzero(allowed)))
            if token != STOP:
                # what comes after a token's end is not known to it: so only where some token shows another byte
                found, expected = boundaries(token, allowed), by_bytes(matcher, WORDS[token], b'.,:"')
                assert found <= expected
                judged.add((WORDS[token], found, expected))
            matcher.advance(token)
    assert (b".", True, True) in judged
    assert (b'"', False, False) in judged
    assert (b":", False, False) in judged


def test_trials_end_at_boundaries_alone(monkeypatch):
    """CNTP: each trial has no boundary before its last token; it has one there, or is over, or as long as it may be."""
    seen, kept = [], stepped.SteppedAnswer.continued

    def watched(self, continuations, depth, ends=None):
        starts = [(one.text, one) for one in continuations]
        best = kept(self, continuations, depth, ends)
        seen.extend((one.text.tokens(start.length), one.is_over, one.rests) for start, one in starts)
        return best

    monkeypatch.setattr(stepped.SteppedAnswer, "continued", watched)
    for seed in range(12):
        out = generate(regex=r"x:([ab]{1,3}[.,]){3}", until=".,", depth=9, temperature=1.0, seed=seed)
        assert re.fullmatch(r"x:([ab]{1,3}[.,]){3}", out.text)
    assert any(rests for _, _, rests in seen)
    for tokens, is_over, rests in seen:
        data = [WORDS[token] for token in tokens]
        assert not any(set(b".,") & set(each) for each in data[:-1])
        assert rests or is_over or len(tokens) == 9
        assert not rests or set(b".,") & set(data[-1])


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_one_trial_is_masked(temperature):
    """CNTP: most=1 is "masked" at every temperature."""
    given = {"regex": r"x:([ab]{1,3}[.,]){3}", "temperature": temperature}
    for seed in range(8):
        found = generate(most=1, until=".", seed=seed, n=2, **given)
        expected = generate(method="masked", seed=seed, n=2, **given)
        assert [out.tokens for out in found] == [out.tokens for out in expected]


@pytest.mark.parametrize(
    ("until", "kind", "message"),
    [("", ValueError, "until=''; it takes one or more ASCII"), ("é", ValueError, "until='é'"), (5, TypeError, "until takes the")],
)  # fmt: skip
def test_what_ends_no_trial_is_said(until, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        generate(regex="a+", until=until)
