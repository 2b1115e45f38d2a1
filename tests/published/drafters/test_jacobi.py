"""The Jacobi family: guesses for several places at once, by the model's own logits of the round before."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.published.drafters.jacobi import Jacobi
from grammarlm.published.drafters.pool import Pool
from grammarlm.published.drafters.strided import Strided
from tests.decoding.speculative.draft_models import (
    GRAMMARS,
    STOP,
    VOCAB,
    WIDTH,
    HashModel,
    prompts,
    transformers_model,
)

torch = pytest.importorskip("torch")

DRAWS = ({}, {"temperature": 1.0, "seed": 5})


def forwards(model, draft, **options):
    """Forwards a token, for four models' answers; each must be the one without a draft."""
    plain = gl.generate(model, [5, 6, 7], vocab=VOCAB, forced="off", **options)
    out = gl.generate(model, [5, 6, 7], vocab=VOCAB, forced="off", draft=draft, **options)
    assert out.tokens == plain.tokens
    assert out.stats.forwards <= len(out.tokens) + 1  # iterations are never more than tokens, the stop id counted
    return out.stats.forwards


def pooled(pool):
    return gl.Draft([pool, "jacobi"], length=8)


class Drawn(Pool):
    """Remembers only what was drawn."""

    def observe(self, row, tree, before, logits):
        self._growths.pop(row, None)

    def learn(self, row, tokens):
        for first, second, third in zip(row.ids, row.ids[1:], row.ids[2:], strict=False):
            self._note(first, second, third)


@pytest.mark.parametrize("letters", ["[a-h]{60}", "[a-m]{60}", "[a-z]{80}"])
def test_what_was_refused_is_of_use_elsewhere(letters):
    """Jacobi Forcing: with the pool of refused trajectories fewer iterations than without, than with the pool alone, and than with
    what was drawn only."""
    counts = dict.fromkeys(("jacobi", "pool", "both", "drawn"), 0)
    for seed in range(4):
        model = HashModel(seed, 2)
        drafts = {
            "jacobi": gl.Draft("jacobi", length=8),
            "pool": gl.Draft("pool", length=8),
            "both": pooled(Pool()),
            "drawn": pooled(Drawn()),
        }
        for name, draft in drafts.items():
            counts[name] += forwards(model, draft, regex=letters, max_tokens=100)
    assert counts["both"] < min(counts["jacobi"], counts["pool"], counts["drawn"])


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("tree", ["chain", "fixed"])
def test_iterations_are_at_most_tokens(tree, grammar):
    """And the answers are those without, at any temperature."""
    for sampling in DRAWS:
        draft = gl.Draft(["pool", "jacobi"], tree=tree)
        forwards(HashModel(5, 3), draft, grammar=GRAMMARS[grammar], max_tokens=40, **sampling)


def test_guesses_are_masked_anew_where_their_context_changes():
    """SJD: q of a place is what its context allows now, though its logits are those of another one."""
    seen = []

    class Watching(Jacobi):
        def after(self, asked, width):
            found = super().after(asked, width)
            for (growth, node), candidates in zip(asked, found, strict=True):
                if candidates.row is not None:
                    seen.append(
                        (growth.row, growth.tree.tokens_to(node), set(np.flatnonzero(np.isfinite(candidates.row))))
                    )
            return found

    grammar = gl.Regex("(ab|ba|ca){30}")
    checked, kept = 0, Watching.after

    def after(self, asked, width):
        nonlocal checked
        found = kept(self, asked, width)
        for (growth, node), candidates in zip(asked, found, strict=True):
            matcher, mask = growth.row.spec.constraint.matcher(), gl.allocate_mask(1, VOCAB.size)
            for token in [*growth.ids[len(growth.row.spec.prompt) :], *growth.tree.tokens_to(node)]:
                assert matcher.advance(token)
            matcher.fill_mask(mask)
            allowed = {token for token in range(WIDTH) if mask[0, token >> 5] >> (token & 31) & 1 and token != STOP}
            own = set() if candidates.row is None else set(np.flatnonzero(np.isfinite(candidates.row)).tolist())
            assert own == allowed
            checked += 1
        return found

    Watching.after = after
    draft = gl.Draft(Watching(), acceptance="ratio", length=6)
    out = gl.generate(
        HashModel(5, 3), [5], vocab=VOCAB, grammar=grammar, temperature=1.0, seed=2, draft=draft, close=False
    )
    assert out.stats.accepted_tokens
    assert checked > 50
    contexts = {}
    for row, said, allowed in seen:
        contexts.setdefault((id(row), len(said)), set()).add(frozenset(allowed))
    assert any(len(masks) > 1 for masks in contexts.values())  # one place, several contexts


# ------------------------------------------------------------------ one model in both roles

MASK = 1


@pytest.mark.parametrize("stride", [1, 2, 3, 5])
def test_a_stride_is_verified_while_the_next_is_proposed(stride):
    """I-DLM, PLANTED: a model that knows what comes behind masks writes nearly a stride a forward; with 1 it is autoregressive."""
    text = np.random.default_rng(1).permutation(np.arange(130, 257))[:60].tolist()
    seen = []

    def model(ids):
        """Each token by its place, masks or not; after a mask only where what is before it is the text."""
        seen.append(ids.tolist())
        logits = torch.zeros(*ids.shape, WIDTH)
        for row, said in enumerate(ids.tolist()):
            for at in range(2, len(said)):
                place = at - 2
                if place < len(text) and all(one in (other, MASK) for one, other in zip(said[3:], text, strict=False)):
                    logits[row, at, text[place]] = 9.0
        return logits

    out = gl.generate(model, [5, 6, 7], vocab=VOCAB, max_tokens=60, close=False, draft=gl.Draft(Strided(MASK, stride)))
    assert out.tokens == text
    assert MASK not in out.tokens
    assert abs(len(text) / out.stats.forwards - stride) <= 0.1 * stride
    if stride == 1:
        assert not any(MASK in row for ids in seen for row in ids)


@pytest.mark.parametrize("kind", ["Llama", "Mistral", "Mamba"])
def test_strides_change_no_answer(kind):
    model = transformers_model(kind)
    for sampling in DRAWS:
        for grammar in (None, GRAMMARS["regex"], GRAMMARS["schema"]):
            options = {"vocab": VOCAB, "max_tokens": 24, "grammar": grammar, **sampling}
            plain = gl.generate(model, prompts(3, 1), **options)
            for stride in (2, 4):
                drafted = gl.generate(model, prompts(3, 1), draft=gl.Draft(Strided(MASK, stride)), **options)
                assert [out.tokens for out in drafted] == [out.tokens for out in plain], stride
