"""Turns over the embedded tokenizer: tokens and bytes agree, and whatever the masks let through is read, complete and valid."""

import random

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.grammars.tools.read import read
from grammarlm.models.tiny import FOLDER
from tests.counts import tiers
from tests.grammars.tools.layouts import LAYOUTS
from tests.grammars.tools.turns import TOOLS, random_turn, tools_of
from tests.oracles.tool_turns import VALIDATOR

VOCAB = gl.Vocabulary.from_tokenizer(FOLDER)
MODES = [
    {},
    {"calls": "required", "parallel": False},
    {"reasoning": 30},
    {"answer": {"type": "array", "items": {"type": "integer"}}},
]
ROOM = 150  # tokens


@tiers("count", 1, 100)
@pytest.mark.parametrize("options", MODES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.form.name)
def test_random_walks_end_in_turns_that_are_read(layout, options, count, record_property):
    if options.get("reasoning") and layout.form.reasoning is None:
        pytest.skip("the format has no reasoning")
    chance = random.Random(f"{layout.form.name} {options}")
    tools = tools_of(layout, **options)
    constraint = gl.compile(tools, VOCAB).as_generated
    for _ in range(count):
        text = walked(constraint, chance)
        turn = read(tools, text)
        assert (turn.reasoning is not None) == ("reasoning" in options)
        assert turn.calls or options.get("calls") != "required"
        for call in turn.calls:
            assert VALIDATOR(TOOLS[call.name]).is_valid(call.json)
        if "answer" in options and not turn.calls:
            assert VALIDATOR(options["answer"]).is_valid(turn.value)
    record_property("cases", count)


def walked(constraint: gl.Constraint, chance: random.Random) -> str:
    """A text of random tokens; marks are likelier, so that there are calls."""
    matcher = constraint.matcher(max_tokens=ROOM)
    mask = gl.allocate_mask(1, VOCAB.size)
    tokens = []
    while not matcher.is_finished:
        forced = matcher.forced_tokens()
        matcher.fill_mask(mask)
        allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        token = forced[0] if forced else int(chance.choice(allowed))
        wanted = [t for t in allowed if VOCAB.token_bytes(int(t))[:1] in (b"<", b"[", b"{", b" ")]
        if not forced and wanted and chance.random() < 0.5:
            token = int(chance.choice(wanted))
        assert matcher.advance(token)
        if token not in VOCAB.stop_ids:
            tokens.append(token)
    assert len(tokens) <= ROOM
    return b"".join(map(VOCAB.token_bytes, tokens)).decode()


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.form.name)
def test_tokens_are_taken_as_their_bytes_are(layout):
    chance = random.Random(layout.form.name)
    constraint = gl.compile(tools_of(layout), VOCAB)
    for _ in range(10):
        text = random_turn(layout, chance, {}, False)
        cut = text[: chance.randrange(len(text) + 1)]
        by_bytes, by_tokens = constraint.matcher(), constraint.matcher()
        is_taken = by_bytes.advance_bytes(cut.encode())
        assert is_taken == all(map(by_tokens.advance, VOCAB.encode(cut)))
        assert not is_taken or by_bytes.is_accepting == by_tokens.is_accepting
