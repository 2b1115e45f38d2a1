"""The engines that run every case, each a function of a few lines: a new one is a line in ENGINES.

A text is cut into tokens in several ways, by a seeded generator, from a vocabulary with all bytes and with pieces of the case's own
texts: some end inside characters, some run over the end of what the grammar takes apart.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

import grammarlm as gl
from grammarlm.integrations.serving.served_row import ServedRow
from grammarlm.layout.csr import DEAD
from tests.cases import VERDICTS, Case
from tests.laws.vocabularies import TokenList, every_byte
from tests.mask_bits import ids_of

# ---------------------------------------------------------------------- texts and tokens


def token_list(case: Case) -> TokenList:
    """The hostile vocabulary with pieces of the case's texts."""
    base, rng, pieces = every_byte(), random.Random(case.name), set[bytes]()
    for data in case.texts("accepted") + case.texts("refused"):
        for _ in range(min(6, len(data) - 1)):
            start = rng.randrange(len(data) - 1)
            pieces.add(data[start : start + rng.randint(2, 5)])
    tokens = base.tokens + sorted(pieces)
    return TokenList(tokens, base.stop_ids, base.special_ids, len(tokens) + 5)


@dataclass(frozen=True)
class Subject:
    """A case, compiled."""

    case: Case
    constraint: gl.Constraint
    vocab: gl.Vocabulary
    by_first: dict[int, list[int]]  # ids of text by their first byte

    def tokens_at(self, data: bytes, place: int) -> list[int]:
        """The ids that spell what stands at a place."""
        return [i for i in self.by_first[data[place]] if data.startswith(self.vocab.token_bytes(i), place)]

    def cuts(self, data: bytes) -> Iterator[list[int]]:
        """Byte by byte, and in three other ways."""
        yield list(data)
        if self.case.notation == "items":
            return  # an item is its ids
        rng = random.Random(f"{self.case.name} {data!r}")
        for _ in range(3):
            tokens, place = [], 0
            while place < len(data):
                tokens.append(rng.choice(self.tokens_at(data, place)[-6:]))
                place += len(self.vocab.token_bytes(tokens[-1]))
            yield tokens

    def row(self, matcher: gl.Matcher) -> set[int]:
        mask = gl.allocate_mask(1, self.vocab.size)
        matcher.fill_mask(mask)
        return set(ids_of(mask[0]))

    def texts(self) -> Iterator[tuple[str, bytes, list[int]]]:
        """Each text with what the case says of it, and each of its cuts."""
        for verdict in VERDICTS:
            for data in self.case.texts(verdict):
                for tokens in self.cuts(data):
                    yield verdict, data, tokens


@lru_cache(maxsize=8)
def subject(case: Case) -> Subject:
    tokens = token_list(case)
    by_first: dict[int, list[int]] = {byte: [] for byte in range(256)}
    for i, data in enumerate(tokens.tokens):
        if data and i not in tokens.stop_ids + tokens.special_ids:
            by_first[data[0]].append(i)
    vocab = tokens.vocabulary()
    return Subject(case, gl.compile(case.made(), vocab), vocab, by_first)


def end_is(matcher: gl.Matcher, verdict: str) -> None:
    assert verdict != "refused", "read to its end"
    assert matcher.is_accepting is (verdict == "accepted")


# ---------------------------------------------------------------------- engines


def read_bytes(subject: Subject) -> None:
    """At once and byte by byte; what is refused changes nothing."""
    for verdict in VERDICTS:
        for data in subject.case.texts(verdict):
            at_once, bytewise = subject.constraint.matcher(), subject.constraint.matcher()
            before = subject.row(at_once)
            is_read = at_once.advance_bytes(data)
            assert is_read is (verdict != "refused"), data
            assert all(bytewise.advance_bytes(bytes([byte])) for byte in data) is is_read, data
            if is_read:
                end_is(at_once, verdict)
                end_is(bytewise, verdict)
            else:
                assert subject.row(at_once) == before


