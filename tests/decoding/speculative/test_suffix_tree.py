"""The suffix drafter's store against slices of all texts: counts, longest suffixes, continuations, what it forgets, its memory."""

from types import SimpleNamespace

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.speculative import suffix_tree
from grammarlm.decoding.speculative.drafters.suffix import Suffix
from grammarlm.decoding.speculative.suffix_tree import Proposals, SuffixTree
from grammarlm.layout.suffix import DEPTH, END, LONGEST, MATCH, OTHER, OWN, ROOT, Field, Merit, Node
from tests.decoding.planted import Planted, noise
from tests.decoding.speculative.draft_models import STOP, VOCAB, WIDTH
from tests.kernels.guarded import Guarded
from tests.oracles import suffix_texts

BYTES = 200  # a token, at most


def counts_of(tree):
    """(tokens, count) of all paths of a tree."""
    nodes, text = tree.arrays.nodes, tree.arrays.text
    found, open_nodes = {}, [(int(nodes[ROOT, Node.CHILD]), ())]
    while open_nodes:
        node, above = open_nodes.pop()
        if node == ROOT:
            continue
        open_nodes.append((int(nodes[node, Node.NEXT]), above))
        start, length = nodes[node, Node.START], nodes[node, Node.LENGTH]
        for place in range(start, start + length):
            above = (*above, int(text[place % len(text)]))
            found[above] = int(nodes[node, Node.COUNT])
        open_nodes.append((int(nodes[node, Node.CHILD]), above))
    return found


def texts_of(tree):
    return suffix_texts.split(tree.tokens(), END)


def random_text(rng, alphabet, most):
    """Random tokens, or such as repeat a part of themselves with changes."""
    length = int(rng.integers(1, most))
    text = rng.integers(0, alphabet, length).tolist()
    if rng.random() < 0.5:
        part = text[: int(rng.integers(1, 9))]
        text = (part * length)[:length]
        for at in rng.integers(0, length, int(rng.integers(0, 3))):
            text[at] = int(rng.integers(0, alphabet))
    return text


def streams(seed, count, alphabet=3, most=90):
    rng = np.random.default_rng(seed)
    return [random_text(rng, alphabet, most) for _ in range(count)]


@pytest.mark.parametrize("count", [8, pytest.param(60, marks=pytest.mark.proof)])
@pytest.mark.parametrize("alphabet", [1, 2, 5, 40])
def test_every_piece_is_counted(alphabet, count):
    for seed in range(count):
        tree = SuffixTree(1 << 13)
        for text in streams(seed, 12, alphabet):
            tree.add(text)
        assert counts_of(tree) == suffix_texts.pieces(texts_of(tree), DEPTH)


@pytest.mark.parametrize("count", [6, pytest.param(60, marks=pytest.mark.proof)])
@pytest.mark.parametrize("alphabet", [1, 3, 30])
def test_what_is_forgotten_is_the_oldest_and_no_longer_counted(alphabet, count):
    for seed in range(count):
        tree, said = SuffixTree(256), []
        for number, text in enumerate(streams(seed, 40, alphabet)):
            tree.add(text)
            said += [*text, END]
            known = tree.tokens()
            assert said[-len(known) :] == known
            assert min(len(said), 128) <= len(known) <= 256
            if number % 5 == 4:
                assert counts_of(tree) == suffix_texts.pieces(texts_of(tree), DEPTH)


def test_a_text_that_was_interrupted_is_finished_by_the_next_one():
    tree, said = SuffixTree(256), []
    for text in streams(2, 30, 3):
        done = tree._append(text)  # and here its thread was interrupted
        tree.add(text[::-1])
        said += [*text[:done], *([END] if done else []), *text[::-1], END]
        known = tree.tokens()
        assert said[-len(known) :] == known
        assert counts_of(tree) == suffix_texts.pieces(texts_of(tree), DEPTH)


class Bordered:
    """numpy, of which `zeros` makes arrays between borders."""

    def __init__(self):
        self.made = []

    def __getattr__(self, name):
        return getattr(np, name)

    def zeros(self, shape, dtype):
        self.made.append(Guarded(int(np.prod(shape)), dtype))
        return self.made[-1].inner.reshape(shape)


