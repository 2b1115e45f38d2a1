"""What a matcher promises beside its masks (those are proved in tests/laws): errors, forks, rollback, stop ids, limits."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from grammarlm.masks.machines.regular import dense_rows
from grammarlm.masks.token_facts import tokens_at
from tests.internals import automaton_of
from tests.mask_bits import ids_of

TOKENS = [bytes([b]) for b in range(256)] + [b"ab", b"", b"</s>", b"<pad>", b"<eot>"]
STOP, PAD, OTHER_STOP = 258, 259, 260
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[STOP, OTHER_STOP], special_ids=[STOP, PAD, OTHER_STOP], size=300)


def matcher(pattern: str, **limits) -> gl.Matcher:
    return gl.compile(gl.Regex(pattern), VOCAB, limits=gl.Limits(**limits)).matcher()


def allowed(m: gl.Matcher) -> set[int]:
    mask = gl.allocate_mask(1, VOCAB.size)
    assert m.fill_mask(mask)
    return set(ids_of(mask))


def test_tokens_may_be_numpy_and_torch_integers_but_no_floats() -> None:
    import torch

    m = matcher("aa+")
    assert m.advance(np.int32(97))
    assert m.advance(torch.tensor(97))
    with pytest.raises(TypeError):
        m.advance(97.0)


def test_rollback_beyond_the_start_is_refused() -> None:
    m = matcher("a*")
    m.advance(97)
    with pytest.raises(ValueError, match=r"rollback\(2\): only 1 steps have been read"):
        m.rollback(2)
    m.rollback(1)
    with pytest.raises(ValueError, match="only 0 steps"):
        m.rollback(1)


def test_bytes_are_one_step_and_atomic() -> None:
    m = matcher("é+x")
    assert m.advance_bytes("éé".encode())
    assert not m.advance_bytes("éy".encode())
    assert not m.advance_bytes(b"\xff")
    assert m.advance_bytes("é".encode()[:1])
    assert m.advance_bytes("é".encode()[1:])
    assert m.advance_bytes(b"")
    m.rollback(4)
    assert not m.is_accepting
    assert not m.advance_bytes(b"x")


def test_rows_of_a_batch() -> None:
    mask = gl.allocate_mask(3, VOCAB.size)
    matcher("a").fill_mask(mask, 1)
    assert (mask[[0, 2]] == -1).all()
    with pytest.raises(gl.MaskError, match="row 3 is beyond the mask: its 3 rows are 0 to 2"):
        matcher("a").fill_mask(mask, 3)
    with pytest.raises(gl.MaskError, match="row -1"):
        matcher("a").fill_mask(mask, -1)


@pytest.mark.parametrize(
    ("mask", "found"),
    [
        (np.zeros((1, 10), np.int64), r"int64 \[1x10\]"),
        (np.zeros((1, 9), np.int32), r"int32 \[1x9\]"),
        (np.zeros(10, np.int32), r"int32 \[10\]"),
        ([[0] * 10], "the mask is a list, no array in this memory"),
        ([np.zeros(10, np.int32)], "the mask is a list"),  # a copy would be written, and lost
        ("mask", "the mask is a str"),
        (None, "the mask is a NoneType"),
    ],
)
def test_a_mask_that_does_not_fit(mask, found: str) -> None:
    with pytest.raises(gl.MaskError, match=found) as caught:
        matcher("a").fill_mask(mask)
    assert "gl.allocate_mask(batch, vocab.size)" in str(caught.value)


def test_a_read_only_mask() -> None:
    mask = gl.allocate_mask(1, VOCAB.size)
    mask.setflags(write=False)
    with pytest.raises(gl.MaskError, match="read-only"):
        matcher("a").fill_mask(mask)


def test_torch_masks_share_their_memory() -> None:
    import torch

    mask = torch.zeros((2, VOCAB.words), dtype=torch.int32)
    matcher("a").fill_mask(mask, 1)
    assert mask[0].eq(0).all()
    assert mask[1].ne(0).any()


def test_tensors_that_cannot_be_written() -> None:
    import torch

    m = matcher("a")
    with pytest.raises(gl.MaskError, match="rows share their memory"):
        m.fill_mask(torch.zeros(VOCAB.words, dtype=torch.int32).expand(3, VOCAB.words))
    with pytest.raises(gl.MaskError, match=r"the mask is a Tensor, no array in this memory \("):
        m.fill_mask(torch.zeros((1, VOCAB.words), dtype=torch.int32, device="meta"))


def test_a_missing_mask_does_not_touch_what_is_shared() -> None:
    vocab = gl.Vocabulary([b"a", b"b", b"."], stop_ids=[2])
    constraint = gl.compile(gl.Regex("a"), vocab)
    with pytest.raises(gl.MaskError):
        constraint.matcher().fill_mask(None)
    m = constraint.matcher()
    mask = gl.allocate_mask(1, 3)
    m.advance(0)
    m.fill_mask(mask)
    assert mask.tolist() == [[0b100]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.advance(None), r"advance\(token\) takes a token id, an integer, not NoneType"),
        (lambda m: m.advance("a"), "not str"),
        (lambda m: m.advance_bytes("a"), r"takes bytes, not str; write text\.encode\(\)"),
        (lambda m: m.validate(None), r"validate\(tokens\) takes token ids one after another, not NoneType"),
        (lambda m: m.rollback(None), r"rollback\(n\) takes the number of steps to take back, an integer, not NoneType"),
        (lambda m: m.fill_mask(gl.allocate_mask(1, VOCAB.size), None), "takes a row number, an integer, not NoneType"),
        (lambda m: gl.allocate_mask(1.5, 5), "takes a number of rows, an integer, not float"),
        (lambda m: gl.allocate_mask(1, None), r"takes vocab\.size, an integer, not NoneType"),
        (lambda m: gl.compile(gl.Regex("a"), VOCAB, limits=3), r"takes a gl\.Limits, not int"),
        (lambda m: gl.compile(gl.Regex("a"), VOCAB, limits={}), r"takes a gl\.Limits, not dict"),
        (lambda m: gl.Choices(None), r"takes a list of strings, not NoneType"),
        (lambda m: gl.Choices("abc"), r"takes a list of strings, not str"),
        (lambda m: gl.Choices(["a", 3]), r"number 1 is int: 3"),
    ],
)
def test_arguments_of_the_wrong_type(call, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(matcher("a"))


@pytest.mark.parametrize(("batch", "size"), [(-1, 5), (1, 0), (1, 2**70)])
def test_masks_of_impossible_sizes(batch: int, size: int) -> None:
    with pytest.raises(gl.MaskError, match="allocate_mask"):
        gl.allocate_mask(batch, size)


def test_everything_allowed_is_said() -> None:
    vocab = gl.Vocabulary([b"a", b"b", b"."], stop_ids=[2])
    m = gl.compile(gl.Regex("[ab]*"), vocab).matcher()
    mask = gl.allocate_mask(1, 3)
    assert not m.fill_mask(mask)
    assert mask.tolist() == [[0b111]]
    bounded = gl.compile(gl.Regex("[ab]{0,2}"), vocab).matcher()
    assert not bounded.fill_mask(mask)
    bounded.advance(0)
    bounded.advance(0)
    assert bounded.fill_mask(mask)


def test_a_padded_vocabulary_is_never_allowed_as_a_whole() -> None:
    vocab = gl.Vocabulary([b"a", b"."], stop_ids=[1], size=32)
    mask = gl.allocate_mask(1, 32)
    assert gl.compile(gl.Regex("a*"), vocab).matcher().fill_mask(mask)
    assert mask.tolist() == [[0b11]]


def test_states_beyond_the_limit_are_dropped_and_made_again() -> None:
    m = matcher("(a|b)*a(a|b){12}c", max_states=60)
    other = m.fork()
    for i in range(2000):
        assert m.advance(97 + (i * i // 3) % 2)
        assert allowed(m) >= {97, 98}
    assert m.validate([97] * 13 + [99]) == 14
    assert allowed(other) == {97, 98, 256}
    m.rollback(2000)
    assert allowed(m) == {97, 98, 256}


def test_rows_are_bounded_in_bytes() -> None:
    constraint = gl.compile(gl.Regex("[a-z]{3000}"), VOCAB, limits=gl.Limits(max_bytes=60_000))
    m = constraint.matcher()
    for _ in range(3000):
        assert m.advance(97)
        assert allowed(m)
        assert constraint.nbytes < 60_000 * 2 + 3100 * 400  # terms are counted at 400 bytes each
    assert m.is_accepting


def test_one_mask_that_needs_too_many_states_fails_closed() -> None:
    long = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"a" * 50, b"."], stop_ids=[257])
    m = gl.compile(gl.Regex("a{100}"), long, limits=gl.Limits(max_states=20)).matcher()
    mask = gl.allocate_mask(1, long.size)
    with pytest.raises(gl.LimitExceeded, match=r"limits\.max_states = 20"):
        m.fill_mask(mask)
    assert set(ids_of(mask)) == {257}
    with pytest.raises(gl.LimitExceeded):
        m.advance(256)
    assert m.advance(97)  # the state is as before, and what fits still works


def test_the_clock_stops_a_search() -> None:
    # Both sides are large and have nothing in common: (a|b)^n with an a 17 places from the end, and with a b there.
    hard = gl.Regex("(a|b)*a(a|b){16}") & gl.Regex("(a|b)*b(a|b){16}")
    with pytest.raises(gl.LimitExceeded, match=r"max_ms = 50 ms|max_states"):
        gl.compile(hard, VOCAB, limits=gl.Limits(max_ms=50))


def test_nesting_is_bounded() -> None:
    pattern = "a"
    for i in range(150):
        pattern = f"({pattern}{'bc'[i % 2]})*"
    with pytest.raises(gl.LimitExceeded, match="nested deeper than 100 levels"):
        gl.compile(gl.Regex(pattern), VOCAB)
    gl.compile(gl.Regex(pattern), VOCAB, limits=gl.Limits(max_depth=200))


@pytest.mark.parametrize("bad", [{"max_ms": 0}, {"max_states": -1}, {"max_bytes": "many"}, {"max_depth": True}])
def test_limits_are_positive_numbers(bad: dict) -> None:
    (name,) = bad
    with pytest.raises(ValueError, match=rf"Limits\({name}="):
        gl.Limits(**bad)


def test_compile_refuses_other_things_by_type() -> None:
    with pytest.raises(TypeError, match=r"takes a grammar such as gl\.Regex"):
        gl.compile("a+", VOCAB)
    with pytest.raises(TypeError, match=r"not dict; see gl\.JsonSchema\(schema\)"):
        gl.compile({"type": "object"}, VOCAB)
    with pytest.raises(TypeError, match=r"takes a gl\.Vocabulary, not list"):
        gl.compile(gl.Regex("a"), TOKENS)
    with pytest.raises(TypeError, match="takes a pattern as str or bytes, not int"):
        gl.Regex(3)


def test_nothing_to_match_is_refused() -> None:
    for grammar in (gl.Regex("(?!)"), gl.Regex("a") & gl.Regex("b"), gl.Regex("[^\\d\\D]"), gl.Regex("a") - "a"):
        with pytest.raises(gl.UnsatisfiableGrammar, match="matches no text at all"):
            gl.compile(grammar, VOCAB)


NOTHING, LETTER = gl.Regex("[^\\s\\S]"), gl.Regex("a")


@pytest.mark.parametrize(
    ("grammar", "words"),
    [
        (LETTER + NOTHING, f"the part {NOTHING!r} matches no text: "),
        (LETTER + "b" + NOTHING + "c" + LETTER, f"the part {NOTHING!r} matches no text: "),
        (
            LETTER + (gl.Choices(["a"]) & gl.Choices(["b"])),
            "the part (Choices(['a']) & Choices(['b'])) matches no text: ",
        ),
        (gl.Gbnf('root ::= root "a"') + LETTER, "the part Gbnf('root ::= root \"a\"') matches no text: "),
        (gl.Gbnf('root ::= "a"') + NOTHING, f"the part {NOTHING!r} matches no text: "),
        (
            (LETTER + NOTHING) | gl.Regex("(?!)"),
            f"no side of | matches a text, for these parts match none: {NOTHING!r}, Regex(",
        ),
        (LETTER + (NOTHING | NOTHING), f"the part ({NOTHING!r} | {NOTHING!r}) matches no text: "),
    ],
)
def test_the_part_that_matches_nothing_is_named(grammar: Grammar, words: str) -> None:
    vocab = gl.Vocabulary([*(bytes([b]) for b in range(256)), b"ab", b"<eos>"], stop_ids=[257])
    with pytest.raises(gl.UnsatisfiableGrammar) as caught:
        gl.compile(grammar, vocab)
    assert str(caught.value).startswith(words)
    assert len(str(caught.value)) <= 500


@pytest.mark.parametrize("letters", [b"abcdef ", bytes(range(256))])
@pytest.mark.parametrize("grammar", [gl.Ban(["abc", "dd"]), gl.Text(until="abcd"), gl.Regex("(?s)[^ ]*x?.*[a-c]")])
def test_rows_of_states_that_nearly_agree(grammar: Grammar, letters: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_rows, "FEW_NODES", 0)
    monkeypatch.setattr(dense_rows, "SHARE", 1)
    taken: list[np.ndarray] = []
    monkeypatch.setattr(dense_rows, "tokens_at", lambda vocab, nodes: taken.append(nodes) or tokens_at(vocab, nodes))
    longer = [b"ab", b"abc", b"bc", b"cd", b"dd", b"abab", b"c d", b"cdd", b"ab", b"dda", b"x"]
    tokens = [*(bytes([b]) for b in letters), *longer]
    vocab = gl.Vocabulary([*tokens, b"<eos>"], stop_ids=[len(tokens)])
    constraint, mask = gl.compile(grammar, vocab), gl.allocate_mask(1, vocab.size)
    for text in (b"", b"a", b"ab", b"dab", b"d", b"abca", b"ab ab", b"abd", b""):
        matcher = constraint.matcher()
        if matcher.advance_bytes(text):
            matcher.fill_mask(mask)
            bits = np.unpackbits(mask[0].view(np.uint8), bitorder="little")[: vocab.size].tolist()
            assert bits == [int(matcher.fork().advance(token)) for token in range(vocab.size)], text
    assert taken


def test_a_vocabulary_that_cannot_spell_it_is_refused() -> None:
    vocab = gl.Vocabulary([b"a", b"bb", b"."], stop_ids=[2])
    with pytest.raises(gl.UnsatisfiableGrammar, match="no sequence of this vocabulary's tokens"):
        gl.compile(gl.Regex("ab"), vocab)
    m = gl.compile(gl.Regex("ab?|a?b{2}"), vocab).matcher()
    m.advance(0)
    mask = gl.allocate_mask(1, 3)
    m.fill_mask(mask)
    assert mask.tolist() == [[0b110]]


def test_the_report_names_limits() -> None:
    constraint = gl.compile(gl.Regex("a"), VOCAB)
    assert constraint.report.limits == gl.Limits()
    assert constraint.report.tokens_spell_all
    assert constraint.report.relaxed == ()
    assert constraint.vocab is VOCAB


GRAMMARS = {
    "regex": gl.Regex("(?=.*a.{3}b)(?=.*b.{4}a).*"),
    "gbnf": gl.Gbnf('root ::= "a" root ")" | [a-z]+ | root root'),
    "lark": gl.Lark("start: A+\nA: /a/"),
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_matcher_has_a_time_of_its_own(name: str) -> None:
    """The clock stands where the last slow call left it; a new matcher where the epoch is full has states to make."""
    constraint = gl.compile(GRAMMARS[name], VOCAB)
    automaton = automaton_of(constraint)
    before = automaton.epoch
    before.is_full = True
    automaton.program.clock._deadline, automaton.program.clock._ticks = 0.0, 30
    assert constraint.matcher().advance_bytes(b"a")
    assert automaton.epoch is not before
