"""The network of the embedded models against transformers' Llama, and what looks where."""

import pytest

torch = pytest.importorskip("torch")

from grammarlm.models.network import Network, Shape  # noqa: E402
from grammarlm.models.tiny import FOLDER, load_tokenizer, widened  # noqa: E402
from tests.rounding import assert_logits  # noqa: E402
from training.export import as_llama, halved, in_steps  # noqa: E402

SMALL = Shape(vocabulary=50, hidden=64, layers=3)


def network(shape=SMALL):
    torch.manual_seed(1)
    made = Network(shape)
    for name, parameter in made.named_parameters():
        torch.nn.init.normal_(parameter, 1.0 if "norm" in name else 0.0, 0.3)
    return made.double().eval()


def ids(rows=2, width=20, seed=0):
    return torch.randint(0, 50, (rows, width), generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def test_it_is_llama():
    ours, asked = network(), ids()
    theirs = as_llama(ours, load_tokenizer(FOLDER)).double()
    output = theirs(asked, output_hidden_states=True)
    assert_logits(ours(asked), output.logits)
    assert_logits(ours.last_states(asked), output.hidden_states[-1])
    for mine, other in zip(ours.states(asked)[:-1], output.hidden_states[1:-1], strict=True):
        assert_logits(mine, other)


@torch.no_grad()
@pytest.mark.parametrize("causal", [True, False])
def test_only_a_causal_one_is_blind_to_what_follows(causal):
    made, asked = network(Shape(50, 64, 2, causal=causal)), ids()
    changed = asked.clone()
    changed[:, 12] = (changed[:, 12] + 1) % 50
    before = (made(asked)[:, :12] - made(changed)[:, :12]).abs().max()
    assert (before == 0) == causal


def test_whole_numbers_are_half_a_step_off_at_most():
    """And half of the error of a step in float16 for each of up to 127 of them; the other weights are those of float16."""
    state = {"wide": torch.randn(5, 300), "none": torch.zeros(2, 3), "norm": torch.randn(300)}
    state["wide"][3] *= 1e-3  # a row has a step of its own
    back = widened(in_steps(state))
    assert back.keys() == state.keys()
    most = state["wide"].abs().amax(1, keepdim=True)
    assert ((back["wide"] - state["wide"]).abs() <= most * (0.5 / 127 + 2**-10)).all()
    assert torch.equal(back["none"], state["none"])
    assert torch.equal(back["norm"], widened(halved(state))["norm"])
