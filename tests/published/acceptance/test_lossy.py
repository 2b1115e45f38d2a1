"""Lossy rules: the grammar holds whatever they say, each decides by what it is made for, and where it says no the answer is
the target's."""

import functools
import json
import re

import jsonschema
import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.drafters.heads import Heads
from grammarlm.published.acceptance.big_little import BigLittle
from grammarlm.published.acceptance.by_probability import ByTarget
from grammarlm.published.acceptance.confident import Confident
from grammarlm.published.acceptance.iterations import Iterations
from grammarlm.published.acceptance.judge import Judge
from grammarlm.published.acceptance.lenient import Lenient
from grammarlm.published.acceptance.reflective import Reflective
from grammarlm.published.acceptance.steps import Steps
from tests.decoding.planted import Planted, noise
from tests.decoding.speculative.draft_models import (
    GRAMMARS,
    SCHEMA,
    VOCAB,
    WIDTH,
    Agreeing,
    HashModel,
    prompts,
    transformers_model,
)

torch = pytest.importorskip("torch")

DRAWS = ({}, {"temperature": 1.0, "seed": 5}, {"temperature": 0.8, "top_k": 20, "top_p": 0.9, "seed": 6})
PATTERN = re.compile("((true|false|[0-9]{2}), ){3,40}é")
SELECT = re.compile("select [a-d]{1,5}(,[a-d]{1,5})* from [a-d]{1,5}( where [a-d]{1,5}=[0-9]{1,3})?")


def is_valid(out, name) -> bool:
    """By Python's re and jsonschema; an answer that was cut is not judged here: budgets close all."""
    if name == "schema":
        jsonschema.validate(json.loads(out.text), SCHEMA)
        return True
    return (PATTERN if name == "regex" else SELECT).fullmatch(out.text) is not None


