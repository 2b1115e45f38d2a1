"""Training: batches as a function of their number, losses that count what they should, runs that go on bit for bit."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from grammarlm.models.drafters import FeatureDrafter, Heads  # noqa: E402
from grammarlm.models.network import Network, Shape  # noqa: E402
from grammarlm.models.tiny import FOLDER, load_tokenizer  # noqa: E402
from tests.rounding import assert_logits  # noqa: E402
from training import batching, losses, recipes  # noqa: E402
from training.batching import BLOCK, batches, block_batches, encode, pad  # noqa: E402
from training.corpus import example  # noqa: E402
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


def test_batches_hold_each_example_once(tokenizer):
    made = block_batches(tokenizer, 0, 4096)
    texts = [text for batch in made for text in tokenizer.batch_decode(batch.ids, skip_special_tokens=True)]
    examples = (example("train", index) for index in range(BLOCK))
    assert sorted(texts) == sorted(one.prompt + one.answer for one in examples)
    assert all(batch.ids.numel() <= 4096 for batch in made)


def test_a_batch_says_what_is_answer_and_padding(tokenizer):
    batch = pad([encode(tokenizer, index) for index in range(8)], tokenizer.pad_token_id, seed=0)
    for row in range(8):
        one = example("train", row)
        answer = batch.ids[row][batch.answer[row]].tolist()
        assert answer[-1] == tokenizer.eos_token_id
        assert tokenizer.decode(answer[:-1]) == one.answer
        assert ((batch.ids[row] == tokenizer.pad_token_id) == batch.padding[row]).all()


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


def test_half_of_the_rows_are_masked_from_a_place_on(tokenizer):
    """Others here and there; a place is one of the answer, so that the next token of an answer is learned."""
    seen = []

    class Watched(Network):
        def states(self, ids):
            seen.append(ids)
            return super().states(ids)

    ends = heres = 0
    for seed in range(8):
        batch = replace(batch_of(tokenizer, 24), seed=seed)
        losses.diffusion(Watched(replace(SMALL, causal=False)), batch, tokenizer.mask_token_id)
        for ids, answer in zip(seen.pop(), batch.answer, strict=True):
            first = int(answer.int().argmax())
            masked = (ids == tokenizer.mask_token_id)[first:]
            is_end = bool(masked[-1]) and int(masked.sum()) == len(masked) - int(masked.int().argmax())
            ends, heres = ends + is_end, heres + (not is_end)
            if is_end:
                assert int(masked.int().argmax()) < answer.sum()
    assert ends > 70
    assert heres > 70


def test_what_looks_both_ways_answers_for_a_position_by_the_state_before_it():
    torch.manual_seed(0)
    both, plain = Network(replace(SMALL, causal=False)).double(), Network(SMALL).double()
    both.load_state_dict(plain.state_dict())
    ids = torch.randint(3, 2048, (2, 9))
    (layer,) = list(both.model.layers)[-1:]
    kept = []
    layer.register_forward_hook(lambda module, given, made: kept.append(made))
    logits = both(ids)
    assert_logits(logits[:, 1:], both.logits(kept[0][:, :-1]))
    assert_logits(logits[:, 0], logits[:, 1])


@needs_muon
def test_the_diffusion_model_begins_with_the_causal_ones_weights(tokenizer, tmp_path, monkeypatch):
    from training import train

    recipe = replace(recipes.RECIPES["diffusion"], batch_tokens=512, build=lambda: small("diffusion"))
    monkeypatch.setitem(recipes.RECIPES, "diffusion", recipe)
    trunk = Network(SMALL)
    model, _ = train.train("diffusion", tokenizer, tmp_path, 0, False, trunk)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), trunk.parameters(), strict=True))


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
