"""Decoding in sight: the probabilities that are told are the model's own, and those after the mask."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.generate import start
from grammarlm.decoding.loop.step_reports import step_reports
from grammarlm.kernels.reference.apply_mask import mask_bits
from tests.rounding import LOG_P, P

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("forced", ["score", "off"])
@pytest.mark.parametrize(
    "grammar",
    [
        gl.Regex("(abcd|[0-9]{3}) the (cat|hat)é"),
        gl.JsonSchema(
            {
                "type": "object",
                "properties": {"cat": {"enum": ["aé", 12]}},
                "required": ["cat"],
                "additionalProperties": False,
            },
            whitespace="natural",
            spelling="plain",
        ),
    ],
    ids=["regex", "schema"],
)
def test_what_is_told_of_each_token(model, tokenizer, grammar, forced) -> None:
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    decoding = start(
        model, "the", tokenizer=tokenizer, grammar=grammar, temperature=1.5, seed=1, forced=forced, max_tokens=40
    )
    steps = list(step_reports(decoding, grammar))
    result = decoding.result()
    assert b"".join(step.data for step in steps).decode() == result.text
    assert [step.chosen.token for step in steps] == result.tokens
    assert [step.mass_removed for step in steps] == result.stats.mass_removed
    assert any(step.forbidden for step in steps)
    ids, matcher, mask = (
        tokenizer("the")["input_ids"],
        gl.compile(grammar, vocab).matcher(max_tokens=40),
        gl.allocate_mask(1, vocab.size),
    )
    for step in steps:
        with torch.no_grad():
            own = model(torch.tensor([ids])).logits[0, -1].double().softmax(0).numpy()
        matcher.fill_mask(mask)
        allowed = mask_bits(mask, len(own))[0]
        assert step.allowed == allowed.sum()
        after = np.where(allowed, own, 0) / own[allowed].sum()
        for one in (step.chosen, *step.others, *step.forbidden):
            assert one.before == pytest.approx(own[one.token], abs=P)
            assert one.after == pytest.approx(after[one.token], rel=LOG_P, abs=P)
        assert all(allowed[one.token] for one in step.others)
        assert not any(allowed[one.token] for one in step.forbidden)
        for told, p in ((step.others, after), (step.forbidden, np.where(allowed, 0, own))):
            assert [one.token for one in told] == [
                t for t in np.argsort(-p) if p[t] >= 0.0005 and t != step.chosen.token
            ][:8]
        assert matcher.advance(step.chosen.token)
        ids.append(step.chosen.token)
    paths = {step.path for step in steps}
    assert paths == ({None} if isinstance(grammar, gl.Regex) else {(), ("cat",)}), result.text
