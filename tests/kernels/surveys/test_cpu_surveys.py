"""Surveys, tries of remainders, signatures and the rows made of them, against tokens that are read one by one."""

import random

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.layout.stack import NUMBER, Field
from grammarlm.layout.stack_calls import ADVANCE_COLUMN, FEW, FILL_SIGNED
from tests.kernels.guarded import Guarded
from tests.kernels.stack.stack_arrays import StackArrays, epoch_of
from tests.kernels.stack.stack_grammars import LARK
from tests.kernels.surveys.survey_arrays import SurveyArrays
from tests.kernels.token_lists import ids_in, texts_of
from tests.oracles import remainders
from tests.oracles.stack_threads import Config

BYTES = [bytes([byte]) for byte in range(256)]
TEXTS = r"""
start: item ("," item)*
item: "<" TEXT ">" | QUOTED | WORD | "int" WORD | "'" WORD "'" | AHEAD WORD? "!"
TEXT: /[^<>\n]+/
QUOTED: /"[^"\\\n]*"/
WORD: /[a-z_]+[0-9]?/
AHEAD: /[0-9]+(?=[a-m!])/
%ignore / +|#[^#]*#/
"""
GRAMMARS = LARK | {
    "texts": (
        gl.Lark(TEXTS),
        [*"<>a',!1# z_", "int ", "in", "int", "#a#", "12a", "'ab'", "<é,", '"', '"a', "é", "a1", "z>,"],
    ),
}


class Surveyed:
    """Masks of configs along random texts, and what was written down for them."""

    def __init__(self, name: str, seed: int, tokens: int, configs: int):
        grammar, self.pieces = GRAMMARS[name]
        self.rng = random.Random(f"{name} {seed}")
        texts = BYTES + [self._piece() for _ in range(tokens)]
        self.vocab = gl.Vocabulary([*texts, b"</s>"], stop_ids=[len(texts)])
        self.arrays = StackArrays(epoch_of(grammar, self.vocab))
        self.epoch = self.arrays.epoch
        self.surveys = SurveyArrays(self.arrays, texts_of(self.vocab), self.vocab.words)
        self.rows: dict[int, set[int]] = {}  # by config, with the stop token
        self._walk(configs)

    def _piece(self) -> bytes:
        return "".join(self.rng.choices(self.pieces, k=self.rng.randint(1, 4))).encode()

    def _walk(self, configs: int) -> None:
        start = here = self.epoch.state_of(self.epoch.program.start)
        for _ in range(20 * configs):
            if here not in self.rows:
                self.rows[here] = self._row(here)
            if len(self.rows) == configs:
                break
            after = here
            for byte in self.rng.choice(self.pieces).encode():
                after = self.epoch.maker.made(ADVANCE_COLUMN, after, self.arrays.column(byte)) if after else 0
            here = start if self.rng.random() < 0.1 else after or here

    def _row(self, config: int) -> set[int]:
        """The row; making it leaves no stacks and configs behind but those of long chains."""
        words, before = self.epoch.arena.words, self._counts()
        row = ids_in(self.epoch.row(config), self.vocab.words)
        assert self._counts() == before
        for place, count, first in ((Field.S_HASH, Field.S_COUNT, 1), (Field.C_HASH, Field.C_COUNT, 2)):
            table = self.arrays.array(place)
            assert sorted((table[table >= 0] & NUMBER).tolist()) == list(range(first, words[count]))
        return row

    def _counts(self) -> list[int]:
        places = (Field.S_COUNT, Field.C_COUNT, Field.T_COUNT)
        return [int(self.epoch.arena.words[place]) for place in places]


@pytest.fixture(scope="module", params=[*GRAMMARS])
def surveyed(request: pytest.FixtureRequest) -> Surveyed:
    return Surveyed(request.param, seed=0, tokens=700, configs=14)


def test_surveys_are_what_tokens_do(surveyed: Surveyed) -> None:
    """Each survey, of the vocabulary or of remainders, and the entries of its exits."""
    arrays, found = surveyed.arrays, surveyed.surveys
    keys = found.keys
    assert len(set(keys)) == len(keys) > 20
    assert any(trie for trie, _, _, _ in keys)
    for number, (trie, q, b, k) in enumerate(keys):
        survey = found.survey(number)
        start = frozenset([(q, (-1 - k,), b)])
        assert survey == remainders.survey(arrays.threads, start, found.remainders(trie), arrays.column), number
        assert min(found.count(number), FEW + 1) == min(len(survey.row), FEW + 1)


def test_tries_hold_their_entries_where_they_are_spelled(surveyed: Surveyed) -> None:
    found, seen = surveyed.surveys, set()
    for trie in range(1, found.tries):
        spelled = found.spelled(trie)
        assert [entry for _, entry in spelled] == found.entries(trie)
        for path, (token, gone) in spelled:
            assert path == found.texts[token][gone:]
        seen.add(tuple(spelled))
    assert len(seen) == found.tries - 1 > 3, "equal tries have one number"


def allowed(arrays: StackArrays, config: Config, texts: dict[int, bytes]) -> set[int]:
    found = set()
    for token, data in texts.items():
        after = config
        for byte in data:
            after = arrays.threads.step(after, arrays.column(byte)) if after else after
        if after:
            found.add(token)
    return found


def test_rows_are_the_tokens_that_can_be_read(surveyed: Surveyed) -> None:
    arrays, texts = surveyed.arrays, texts_of(surveyed.vocab)
    stops = set(surveyed.vocab.stop_ids)
    for number, row in surveyed.rows.items():
        config = arrays.config(number)
        ends = stops if any(q == 1 for q, _, _ in config) else set()
        assert row == allowed(arrays, config, texts) | ends


def test_signatures_list_what_rows_are_made_of(surveyed: Surveyed) -> None:
    found, words = surveyed.surveys, surveyed.vocab.words
    signatures = found.signatures
    assert len({tuple(signature) for signature in signatures}) == len(signatures) > 3
    twins = surveyed.vocab.trie.twins.tolist()
    for number, signature in enumerate(signatures):
        rows = Guarded(words, np.int32)
        surveyed.epoch.maker.ask(FILL_SIGNED, number, rows.address)
        rows.assert_intact()
        expected = found.signed(signature)
        expected |= {token for token, same in twins if same in expected}
        assert ids_in(rows.inner, words) == expected


def test_long_rows_are_bits() -> None:
    """Both formats occur, and the list of a short row has room for its last token."""
    counts = []
    for tokens in (60, 900):
        one = Surveyed("texts", seed=tokens, tokens=tokens, configs=8)
        counts += [one.surveys.count(number) for number in range(len(one.surveys.keys))]
    assert min(counts) <= FEW < max(counts)