@pytest.mark.parametrize("alphabet", [1, 3, 1000])
def test_nothing_is_written_beside_the_arrays(alphabet, monkeypatch):
    bordered = Bordered()
    monkeypatch.setattr(suffix_tree, "np", bordered)
    finished, proposals = SuffixTree(512), Proposals()
    for text in streams(9, 60, alphabet):
        own = SuffixTree(256)
        own.append(text)
        proposals.runs(own, finished, 12, 4, 0.0)
        own.append(text * 4)
        finished.add(text)
    assert len(bordered.made) > 4 * 60
    for each in bordered.made:
        each.assert_intact()


def test_memory_is_bounded():
    """Texts of new tokens, which cost most, texts that repeat, and single tokens: at most 200 bytes a token, whatever comes."""
    rng = np.random.default_rng(1)
    for alphabet in (2, 50, 100_000):
        tree = SuffixTree(1 << 12)
        sizes = []
        for number in range(300):
            text = rng.integers(0, alphabet, int(rng.integers(1, 120)) if number % 3 else 1).tolist()
            tree.add(text)
            sizes.append(tree.nbytes)
            assert len(tree) <= 1 << 12
            assert len(tree) < 1024 or tree.nbytes <= BYTES * len(tree)
        assert sizes[-1] == sizes[-60]  # full: nothing grows any more
        tree.add([7] * 20_000)
        assert len(tree) <= 1 << 12
        assert tree.nbytes <= BYTES << 12


def asked(own, finished, length=12, count=1, least=0.0, proposals=None):
    """(runs, match in the own text, match in the finished ones)"""
    runs = (proposals or Proposals()).runs(own, finished, length, count, least)
    guesses = own.arrays.facts[Field.GUESSES : Field.GUESSES + 4].tolist()
    return runs, guesses[2 * OWN], guesses[2 * OTHER]


def told(said, rng=None):
    """A tree of a running text, told in pieces."""
    tree, at = SuffixTree(1 << 10), 0
    while at < len(said):
        size = len(said) if rng is None else int(rng.integers(1, 6))
        tree.append(said[at : at + size])
        at += size
    return tree


def never_own():
    """Proposals for which nothing that a text's own tree proposed was ever right."""
    proposals = Proposals()
    proposals.merits[OWN, :, Merit.DRAWN] = 0.0
    return proposals


@pytest.mark.parametrize("count", [60, pytest.param(800, marks=pytest.mark.proof)])
@pytest.mark.parametrize("alphabet", [2, 4, 12])
def test_the_longest_suffix_is_found_and_the_most_frequent_token_follows(alphabet, count):
    rng = np.random.default_rng(alphabet)
    matches = set()
    for seed in range(count):
        *texts, said = streams(1000 * alphabet + seed, 6, alphabet)
        said = [*said[: seed % 7 + 1], *texts[0][:60]] if seed % 2 else said[: seed % 50 + 1]
        finished, own = SuffixTree(1 << 10), told(said, rng)
        for text in texts:
            finished.add(text)
        runs, match, _ = asked(own, SuffixTree(256))
        matches.add(match)
        assert match == suffix_texts.longest([said], said, MATCH)
        check_path([said], said[len(said) - match :], runs)
        runs, _, match = asked(own, finished, proposals=never_own())
        assert match == suffix_texts.longest(texts, said, MATCH)
        if match:
            check_path(texts, said[len(said) - match :], runs)
        matches.add(match)
    assert max(matches) == MATCH
    assert 0 in matches


def check_path(texts, piece, runs):
    """Each token of a path is one of the most frequent, as far as windows reach; all of it stands somewhere."""
    assert bool(runs) == bool(piece)
    for run in runs:
        said = list(piece)
        for token in run:
            if len(said) < DEPTH:
                after = suffix_texts.followers(texts, said)
                assert after[token] == max(after.values())
            said.append(token)
        if len(run) < 12 and len(said) < DEPTH:
            assert not suffix_texts.followers(texts, said)
        assert suffix_texts.occurrences(texts, said[-DEPTH:])