def answers(model, make, count):
    """(grammar, answer) of so many calls, over all grammars and ways of drawing; all answers are complete."""
    names, found = ("schema", "regex", "sql"), 0
    round_ = 0
    while found < count:
        asked = prompts(min(8, count // 9), round_)
        name, draw = names[round_ % 3], DRAWS[round_ // 3 % 3]
        outs = gl.generate(model, asked, vocab=VOCAB, grammar=GRAMMARS[name], max_tokens=48, draft=make(), **draw)
        for out in outs[: count - found]:
            yield name, out
        found, round_ = found + len(outs), round_ + 1


def yes(states):
    return torch.ones(len(states))


def no(states):
    return torch.zeros(len(states))


def coin(*_):
    """A router that knows nothing."""
    coin.state = (coin.state * 1103515245 + 12345) % 2**31
    return coin.state >> 16 & 1 == 1


coin.state = 1


def blind_heads():
    """Heads on hidden states that have learnt nothing."""
    table = torch.randn(3, 32, 32, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return Heads(lambda state: [3 * state @ each for each in table])


LOSSY = {
    "Judge": lambda: gl.Draft(HashModel(6, 2), acceptance=Judge(yes), length=5),
    "Reflective": lambda: gl.Draft(HashModel(6, 2), acceptance=Reflective([9, 10, 11], 0.7)),
    "BiLD": lambda: gl.Draft(HashModel(6, 2), acceptance=BigLittle(fallback=0.02, rollback=6.0), length=6),
    "Arbitrage": lambda: gl.Draft(HashModel(6, 2), acceptance=Steps(coin, b","), length=9),
    "CEED-VLA": lambda: gl.Draft("jacobi", acceptance=Iterations(1), length=6),
    "LUD": lambda: gl.Draft(blind_heads(), acceptance=Confident(0.1), length=3),
    "typical": lambda: gl.Draft(HashModel(6, 2), acceptance="typical", tree="fixed"),
    "DistillSpec": lambda: gl.Draft(HashModel(6, 2), acceptance=Lenient(0.05)),
}


@pytest.mark.parametrize("count", [9, pytest.param(1000, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", LOSSY)
def test_answers_are_of_the_grammar(name, count):
    """VALID: whatever drafts, and whatever the rule says of it."""
    model = transformers_model("Llama")
    accepted, invalid = 0, []
    for grammar, out in answers(model, LOSSY[name], count):
        accepted += out.stats.accepted_tokens
        if out.finish_reason not in ("stop", "closed") or not is_valid(out, grammar):
            invalid.append((grammar, out.text))
    assert not invalid
    assert accepted > count // 2


NEVER = {
    "Judge": lambda: gl.Draft(Agreeing(HashModel(5, 3), HashModel(6, 2)), acceptance=Judge(no)),
    "Reflective": lambda: gl.Draft(HashModel(6, 2), acceptance=Reflective([9, 10, 11], 0.0)),
    "BiLD": lambda: gl.Draft(HashModel(6, 2), acceptance=BigLittle(fallback=1.5)),
    "BiLD, no tolerance": lambda: gl.Draft(HashModel(6, 2), acceptance=BigLittle(fallback=0.0, rollback=-1.0)),
    "Arbitrage": lambda: gl.Draft(HashModel(6, 2), acceptance=Steps(lambda text, step: False, b",")),
    "CEED-VLA": lambda: gl.Draft("jacobi", acceptance=Iterations(7), length=6),
    "LUD": lambda: gl.Draft(blind_heads(), acceptance=Confident(1.0)),
}


@functools.cache
def plain_tokens(draw, grammar):
    """Without a draft, of three prompts."""
    options = {"vocab": VOCAB, "grammar": GRAMMARS[grammar], "max_tokens": 24, **DRAWS[draw]}
    return [out.tokens for out in gl.generate(transformers_model("Llama"), prompts(3, 2), **options)]


@pytest.mark.parametrize("each", [False, pytest.param(True, marks=pytest.mark.proof)], ids=["some", "each"])
@pytest.mark.parametrize("name", NEVER)
def test_where_the_rule_says_no_answers_are_the_target_s(name, each):
    """EQ at every temperature: a head that says no, no weight, a small model that always hands over, a router that keeps
    nothing."""
    model = transformers_model("Llama")
    shift = list(NEVER).index(name)  # which grammar is drawn from which way
    for draw, sampling in enumerate(DRAWS):
        grammars = ("none", "schema", "regex")
        for grammar in grammars if each else (grammars[(draw + shift) % 3],):
            options = {"vocab": VOCAB, "grammar": GRAMMARS[grammar], "max_tokens": 24, **sampling}
            drafted = gl.generate(model, prompts(3, 2), draft=NEVER[name](), **options)
            assert [out.tokens for out in drafted] == plain_tokens(draw, grammar)


def test_rules_say_what_they_need():
    with pytest.raises(ValueError, match="'judge' needs a causal transformers model"):
        gl.generate(HashModel(5, 3), [5], vocab=VOCAB, draft=gl.Draft("copy", acceptance=Judge(yes)))
    for rule in (Confident(), BigLittle(), "typical", "lenient"):
        for drafter in ("copy", ["copy", HashModel(5, 3)], "recycle"):
            with pytest.raises(ValueError, match="needs a drafter that says how probable its tokens are"):
                gl.Draft(drafter, acceptance=rule)
    for rule in (Steps(coin), Reflective([9])):
        for tree in ("fixed", "best_first", "distinct"):
            with pytest.raises(ValueError, match=r"the acceptance rule '(steps|reflective)' needs tree='chain'"):
                gl.Draft(HashModel(5, 3), acceptance=rule, tree=tree)
    with pytest.raises(TypeError, match=r"ends is .* it takes the bytes in which a step ends"):
        Steps(coin, ends="\n")


# ------------------------------------------------------------------ what each is made for

FREE = {"vocab": VOCAB, "max_tokens": 40, "close": False}


def planted(seed, count):
    return np.random.default_rng(seed).permutation(np.arange(130, 257))[:count].tolist()


@pytest.mark.parametrize("tree", gl.Draft.TREES)
@pytest.mark.parametrize("rule", ["typical", "lenient"])
def test_what_the_target_finds_probable_enough_is_taken(rule, tree):
    """Medusa's typical acceptance, DistillSpec's lenience: sampled, more of the same drafts is accepted than is drawn by itself."""
    rates = []
    for acceptance in (ByTarget(lambda p, drafted: None), rule):
        accepted = drafted = 0
        for seed in range(4):
            draft = gl.Draft(HashModel(5, 2), tree=tree, acceptance=acceptance, length=4)
            target = HashModel(5, 2)
            target.table = target.table + HashModel(9, 2).table  # it agrees half
            out = gl.generate(target, [5, 6], **FREE, temperature=1.0, seed=seed, draft=draft)
            accepted, drafted = accepted + out.stats.accepted_tokens, drafted + out.stats.forwards
        rates.append(accepted / drafted)
    assert rates[1] > 1.1 * rates[0]


def test_a_judge_takes_what_its_head_likes():
    """Judge: a head that knows the draft's text by the states takes it, against the target; with "yes" the length is the
    most there is."""
    model, prompt = transformers_model("Llama"), [5, 6, 7]
    text = planted(1, 40)
    writer = Planted(noise(WIDTH), {tuple(prompt): text})
    plain = gl.generate(model, prompt, **FREE)
    out = gl.generate(model, prompt, draft=gl.Draft(writer, acceptance=Judge(yes), length=4), **FREE)
    assert out.tokens != plain.tokens
    assert out.stats.accepted_tokens >= out.stats.draft_tokens  # all
    states = []

    def head(given):
        states.append(given)
        with torch.no_grad():
            own = model.lm_head(given).argmax(-1)
        return (own % 2).double()  # a function of each token's state alone

    out = gl.generate(model, prompt, draft=gl.Draft(HashModel(6, 2), acceptance=Judge(head), length=4), **FREE)
    with torch.no_grad():
        expected = model.base_model(torch.tensor([[*prompt, *out.tokens]])).last_hidden_state[0]
    assert 0 < out.stats.accepted_tokens < out.stats.draft_tokens
    nearest = [float((expected - given[0]).norm(dim=-1).min()) for given in states if len(given)]
    assert (
        sum(distance < 1e-6 for distance in nearest) >= out.stats.accepted_tokens / 4
    )  # the states of these very tokens


def test_second_thoughts_are_read_in_the_same_forward():
    """Reflective: prompt and copy come after the draft, in no text, cache or matcher; the mixed opinion decides."""
    prompt, text, other, again = [5, 6, 7], planted(2, 30), planted(3, 1)[0], [11, 12]
    seen = []

    class Thinks:
        """Writes one token again and again, but after the reflection prompt it finds the draft's text right."""

        def __call__(self, ids):
            seen.append(ids.tolist())
            logits = torch.zeros(*ids.shape, WIDTH)
            logits[..., other] = 3.0
            for row, said in enumerate(ids.tolist()):
                for at in range(len(said)):
                    if again == said[max(0, at - 1) : at + 1] or (at and again[1] in said[:at] and said[at] in text):
                        place = text.index(said[at]) + 1 if said[at] in text else None
                        before = said[: at + 1]
                        if place is None:  # at the prompt's end: the draft's first token comes first
                            drafted = [token for token in before if token in text]
                            first = next((token for token in said[at + 1 :] if token in text), None)
                            place = text.index(first) if first is not None else len(set(drafted))
                        if place < len(text):
                            logits[row, at, text[place]] = 9.0
            return logits

    writer = Planted(lambda ids: torch.zeros(*ids.shape, WIDTH), {tuple(prompt): text})
    options = {"vocab": VOCAB, "max_tokens": 24, "close": False}
    plain = gl.generate(Thinks(), prompt, **options)
    assert plain.tokens == [other] * 24
    seen.clear()
    out = gl.generate(Thinks(), prompt, draft=gl.Draft(writer, acceptance=Reflective(again, 0.5), length=4), **options)
    assert len(seen) == out.stats.forwards  # one forward reads both
    assert out.tokens[:4] == text[:4]
    assert not set(again) & set(out.tokens)
    assert seen[0][0][-9:] == [*text[:4], *again, *text[:3]]
    assert all(row.count(again[0]) <= 1 for ids in seen for row in ids)  # forgotten after each forward
    assert out.stats.draft_tokens < 4 * out.stats.forwards + 1


@pytest.mark.parametrize("least", [150, pytest.param(1000, marks=pytest.mark.proof)])
def test_the_target_goes_back_to_what_it_finds_improbable(least, monkeypatch):
    """BiLD: after each of many rewinds the matcher is as one that has read the text anew; the small model hands over where
    unsure."""
    rewinds, kept = [], Row.propose

    def propose(row, tree):
        if row.stats.draft_tokens > row.stats.accepted_tokens + len(rewinds_of.get(row, [])):
            rewinds_of.setdefault(row, []).append(row.count)
            rewinds.append(row)
            mask, fresh = (
                gl.allocate_mask(2, VOCAB.size),
                row.spec.constraint.matcher(max_tokens=row.spec.settings.max_tokens),
            )
            for token in row.ids[len(row.spec.prompt) :]:
                assert fresh.advance(token)
            own, anew = row.grammar.matcher.fill_mask(mask, 0), fresh.fill_mask(mask, 1)
            assert own == anew
            assert (mask[0] == mask[1]).all()
        kept(row, tree)

    rewinds_of: dict = {}
    monkeypatch.setattr(Row, "propose", propose)
    model, round_ = HashModel(5, 3), 0
    while len(rewinds) < least:
        rewinds_of.clear()
        draft = gl.Draft(HashModel(6, 2), acceptance=BigLittle(fallback=0.01, rollback=5.0), length=6)
        name = ("schema", "regex", "sql")[round_ % 3]
        outs = gl.generate(
            model,
            prompts(8, round_),
            vocab=VOCAB,
            grammar=GRAMMARS[name],
            max_tokens=60,
            draft=draft,
            **DRAWS[round_ % 2],
        )
        assert all(is_valid(out, name) for out in outs)
        round_ += 1


def test_a_router_decides_about_whole_steps():
    """Arbitrage: lines by the draft are kept or forgotten before the target reads them; one that is forgotten it writes to
    its end."""
    line = gl.Regex("([ab]{3}[\n]){6}")
    a, b = 99, 100
    letters = lambda which: lambda ids: torch.nn.functional.one_hot(torch.full(ids.shape, which), WIDTH).float()  # noqa: E731
    target_ids, asked = [], []

    def target(ids):
        target_ids.extend(ids[:, -4:].flatten().tolist())
        return letters(a)(ids)

    def router(text, step):
        asked.append((text, step))
        return len(asked) % 2 == 0  # every other one

    draft = gl.Draft(letters(b), acceptance=Steps(router), length=10)
    out = gl.generate(target, [5], vocab=VOCAB, grammar=line, draft=draft)
    lines = out.text.splitlines()
    assert len(lines) == 6
    assert [each for each in lines if each == "aaa"]
    assert [each for each in lines if each[1:] == "bb"]
    assert all(each in ("aaa", "bbb", "abb") for each in lines)
    assert all(step.endswith(b"\n") and step.count(b"\n") == 1 for _, step in asked)
    assert all(out.text.encode().startswith(text) for text, _ in asked)
    kept = gl.generate(
        target, [5], vocab=VOCAB, grammar=line, draft=gl.Draft(letters(b), acceptance=Steps(lambda *_: True))
    )
    assert kept.stats.forwards <= 7  # one a line, whose first letter is the target's after the first


ACTIONS = gl.Regex(
    "".join(f"[{chr(97 + 3 * at)}-{chr(99 + 3 * at)}]" for at in range(7))
)  # each place with a set of its own


@pytest.mark.parametrize("most", range(1, 8))
def test_jacobi_iterations_may_end_early(most):
    """CEED-VLA: seven actions in at most so many forwards, in the grammar even after one; with seven the greedy ones."""
    greedy = equal = 0
    for seed in range(12):
        model = HashModel(seed, 3)
        plain = gl.generate(model, [5, 6], vocab=VOCAB, grammar=ACTIONS)
        draft = gl.Draft("jacobi", length=6, acceptance=Iterations(most))
        out = gl.generate(model, [5, 6], vocab=VOCAB, grammar=ACTIONS, draft=draft)
        assert out.stats.forwards <= most
        assert re.fullmatch("[a-c][d-f][g-i][j-l][m-o][p-r][s-u]", out.text)
        greedy += out.tokens == plain.tokens
        equal += sum(one == other for one, other in zip(out.tokens, plain.tokens, strict=True))
    assert equal >= 12 * most  # one more place is right with each iteration
    assert (greedy == 12) == (most == 7) or most > 3


def test_units_are_what_rows_are_sure_of():
    """LUD: a run of rows is taken up to the first that is not sure enough; more with a lower threshold, one with a threshold
    of 1."""
    model, prompt = transformers_model("Llama"), [5, 6, 7]
    output = model.get_output_embeddings().weight.detach()
    letter = output[99] / output[99].square().sum()

    def heads(state):
        """Surest of the nearest place, less of each further one; all of one letter."""
        return [strength * letter for strength in (8.0, 3.0, 1.0)]

    counts = []
    for threshold in (1.0, 0.9, 0.6, 0.0):
        draft = gl.Draft(Heads(heads), acceptance=Confident(threshold), length=3)
        out = gl.generate(model, prompt, vocab=VOCAB, regex="[a-d]{24}", draft=draft)
        assert re.fullmatch("[a-d]{24}", out.text)
        assert out.stats.accepted_tokens == out.stats.draft_tokens
        counts.append(out.stats.forwards)
    assert counts[0] == 24
    assert counts[0] > counts[1] > counts[2] > counts[3] == 7  # the first forward has no rows yet