def read_masks(subject: Subject) -> None:
    """A token's bit is what advance says of it; every token that spells an accepted text on is allowed; stop ids iff it may end."""
    stops = set(subject.vocab.stop_ids)
    for verdict, data, tokens in subject.texts():
        matcher, place = subject.constraint.matcher(), 0
        for token in tokens:
            allowed = subject.row(matcher)
            assert allowed, "an empty row"
            assert (stops <= allowed) is matcher.is_accepting is bool(stops & allowed)
            if verdict != "refused" and subject.case.notation != "items":
                assert set(subject.tokens_at(data, place)) <= allowed, (data, data[:place])
            assert matcher.advance(token) is (token in allowed), (data, data[:place], token)
            if token not in allowed:
                assert verdict == "refused", (data, data[:place], token)
                assert subject.row(matcher) == allowed
                break
            place += len(subject.vocab.token_bytes(token))
        else:
            end_is(matcher, verdict)
            assert (stops <= subject.row(matcher)) is (verdict == "accepted"), data


def draft(subject: Subject) -> None:
    """A chain of drafts has the rows that reading has, up to the first token that is refused."""
    for verdict, data, tokens in subject.texts():
        matcher, reader = subject.constraint.matcher(), subject.constraint.matcher()
        mask = gl.allocate_mask(len(tokens) + 1, subject.vocab.size)
        gl.fill_tree(matcher, tokens, [i - 1 for i in range(len(tokens))], mask)
        read = matcher.validate(tokens)
        assert (read == len(tokens)) is (verdict != "refused"), data
        for place in range(read + 1):
            assert set(ids_of(mask[place])) == subject.row(reader)
            assert place == len(tokens) or reader.advance(tokens[place]) is (place < read)
        assert not mask[read + 1 :].any()
        if read == len(tokens):
            may_end = set(subject.vocab.stop_ids) <= set(ids_of(mask[read]))
            assert may_end is (verdict == "accepted"), data


