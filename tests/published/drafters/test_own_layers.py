"""The target's own layers as a draft model: without some of them, which are searched (SWIFT), or the first ones (DEL)."""

import pytest

import grammarlm as gl
from grammarlm.decoding.speculative.replay import Replay, best_length
from tests.decoding.speculative.draft_models import STOP, VOCAB, WIDTH
from tests.mask_bits import ids_of

torch = pytest.importorskip("torch")


def idle_layers(idle=range(2, 6)):
    """A Llama of six layers, of which these add nothing."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=WIDTH,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=6,
        num_attention_heads=4,
        bos_token_id=None,
        eos_token_id=STOP,
        pad_token_id=0,
    )
    model = LlamaForCausalLM(config).double().eval()
    with torch.no_grad():
        for at, layer in enumerate(model.model.layers):
            added = (layer.self_attn.o_proj, layer.mlp.down_proj)
            for each in added:
                each.weight.mul_(0.0 if at in idle else 10.0)  # the others decide
        model.lm_head.weight.copy_(torch.randn(WIDTH, 32))
    return model


def calls_of_layers(model, draft):
    """(calls of each layer, the answer); meanwhile nothing is read again, which would call all of them."""
    calls = [0] * 6
    draft.drafter.every = 10**9

    def note(at):
        calls[at] += 1

    hooks = [layer.register_forward_hook(lambda *_, at=at: note(at)) for at, layer in enumerate(model.model.layers)]
    out = gl.generate(model, [5, 6, 7], vocab=VOCAB, max_tokens=40, close=False, draft=draft)
    for hook in hooks:
        hook.remove()
    draft.drafter.__dict__.pop("every")
    return calls, out


LEFT_OUT = {
    "skip": (gl.Draft("skip"), [2, 4]),
    "skip, given": (gl.Draft("skip", layers=[1, 3]), [1, 3]),
    "exit": (gl.Draft("exit"), [3, 4, 5]),
    "exit, given": (gl.Draft("exit", layers=2), [2, 3, 4, 5]),
}


@pytest.mark.parametrize("way", LEFT_OUT)
def test_layers_of_its_own_are_a_draft_model(way):
    """SWIFT (skip) and early exits: layers that are left out work for the target alone, the others for the draft, too; where they
    add nothing all is right, and where they decide hardly anything."""
    draft, left_out = LEFT_OUT[way]
    for idle, is_right in ((left_out, True), ([at for at in range(6) if at not in left_out], False)):
        model = idle_layers(idle)
        plain = gl.generate(model, [5, 6, 7], vocab=VOCAB, max_tokens=40, close=False)
        calls, out = calls_of_layers(model, draft)
        assert out.tokens == plain.tokens
        assert [at for at in range(6) if calls[at] == out.stats.forwards] == left_out
        assert min(calls[at] for at in range(6) if at not in left_out) > 2 * out.stats.forwards
        assert (out.stats.accepted_tokens > 0.9 * out.stats.draft_tokens) == is_right
        assert (out.stats.accepted_tokens < 0.5 * out.stats.draft_tokens) != is_right


@pytest.mark.parametrize("last", [1, 2, 3])
def test_the_best_exit_is_found(last):
    """DEL: of models whose later layers add nothing the first exit that is right is found, and used from then on."""
    model, draft = idle_layers(range(last, 6)), gl.Draft("exit", layers="auto")
    for number in range(6):
        gl.generate(model, [5, 6, 7 + number], vocab=VOCAB, max_tokens=40, close=False, draft=draft)
    calls, out = calls_of_layers(model, draft)
    assert calls[last:] == [out.stats.forwards] * (6 - last)  # these work for the target alone
    assert min(calls[:last]) > 2 * out.stats.forwards


def test_another_exit_is_taken_once_it_is_as_good():
    """DEL: while only the third exit is right it drafts; when the layers after the first add nothing any more, that one does."""
    model, draft = idle_layers(range(3, 6)), gl.Draft("exit", layers="auto")
    for number in range(4):
        gl.generate(model, [5, 6, 7 + number], vocab=VOCAB, max_tokens=40, close=False, draft=draft)
    calls, out = calls_of_layers(model, draft)
    assert calls[2] > 1.5 * out.stats.forwards == 1.5 * calls[3]
    with torch.no_grad():
        for layer in model.model.layers[1:]:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
    for number in range(4):
        gl.generate(model, [5, 6, 7 + number], vocab=VOCAB, max_tokens=40, close=False, draft=draft)
    calls, out = calls_of_layers(model, draft)
    assert calls[1:] == [out.stats.forwards] * 5
    assert calls[0] > 2 * out.stats.forwards


@pytest.mark.parametrize("way", [{"layers": "auto"}, {"layers": "search"}])
def test_an_exit_drafts_as_far_as_pays(way):
    """DEL, SWIFT: long drafts where they are right, one token where they are not."""
    lengths = []
    for idle in (range(1, 6), ()):
        model, name = idle_layers(idle), "exit" if way["layers"] == "auto" else "skip"
        draft = gl.Draft(name, length=8, **way)
        for number in range(5):
            gl.generate(model, [5, 6, 7 + number], vocab=VOCAB, max_tokens=40, close=False, draft=draft)
        _, out = calls_of_layers(model, draft)
        lengths.append(out.stats.draft_tokens / out.stats.forwards)
    assert lengths[0] > 6
    assert lengths[1] < 2


@pytest.mark.parametrize(
    ("idle", "sampling"),
    [*((idle, {}) for idle in ((1, 3, 4), (2, 3), (1, 2, 3, 4), (4,))), ((1, 3, 4), {"temperature": 1.0, "seed": 3})],
)
def test_the_layers_that_add_nothing_are_found(idle, sampling):
    """SWIFT, PLANTED: every other layer is left out at first, which is right where these are idle; the search finds which are."""
    model, draft = idle_layers(idle), gl.Draft("skip", layers="search")
    options = {"vocab": VOCAB, "max_tokens": 60, "close": False, **sampling}
    rates = []
    for number in range(5):
        plain = gl.generate(model, [5, 6, 7 + number], **options)
        out = gl.generate(model, [5, 6, 7 + number], draft=draft, **options)
        assert out.tokens == plain.tokens
        rates.append(out.stats.accepted_tokens / max(1, out.stats.draft_tokens))
    calls, out = calls_of_layers(model, draft)
    assert [at for at in range(6) if calls[at] == out.stats.forwards] == list(idle)
    assert out.stats.accepted_tokens > 0.9 * out.stats.draft_tokens
    assert rates[0] < rates[-1] or {2, 4} <= set(idle)


WORDS = gl.Regex("([a-d]xyzw){12}")  # one choice in five


def test_every_choice_is_replayed_and_nothing_that_was_forced(monkeypatch):
    """DEL, SWIFT: rates are of places where the grammar left several tokens; there all is that a stock forward says."""
    model, seen = idle_layers(range(3, 6)), []

    def text(self, row, kept=Replay.text):
        ids, places = kept(self, row)
        seen.append((row, ids, places))
        return ids, places

    monkeypatch.setattr(Replay, "text", text)
    draft = gl.Draft("exit", layers="auto")
    options = {"vocab": VOCAB, "grammar": WORDS, "max_tokens": 70}
    for number in range(4):
        gl.generate(model, [5, 6, 7 + number], draft=draft, **options)
    constraint, mask, forced = gl.compile(WORDS, VOCAB), gl.allocate_mask(1, VOCAB.size), 0
    for _, ids, places in seen:
        matcher, known = constraint.matcher(max_tokens=70), set(places)
        assert len(known) >= 8
        for place in range(2, len(ids) - 1):
            matcher.fill_mask(mask)
            is_forced = len(ids_of(mask[0])) == 1
            assert not is_forced or place not in known
            forced += is_forced
            assert matcher.advance(ids[place + 1])
    assert forced > 10


def test_how_far_it_pays_to_draft():
    """The most tokens for their time, against all lengths tried."""
    for rate in (0.0, 0.3, 0.8, 0.95, 1.0):
        for share in (0.05, 0.3, 0.9):
            gains = [sum(rate**k for k in range(n + 1)) / (1 + n * share) for n in range(1, 13)]
            assert best_length(rate, share, 12) == (pytest.approx(max(gains)), 1 + gains.index(max(gains)))
