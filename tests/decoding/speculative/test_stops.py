"""How far paths of a draft go: as far as the draft is sure, or as a trained head says (SpecDec++), in every tree."""

import pytest

import grammarlm as gl
from grammarlm.decoding.speculative.drafters.drafter import Drafter
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.published.acceptance.big_little import BigLittle
from grammarlm.published.acceptance.confident import Confident
from grammarlm.published.drafters.cascade import Cascade
from grammarlm.published.schedules.parallel import Parallel
from tests.decoding.speculative.draft_models import (
    GRAMMARS,
    VOCAB,
    Agreeing,
    HashModel,
    Sure,
    is_odd,
    transformers_model,
)
from tests.mask_bits import ids_of
from tests.rounding import assert_logits

torch = pytest.importorskip("torch")


PATHS = {
    **{tree: (lambda p, tree=tree: (Sure(p), {"tree": tree})) for tree in gl.Draft.TREES},
    "cascade": lambda p: (Cascade(ModelDrafter(Sure(p)), Sure(p), ahead=2), {}),
    "three tiers": lambda p: (Cascade(Cascade(ModelDrafter(Sure(0.5)), Sure(p)), Sure(p)), {}),
    "a tree of one's own": lambda p: (Sure(p), {"tree": [(0,) * depth for depth in range(1, 21)]}),
    "ahead": lambda p: (Sure(p), {"schedule": Parallel(ahead=9)}),
}


def longest_path(way, p, **options):
    """The longest path that is drafted."""
    drafter, own = PATHS[way](p)
    trees, model = [], HashModel(1, 2)
    kept = drafter if isinstance(drafter, Drafter) else ModelDrafter(drafter)
    kept.drawn = lambda row, tree, nodes: (trees.append(tree), type(kept).drawn(kept, row, tree, nodes))[1]
    gl.generate(
        model, [5, 6], vocab=VOCAB, max_tokens=40, close=False, draft=gl.Draft(kept, length=20, **own, **options)
    )
    return max(max((len(tree.path(leaf)) for leaf in tree.leaves), default=0) for tree in trees)


@pytest.mark.parametrize("way", PATHS)
def test_paths_stop_and_are_sure_however_they_are_drafted(way):
    """A path ends with the token below which the draft gives all of it less than 1 - h; with a threshold, before an unsure one."""
    assert longest_path(way, 0.9, stop=0.5) == 7  # 0.9 ** 6 is the last above one half
    assert longest_path(way, 0.6, stop=0.5) == 2
    assert longest_path(way, 0.6) > 7
    for rule in (Confident(0.9), BigLittle(0.9, 99.0)):
        assert longest_path(way, 0.6, acceptance=rule) == 0
        assert longest_path(way, 0.95, acceptance=rule) > 7


def mostly(text, tokens, chances, state):
    """A head that knows better: what the draft finds best is drawn in nine of ten cases."""
    return [0.9 if token == 77 else 0.0 for token in tokens]


@pytest.mark.parametrize("way", PATHS)
def test_a_trained_head_says_how_far_paths_go(way):
    """SpecDec++: whatever the draft itself gives its tokens."""
    assert longest_path(way, 0.6, stop=0.5, accepts=mostly) == 7
    assert longest_path(way, 0.99, stop=0.05, accepts=mostly) == 1


@pytest.mark.parametrize("tree", gl.Draft.TREES)
def test_a_head_that_knows_where_the_draft_is_wrong(tree):
    """SpecDec++, PLANTED: as much is drawn of a draft that ends where the head says so, and hardly anything is drafted in vain; a
    higher threshold drafts more."""
    target = HashModel(5, 3)
    small = Agreeing(target, HashModel(6, 2))
    options = {"vocab": VOCAB, "max_tokens": 60, "close": False}
    head = lambda text, tokens, chances, state: [0.1 if is_odd(text[-1]) else 0.98 for _ in tokens]  # noqa: E731
    plain = gl.generate(target, [5, 6], **options)
    figures = []
    for more in ({}, {"stop": 0.5, "accepts": head}, {"stop": 0.01, "accepts": head}):
        draft = gl.Draft(small, tree=tree, length=8, **more)
        out = gl.generate(target, [5, 6], draft=draft, **options)
        assert out.tokens == plain.tokens
        figures.append((out.stats.forwards, out.stats.draft_tokens))
    (free, most), (held, fewer), (short, least) = figures
    assert least < fewer < most
    assert short > held
    assert held <= free if tree != "best_first" else held <= 1.3 * free


def test_a_head_reads_the_draft_model_s_states():
    """Of the text that it is asked about, in chains and trees."""
    target, small = transformers_model("Llama"), transformers_model("GPT2")
    for tree in ("chain", "fixed"):
        seen = []

        def head(text, tokens, chances, state, seen=seen):
            seen.append((text, state))
            assert len(tokens) == len(chances)
            assert all(0 <= chance <= 1 for chance in chances)
            return [0.9] * len(tokens)

        draft = gl.Draft(small, tree=tree, length=3, stop=0.5, accepts=head)
        gl.generate(target, [[5, 6, 7], [8, 9]], vocab=VOCAB, max_tokens=12, close=False, draft=draft)
        assert len(seen) > 20
        for text, state in seen[::5]:
            with torch.no_grad():
                states = small.base_model(torch.tensor([text])).last_hidden_state[0]
            assert_logits(state, states[-1])


def test_a_head_is_not_asked_about_what_is_forced():
    """A path goes on through what the grammar forces, whatever the head says of other tokens."""
    asked = []

    def head(text, tokens, chances, state):
        asked.extend((text, token) for token in tokens)
        return [0.9] * len(tokens)

    options = {"vocab": VOCAB, "grammar": GRAMMARS["schema"], "max_tokens": 40, "forced": "off"}
    draft = gl.Draft(HashModel(6, 2), length=12, stop=0.5, accepts=head)
    out = gl.generate(HashModel(5, 3), [5, 6], draft=draft, **options)
    constraint, paths, mask = gl.compile(GRAMMARS["schema"], VOCAB), set(), gl.allocate_mask(1, VOCAB.size)
    for text, token in asked:
        matcher = constraint.matcher(max_tokens=40)
        assert all(matcher.advance(each) for each in text[2:])
        matcher.fill_mask(mask)
        assert len(ids_of(mask[0])) > 1
        paths.add((*text, token))
    assert len(paths) > 10
    assert out.stats.draft_tokens > len(paths) + 30


def test_a_head_needs_something_to_say():
    with pytest.raises(ValueError, match="accepts= needs stop="):
        gl.Draft(HashModel(6, 2), accepts=mostly)
    with pytest.raises(ValueError, match="accepts= needs a drafter that says how probable its tokens are"):
        gl.Draft("copy", tree="best_first", accepts=mostly)
    with pytest.raises(TypeError, match="accepts is 3; it takes a function"):
        gl.Draft(HashModel(6, 2), stop=0.5, accepts=3)