def go_back(subject: Subject) -> None:
    """Halfway, a text goes on in a fork, from a snapshot, under the constraint's saved form, and after it was taken back."""
    saved = gl.Constraint.from_bytes(subject.constraint.to_bytes(), subject.vocab)
    for verdict, _, tokens in subject.texts():
        first, second = subject.constraint.matcher(), saved.matcher()
        half = min(len(tokens) // 2, first.validate(tokens))
        assert all(first.advance(token) and second.advance(token) for token in tokens[:half])
        restored, fork, row = subject.constraint.restore(first.snapshot()), first.fork(), subject.row(first)
        for matcher in (first, second, restored, fork):
            assert subject.row(matcher) == row
            read = 0
            while half + read < len(tokens) and matcher.advance(tokens[half + read]):
                read += 1
            assert (half + read == len(tokens)) is (verdict != "refused")
            if verdict != "refused":
                end_is(matcher, verdict)
            matcher.rollback(read)
            assert subject.row(matcher) == row


def fill_canvas(subject: Subject) -> None:
    """A row of a text's tokens can be completed iff it is one that is spelled as canvases fill it in; so it can where some are
    masked, and then they may stand there."""
    rng, filled = random.Random(subject.case.name), subject.constraint.as_filled
    rows = [
        (verdict, list(subject.cuts(data))[-1], data) for verdict in VERDICTS for data in subject.case.texts(verdict)
    ]
    length = max(len(tokens) for _, tokens, _ in rows) + 1
    canvas, stops = subject.constraint.canvas(length), [subject.vocab.stop_ids[0]] * length
    for verdict, tokens, _ in rows:
        matcher = filled.matcher()
        if verdict == "accepted" and not (all(map(matcher.advance, tokens)) and matcher.is_accepting):
            verdict = "spelled otherwise"  # noqa: PLW2901
        whole = (tokens + stops)[:length]
        assert canvas.is_completable(whole) is (verdict == "accepted"), tokens
        if verdict == "accepted":
            masked = [-1 if place < len(tokens) and rng.random() < 0.4 else token for place, token in enumerate(whole)]
            allowed = canvas.allowed(masked)
            for place in [place for place, token in enumerate(masked) if token < 0][:2]:
                assert allowed.test(place, [whole[place]]).all(), (whole, masked, place)
        elif verdict == "refused":
            assert not canvas.is_completable([*tokens, -1, -1, *stops][:length]), tokens
        for _ in range(4):  # one token for others: as a matcher reads it
            at, other = rng.randrange(len(tokens) + 1), rng.choice(list(subject.cuts(rng.choice(rows)[2]))[-1] or stops)
            changed = [*tokens[:at], other, *tokens[at + 1 :]][:length]
            matcher = filled.matcher()
            is_read = all(map(matcher.advance, changed)) and (matcher.is_accepting or matcher.is_finished)
            assert canvas.is_completable((changed + stops)[:length]) is is_read, changed


def stay_on_a_device(subject: Subject) -> None:
    """All texts side by side in a device automaton; the masks are the matchers'."""
    texts = [(verdict, tokens) for verdict, _, tokens in subject.texts()]
    batch = gl.DeviceAutomaton(subject.constraint).batch(len(texts))
    matchers = [subject.constraint.matcher() for _ in texts]
    stop, alive = subject.vocab.stop_ids[0], [True] * len(texts)
    expected = gl.allocate_mask(len(texts), subject.vocab.size)
    for place in range(max(len(tokens) for _, tokens in texts)):
        rows, step = batch.fill_mask().numpy(), []
        gl.fill_masks(matchers, expected)
        for row, (verdict, tokens) in enumerate(texts):
            step.append(tokens[place] if place < len(tokens) and alive[row] else stop)
            if place < len(tokens) and alive[row]:
                assert np.array_equal(rows[row], expected[row])
                alive[row] = matchers[row].advance(tokens[place])
                assert alive[row] or verdict == "refused"
        batch.advance_(torch.tensor(step))
        batch.settle()
        states = batch.states.tolist()
        for row, (verdict, tokens) in enumerate(texts):
            if place < len(tokens):
                assert (states[row] == DEAD) is not alive[row]
            if place == len(tokens):  # its stop id has been read
                assert (states[row] == DEAD) is (verdict != "accepted")
    assert all(is_alive is (verdict != "refused") for is_alive, (verdict, _) in zip(alive, texts, strict=True))


def serve(subject: Subject) -> None:
    """The row of one request, as vLLM's backend drives it: drafts are cut, a token that is forbidden ends the request."""
    stops = set(subject.vocab.stop_ids)
    for verdict, data, tokens in subject.texts():
        row, matcher = ServedRow(subject.vocab).start(subject.constraint), subject.constraint.matcher()
        mask = gl.allocate_mask(len(tokens) + 1, subject.vocab.size)
        valid = row.validate(tokens)
        assert (len(valid) == len(tokens)) is (verdict != "refused"), data
        row.fill_drafts(tokens, mask, 0)
        for place, token in enumerate(valid):
            assert set(ids_of(mask[place])) == subject.row(matcher)
            assert row.read(token)
            assert matcher.advance(token)
        assert all(set(ids_of(mask[place])) == stops for place in range(len(valid) + 1, len(tokens) + 1))
        assert not row.error
        ending = min(stops) if verdict != "refused" else tokens[len(valid)]
        assert row.read(ending) is (verdict == "accepted")
        assert bool(row.error) is (verdict != "accepted")


ENGINES: dict[str, Callable[[Subject], None]] = {
    "bytes": read_bytes,
    "masks": read_masks,
    "drafts": draft,
    "snapshots": go_back,
    "canvas": fill_canvas,
    "device": stay_on_a_device,
    "serving": serve,
}