def test_a_path_ends_where_its_chance_does():
    """The chance of a path is that of its tokens by counts, each times the merit of a match of that length."""
    texts = streams(5, 14, 4)
    finished = SuffixTree(1 << 12)
    for text in texts:
        finished.add(text)
    merits = np.maximum(1 - 0.7 ** np.arange(LONGEST + 1), 0.05)
    cut = set()
    for said in streams(6, 60, 4, 7):
        for least in (0.0, 0.05, 0.3):
            (run,), _, match = asked(told(said), finished, least=least, proposals=never_own())
            piece, chance = said[len(said) - match :], 1.0
            for k in range(min(12, DEPTH - match)):
                after = suffix_texts.followers(texts, piece)
                if not after:
                    assert len(run) == k
                    break
                share = max(after.values()) / suffix_texts.occurrences(texts, piece)
                chance *= share * merits[min(match + k, LONGEST)]
                if chance < least and k > 0:
                    assert len(run) == k
                    cut.add((least, k))
                    break
                piece = [*piece, run[k]]
    assert {least for least, _ in cut} == {0.05, 0.3}
    assert len(cut) > 8


@pytest.mark.parametrize("count", [2, 4, 9])
def test_branches_are_other_continuations(count):
    several = 0
    for seed in range(40):
        finished = SuffixTree(1 << 11)
        *texts, said = [*streams(seed, 12, 3), streams(seed + 99, 1, 3, 6)[0]]
        for text in texts:
            finished.add(text)
        own = told(said)
        runs, own_match, match = asked(own, finished, 7, count)
        assert runs[:1] == asked(own, finished, 7)[0]
        assert len(runs) <= count
        for number, run in enumerate(runs):
            assert 0 < len(run) <= 7
            assert all(earlier[: len(run)] != run for earlier in runs[:number])
            assert suffix_texts.follows(texts, said[len(said) - match :], run) or suffix_texts.follows(
                [said], said[len(said) - own_match :], run
            )
        several += len(runs) == count
    assert several > 12


def test_a_running_text_that_is_too_long_goes_on_with_its_second_half():
    own = SuffixTree(512)
    text = streams(3, 1, 50, 400)[0] or [1]
    said = []
    for number in range(40):
        part = [*text[number:], number]
        own.append(part)
        said += part
        known = own.tokens()
        assert said[-len(known) :] == known
        assert min(len(said), 200) <= len(known) <= 512
    own.append([103, 104, 105, 103, 104])
    assert asked(own, SuffixTree(256), 1)[0] == [[105]]


# ------------------------------------------------------------------ the drafter


def forwards_a_token(draft, prompt, text):
    model = Planted(noise(WIDTH, deviation=0.3), {tuple(prompt): [*text, STOP]})
    out = gl.generate(model, prompt, vocab=VOCAB, max_tokens=90, draft=draft)
    assert out.tokens == text
    return out.stats.forwards / (len(text) + 1)


@pytest.mark.parametrize("tree", gl.Draft.TREES)
def test_answers_are_remembered_and_prompts_of_other_texts_are_not(tree):
    ids = np.random.default_rng(4).permutation(np.arange(2, 257)).tolist()
    prompt, answer, other = ids[:60], ids[60:110], ids[110:115]
    draft = gl.Draft("suffix", tree=tree)
    assert forwards_a_token(draft, prompt, answer) >= 0.8
    assert forwards_a_token(draft, other, answer) <= 0.3
    assert forwards_a_token(draft, other[::-1], prompt[:45]) >= 0.8
    assert forwards_a_token(draft, prompt, prompt[5:45]) <= 0.3  # its own is
    assert forwards_a_token(gl.Draft("suffix", tree=tree), other, answer) >= 0.8


def test_an_answer_for_which_nothing_was_drafted_is_remembered():
    drafter = Suffix()
    drafter.drop(SimpleNamespace(ids=list(range(30)), tokens=list(range(18, 30))))
    drafter.learn("other", [20, 21, 22])
    growth = SimpleNamespace(row="other", most=8)
    assert drafter.runs(growth, 4, 1)[0] == [23, 24, 25, 26]
