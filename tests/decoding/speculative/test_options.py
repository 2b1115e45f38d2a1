"""No option of a draft is silent: it changes what is drafted or drawn somewhere, or is refused by name.

Every option with every drafter and tree, against the same draft without it, by what rows are given to read and what they draw.
"""

import functools

import pytest

import grammarlm as gl
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative import drafters as made
from grammarlm.published.acceptance.big_little import BigLittle
from grammarlm.published.acceptance.confident import Confident
from grammarlm.published.acceptance.iterations import Iterations
from grammarlm.published.acceptance.judge import Judge
from grammarlm.published.acceptance.reflective import Reflective
from grammarlm.published.acceptance.steps import Steps
from grammarlm.published.schedules.lengths import Lengths
from grammarlm.published.schedules.memory import Memory
from grammarlm.published.schedules.parallel import Parallel
from grammarlm.published.schedules.rooms import Rooms
from tests.decoding.speculative.draft_models import GRAMMARS, VOCAB, WIDTH, Agreeing, HashModel, deep, random_ahead
from tests.texts import BYTES

torch = pytest.importorskip("torch")


class Letters:
    """A hash of the last two ids picks among a few letters, mostly: texts that repeat themselves."""

    def __init__(self, seed):
        self.model = HashModel(seed, 2)
        self.model.table[:, 99:104] += 7.0

    def __call__(self, ids):
        return self.model(ids)


TARGET = Letters(5)
PROMPTS = [[70, 71, 72, 70, 71], [80, 81, 82, 83, 80, 81, 82], [90, 91], [75]]
ASKED = {"vocab": VOCAB, "max_tokens": 14, "batch_size": 2}
DRAWN = {"temperature": 1.0, "seed": 5}
WORLDS = (  # free texts, and a grammar that forces some of them
    {"close": False, **DRAWN},
    {"regex": "[a-d]{14}"},
    {"grammar": GRAMMARS["schema"], "max_tokens": 36, **DRAWN},
)


def near():
    return Agreeing(TARGET, Letters(6))


