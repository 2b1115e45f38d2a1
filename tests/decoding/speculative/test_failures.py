"""A drafter that raises loses what it would have drafted, and no more: the answers are those without, and a warning names it."""

import re
import threading
import warnings

import pytest

import grammarlm as gl
from grammarlm.decoding.speculative.acceptance import Rule
from grammarlm.decoding.speculative.drafters.copying import Copy
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.published.acceptance.judge import Judge
from grammarlm.published.acceptance.steps import Steps
from grammarlm.published.drafters.cascade import Cascade
from grammarlm.published.drafters.recycle import Recycle
from grammarlm.published.schedules.ahead import THREAD
from grammarlm.published.schedules.parallel import Parallel
from tests.decoding.speculative.draft_models import VOCAB, Agreeing, HashModel, transformers_model
from tests.decoding.speculative.noise import LANGUAGES, TARGET, Table, answer_law, furthest, member_law
from tests.texts import BYTES

torch = pytest.importorskip("torch")

MODEL = HashModel(5, 3)
ASKED = [[9, *range(140, 150), 7, 140], [5, 6, 7], [70, 71, 72, 70, 71]]
OPTIONS = {"vocab": VOCAB, "regex": "[a-f]{24}", "temperature": 1.0, "seed": 3}


def near():
    return Agreeing(HashModel(5, 3), HashModel(6, 2))


def failing(kind, method, calls, *given):
    """A drafter of this kind whose method raises from the so many-th call on."""

    class Broken(kind):
        count = 0

    def broken(self, *given, **options):
        Broken.count += 1
        if Broken.count > calls:
            raise KeyError("a table that is not there")
        return getattr(super(Broken, self), method)(*given, **options)

    setattr(Broken, method, broken)
    return Broken(*given)


def answers(draft, model=MODEL, **options):
    """The answers with a draft, which are those without; and what was warned of."""
    plain = gl.generate(model, ASKED, **OPTIONS, **options)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        outs = gl.generate(model, ASKED, draft=draft, **OPTIONS, **options)
    assert [out.tokens for out in outs] == [out.tokens for out in plain]
    assert [out.finish_reason for out in outs] == [out.finish_reason for out in plain]
    return outs, [str(each.message) for each in seen if issubclass(each.category, RuntimeWarning)]


WAYS = [
    *((Copy, method, ()) for method in ("learn", "drawn", "open", "runs", "drop", "finish")),
    *((Recycle, method, ()) for method in ("observe", "after", "open", "drawn")),
    *((ModelDrafter, method, (near(),)) for method in ("open", "after", "drop", "learn")),
]


MESSAGE = re.compile(
    r"the drafter Broken failed, and drafts nothing more in this call; .*: KeyError: 'a table that is not there'"
)


@pytest.mark.parametrize(
    ("kind", "method", "given", "calls"),
    [(*way, 3 * (at % 2)) for at, way in enumerate(WAYS)],
    ids=[f"{kind.__name__}.{method}" for kind, method, _ in WAYS],
)
def test_a_drafter_that_raises_loses_its_drafts_alone(kind, method, given, calls):
    """In each of its methods, from the first call on or in the middle of a batch; alone, and in a list."""
    for others in ((), (near(),)):
        for tree in ("chain", "fixed"):
            broken = failing(kind, method, calls, *given)
            outs, seen = answers(gl.Draft([broken, *others] if others else broken, tree=tree))
            assert len(seen) == 1 or (others and not seen)  # another one may promise more, and be asked alone
            assert all(map(MESSAGE.fullmatch, seen))
            if others:
                assert sum(out.stats.accepted_tokens for out in outs) > 10


class Raises:
    """A draft model that is gone after some calls, or at a token."""

    def __init__(self, model, calls=10**9, token=None):
        self.model, self.left, self.token = model, calls, token

    def __call__(self, ids):
        self.left -= 1
        if self.left < 0 or (self.token is not None and bool((ids[:, -1] == self.token).any())):
            raise RuntimeError("the draft model is gone")
        return self.model(ids)


