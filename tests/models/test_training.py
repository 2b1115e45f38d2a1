"""Training: batches as a function of their number, losses that count what they should, runs that go on bit for bit."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from grammarlm.models.drafters import FeatureDrafter, Heads  # noqa: E402
from grammarlm.models.network import Network, Shape  # noqa: E402
from grammarlm.models.tiny import FOLDER, load_tokenizer  # noqa: E402
from tests.rounding import assert_logits  # noqa: E402
from training import batching, losses, recipes  # noqa: E402
from training.batching import batches, encode, pad  # noqa: E402
from training.recipes import Recipe  # noqa: E402

SMALL = Shape(2048, hidden=32, layers=2)
needs_muon = pytest.mark.skipif(
    not hasattr(torch.optim, "Muon"), reason="training needs torch 2.9 for its Muon optimizer"
)


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer(FOLDER)


def first(iterator, count):
    return [next(iterator) for _ in range(count)]


def test_a_resumed_run_sees_the_same_batches(tokenizer, monkeypatch):
    monkeypatch.setattr(batching, "BLOCK", 64)
    whole = first(batches(tokenizer, 0, 0, 1024), 12)
    block, number, _ = whole[6]
    rest = first(batches(tokenizer, block, number + 1, 1024), 5)
    assert whole[11][0] > 0  # beyond the first block
    for (*place, one), (*its_place, other) in zip(whole[7:], rest, strict=True):
        assert (place, one.seed) == (its_place, other.seed)
        assert torch.equal(one.ids, other.ids)
        assert torch.equal(one.answer, other.answer)


def batch_of(tokenizer, rows=6):
    return pad([encode(tokenizer, index) for index in range(rows)], tokenizer.pad_token_id, seed=3)


def loss_of(name, model, batch, tokenizer):
    trunk = Network(SMALL) if recipes.RECIPES[name].needs_trunk else None
    torch.manual_seed(0)
    return recipes.loss_of(name, tokenizer.mask_token_id, trunk)(model, batch)


def small(name):
    torch.manual_seed(0)
    return {
        "causal": lambda: Network(SMALL),
        "draft": lambda: Network(replace(SMALL, layers=1)),
        "heads": lambda: Heads(SMALL),
        "features": lambda: FeatureDrafter(SMALL),
        "diffusion": lambda: Network(replace(SMALL, causal=False)),
    }[name]()


@pytest.mark.parametrize("name", recipes.RECIPES)
def test_every_parameter_learns(tokenizer, name):
    model = small(name)
    if name == "heads":
        for layer in model.second:
            torch.nn.init.normal_(layer.weight, std=0.1)
    loss_of(name, model, batch_of(tokenizer), tokenizer)[0].backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in model.parameters())


@pytest.mark.parametrize("name", ["causal", "draft", "heads", "features"])
def test_padding_does_not_change_a_loss(tokenizer, name, monkeypatch):
    """The diffusion model learns padding; for the others it is nothing."""
    monkeypatch.setattr(losses, "chance", lambda batch: torch.zeros(batch.answer[:, 1:].shape))
    batch, model = batch_of(tokenizer), small(name).double()
    torch.manual_seed(0)
    trunk = Network(SMALL).double()
    loss = recipes.loss_of(name, tokenizer.mask_token_id, trunk if recipes.RECIPES[name].needs_trunk else None)
    assert_logits(loss(model, batch)[0], loss(model, losses.widened(batch, 9))[0])


def test_a_diffusion_loss_sees_no_masked_token(tokenizer):
    """Whatever stands at a masked place, the network gets the mask there; prompts are never masked."""
    seen = []

    class Watched(Network):
        def states(self, ids):
            seen.append(ids)
            return super().states(ids)

    batch = batch_of(tokenizer)
    losses.diffusion(Watched(replace(SMALL, causal=False)), batch, tokenizer.mask_token_id)
    (ids,) = seen
    masked = ids == tokenizer.mask_token_id
    width = batch.ids.shape[1]
    assert masked.any()
    assert not (masked[:, :width] & ~batch.answer & ~batch.padding).any()
    assert (ids[:, :width] == batch.ids)[~masked[:, :width]].all()


@needs_muon
@pytest.mark.parametrize("name", recipes.RECIPES)
def test_a_resumed_run_ends_where_an_unbroken_one_does(tokenizer, tmp_path, monkeypatch, name):
    from training import train

    recipe = recipes.RECIPES[name]
    monkeypatch.setitem(recipes.RECIPES, name, Recipe(4, 512, lambda: small(name), recipe.loss, recipe.needs_trunk))
    monkeypatch.setattr(train, "CHECKPOINT_EVERY", 2)
    monkeypatch.setattr(batching, "BLOCK", 16)
    torch.manual_seed(0)
    trunk = Network(SMALL) if recipe.needs_trunk else None

    def run(folder, steps, resume):
        return train.train(name, tokenizer, tmp_path / folder, steps, resume, trunk)

    whole, facts = run("whole", 4, resume=False)
    monkeypatch.setattr(train, "rate", lambda step, steps, rate=train.rate: rate(step, 4))
    run("broken", 2, resume=False)
    resumed, again = run("broken", 4, resume=True)
    assert (again.tokens, again.block, again.number) == (facts.tokens, facts.block, facts.number)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), resumed.parameters(), strict=True))