def heads():
    table = torch.randn(3, 32, 32, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return made.Heads(lambda state: [state @ each for each in table])


def features():
    mix = torch.randn(64, 32, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    return made.Features(lambda states, embedded: torch.tanh(torch.cat((states, embedded), -1) @ mix))


def filling():
    table = torch.randn(97, WIDTH, generator=torch.Generator().manual_seed(2)) * 3
    return lambda ids: table[(ids.sum(1, keepdim=True) * 31 + torch.arange(ids.shape[1])) % 97]


def blocks(texts, block):
    return [near()(torch.tensor([[*text, *[99] * block]]))[0, -block:] for text in texts]


RANKS = [(0,), (1,), (0, 0), (1, 0), (0, 1), (0, 0, 0)]
BARE = {  # "auto" drafts by the clock: two runs may differ
    **{name: (lambda name=name: (name, {})) for name in gl.Draft.DRAFTERS if name not in ("skip", "exit")},
    "a model": lambda: (near(), {}),
    "a list": lambda: (["copy", Letters(6)], {}),  # a model that is seldom right, so that copies come to be tried
    "other vocabulary": lambda: (HashModel(3, 2, BYTES.size), {"vocab": BYTES}),
    "datastore": lambda: (made.Datastore([[99, 100, 101, 102, 99, 101, 100, 102] * 3]), {}),
    "cascade": lambda: (made.Cascade(made.ModelDrafter(Letters(6)), near()), {}),
    "nested": lambda: (made.Nested([Letters(6), near()], confidence=0.4), {}),
    "fill": lambda: (made.Fill(filling(), 0), {}),
    "blocks": lambda: (made.Blocks(blocks, 3), {}),
    "strided": lambda: (made.Strided(1, 4), {}),
}
LAYERED = {
    "skip": lambda: ("skip", {}),
    "exit": lambda: ("exit", {}),
    "shared exit": lambda: ("exit", {"eta": 0.0}),
    "heads": lambda: (heads(), {}),
    "features": lambda: (features(), {}),
    "rows": lambda: (made.Rows(random_ahead(3)), {}),
}
ALL = {**BARE, **LAYERED}


@functools.cache
def layered():
    return deep()


def sometimes(*_):
    sometimes.state = (sometimes.state * 1103515245 + 12345) % 2**31
    return sometimes.state >> 16 & 1 == 1


def judging(states):
    return (states.sum(-1) > 0).double()


OPTIONS = {
    "stop": {"stop": 0.5},
    "accepts": {"accepts": lambda: lambda text, tokens, chances, state: [1 / (2 + token % 7) for token in tokens]},
    "widths": {"widths": (2, 2)},
    "length": {"length": 2},
    "memory": {"schedule": lambda: Memory(0.03)},
    "rooms": {"schedule": Rooms},
    "lengths": {"schedule": lambda: Lengths(pool=2)},
    "parallel": {"schedule": lambda: Parallel(ahead=2)},
    "typical": {"acceptance": "typical"},
    "lenient": {"acceptance": "lenient"},
    "ratio": {"acceptance": "ratio"},
    "recursive": {"acceptance": "recursive"},
    "kseq": {"acceptance": "kseq"},
    "confident": {"acceptance": lambda: Confident(0.4)},
    "big_little": {"acceptance": lambda: BigLittle(0.4, 9.0)},
    "iterations": {"acceptance": lambda: Iterations(1)},
    "judge": {"acceptance": lambda: Judge(judging)},
    "reflective": {"acceptance": lambda: Reflective([9, 10], 0.5)},
    "steps": {"acceptance": lambda: Steps(sometimes, b"a")},
    # of a drafter
    "least": {"least": 9},
    "chance": {"chance": 0.6},
    "layers": {"layers": 1},
    "layers of skip": {"layers": [1]},
    "eta": {"eta": 0.5},
    "adapter": {"adapter": lambda: lambda states: states.flip(-1)},
    "transform": {"transform": lambda: lambda layer, states: states.flip(-1)},
    "context": {"context": lambda: lambda ids: [9]},
    "transfer": {"transfer": 2.0},
    "vocab": {"vocab": BYTES},
}
LOSSLESS = ("ratio", "recursive", "kseq")
# They draw tokens from probabilities, which a lossless rule compares. Others are taken by the own draw: the rule for q = 1.
DRAW = {"jacobi", "a model", "a list", "cascade", "nested", "blocks", "strided", *LAYERED}


def value(option):
    return {name: each() if callable(each) else each for name, each in OPTIONS[option].items()}


def observed(drafter, options):
    """World by world what rows read and draw; ValueError where something is refused."""
    thing, own = ALL[drafter]()
    draft = gl.Draft(thing, **{**own, **options})
    model = layered() if drafter in LAYERED or isinstance(draft.rule, Judge) else TARGET
    sometimes.state = 1
    for world in WORLDS:
        seen, propose = [], Row.propose

        def watched(row, tree, seen=seen, propose=propose):
            seen.append((row.number, list(row.ids), list(tree.tokens), list(tree.parents)))
            propose(row, tree)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Row, "propose", watched)
            seen.append([out.tokens for out in gl.generate(model, PROMPTS, draft=draft, **{**ASKED, **world})])
        yield seen


def outcome(drafter, tree, option):
    """ "refused: why", "changes" or "silent"."""
    options = {"tree": tree}
    is_judged = option == "judge" and drafter not in LAYERED  # by another model
    without = {**options, "acceptance": Judge(lambda states: torch.zeros(len(states)))} if is_judged else options
    try:
        pairs = zip(observed(drafter, {**options, **value(option)}), observed(drafter, without), strict=True)
        return "changes" if any(one != other for one, other in pairs) else "silent"
    except (ValueError, TypeError) as error:
        return f"refused: {error}"


def is_none_of_its_business(drafter, tree, option):
    """A rule that is the own draw there: of tokens that were not drawn, or were chosen among draws; or what it has anyway."""
    if option == "vocab":
        return drafter == "other vocabulary"
    return option in LOSSLESS and (drafter not in DRAW or tree == "best_first")


def wanted(number, drafter, option):
    """Trees to try."""
    return [
        tree
        for at, tree in enumerate((*gl.Draft.TREES, RANKS))
        if number is None or (number + at) % 5 == 0
        if not is_none_of_its_business(drafter, tree, option)
    ]


@pytest.mark.parametrize(
    ("drafter", "trees"),
    [
        *((drafter, False) for drafter in ALL),
        *(pytest.param(drafter, True, marks=pytest.mark.proof) for drafter in ALL),
    ],
)
def test_no_option_is_silent(drafter, trees):
    """Each option changes something, or is refused by name: with each tree; in the quick tier with one, of every ninth option."""
    first = list(ALL).index(drafter)
    silent = []
    for number, option in enumerate(OPTIONS, first):
        if trees or number % 9 == 0:
            for tree in wanted(None if trees else number // 9, drafter, option):
                found = outcome(drafter, tree, option)
                assert found in ("silent", "changes") or "need" in found or option.split()[0] in found
                silent += [(option, tree)] * (found == "silent")
    assert not silent