@pytest.mark.parametrize("tree", gl.Draft.TREES)
def test_a_draft_model_that_is_gone_in_the_middle(tree):
    outs, seen = answers(gl.Draft(Raises(near(), 9), tree=tree))
    assert sum(out.stats.accepted_tokens for out in outs)
    assert [each.startswith("the drafter ModelDrafter failed") for each in seen] == [True]
    assert "RuntimeError: the draft model is gone" in seen[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: gl.Draft(Cascade(ModelDrafter(Raises(near(), 9)), near())),
        lambda: gl.Draft(["copy", [Raises(near(), 9), "suffix"]], tree="fixed"),
        lambda: gl.Draft(Raises(HashModel(3, 2, 257), 9), vocab=BYTES),
    ],
    ids=["in a cascade", "in a list in a list", "of another vocabulary"],
)
def test_wherever_the_model_stands(make):
    _, seen = answers(make())
    assert len(seen) == 1
    assert "RuntimeError: the draft model is gone" in seen[0]


def test_layers_that_a_target_reads_with_go_on():
    """The reader around the target is asked for what a failing draft has read ahead in part."""
    model = transformers_model("Llama")
    draft = gl.Draft("exit", layers=1, eta=0.0)
    kept, calls = draft.drafter.after, []

    def after(asked, width):
        calls.append(1)
        found = kept(asked, width)
        if len(calls) > 7:
            raise RuntimeError("the draft model is gone")
        return found

    draft.drafter.after = after
    _, seen = answers(draft, model)
    assert len(seen) == 1


def test_a_draft_that_fails_while_the_target_reads():
    class Fails:
        def __call__(self, ids):
            if threading.current_thread() is not threading.main_thread():
                raise RuntimeError("the draft model is gone")
            return MODEL(ids)

    _, seen = answers(gl.Draft(Fails(), schedule=Parallel()))
    assert len(seen) == 1
    assert "RuntimeError: the draft model is gone" in seen[0]
    assert not [each for each in threading.enumerate() if each.name == THREAD]


@pytest.mark.parametrize("rule", ["exact", "ratio", "recursive", "kseq"])
def test_the_law_stays_where_drafts_fail_by_what_was_drafted(rule, monkeypatch):
    """By enumeration: a model that is gone as soon as it has drafted one of the tokens."""
    tree = "distinct" if rule == "recursive" else "chain" if rule == "exact" else "fixed"
    draft = {"tree": tree, "acceptance": rule, "length": 2, **({} if tree == "chain" else {"widths": (2,)})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, ways = answer_law(
            TARGET, LANGUAGES["late"], lambda: gl.Draft(Raises(Table(2), token=1), **draft), monkeypatch
        )
    assert ways >= len(LANGUAGES["late"])
    assert furthest(found, member_law(TARGET, LANGUAGES["late"])) < 1e-12


# ------------------------------------------------------------------ rules


def rejecting(text, step):
    if text.startswith(b"aa"):
        raise KeyError("no such step")
    return True


class Unsure(Rule):
    def finish(self, growth):
        if growth.row.number == 1:
            raise KeyError("no such step")


def judging(states):
    raise KeyError("no such step")


@pytest.mark.parametrize("rule", [Steps(rejecting, b"a"), Unsure(), Judge(judging)], ids=["steps", "own", "judge"])
def test_a_rule_that_raises_ends_the_answers_that_it_decides_about(rule):
    """It would change their law: so they are in error by name, and the others of the batch go on."""
    model = transformers_model("Llama")
    outs = gl.generate(model, ASKED, draft=gl.Draft(HashModel(6, 2), acceptance=rule), **OPTIONS)
    failed = [out for out in outs if out.finish_reason == "error"]
    assert failed
    assert all("KeyError: 'no such step'" in out.error for out in failed)
    assert isinstance(rule, Judge) or len(failed) < len(outs)
