"""What tokens add to numbers, gaps and strings, against regular expressions."""

import random
import re

import grammarlm as gl
from grammarlm.masks.canvas.json.doubts import digits_beside
from grammarlm.masks.canvas.json.sizes import number_edges, sizes_of

ALPHABET = [b"1", b"2", b"e", b"-", b".", b" ", b"\t", b"\n", b":", b",", b"]", b'"', b"x", "é".encode()]


def test_ends_of_random_tokens() -> None:
    rng = random.Random(0)
    tokens = [b"".join(rng.choices(ALPHABET, k=rng.randrange(7))) for _ in range(4000)]
    tokens += [b"", b" " * 41, b"1" * 50]
    vocab = gl.Vocabulary([*tokens, b"</s>"], stop_ids=[len(tokens)], size=len(tokens) + 5)
    sizes, ends = sizes_of(vocab), number_edges(vocab)
    for i, text in enumerate(tokens):
        for edges, run in ((sizes.numbers, rb"[-+.0-9eE]*"), (sizes.blanks, rb"[ \t\r\n]*")):
            lead, trail = re.match(run, text)[0], re.search(run + rb"\Z", text)[0]
            assert edges.leading[i] == counted(edges, sizes, lead), text
            assert edges.trailing[i] == counted(edges, sizes, trail), text
            assert edges.is_whole[i] == (lead == text != b""), text
        assert sizes.characters[i] == len(text.decode()), text
        assert ends.ends[i] == bool(re.match(rb"[-+.0-9eE]*[,\]} \t\r\n]", text)), text
        begun = re.search(rb"[:,\[ \t\r\n]([-+.0-9eE]+)\Z", text)
        assert ends.trailing[i] == (len(begun[1]) if begun else 0), text
        assert ends.is_before[i] == bool(re.search(rb"[:,\[ \t\r\n][-+.0-9eE]*\Z", text)), text
    runs = [run for text in tokens for run in re.findall(rb"[ \t\r\n]+", text)]
    assert sizes.blanks.most == max(n for run in runs if (n := counted(sizes.blanks, sizes, run)) <= 40) > 2
    assert sizes.numbers.most == 50
    assert len(ends.leading) == len(sizes.characters) == vocab.size


def counted(edges: object, sizes: object, run: bytes) -> int:
    return len(run) if edges is sizes.numbers else run.count(b" ") + run.count(b"\t")


def test_digits_beside_masked_tokens() -> None:
    """Of numbers alone: what a given token shows to be a part of a string is none, until a masked one may end that."""
    tokens = [b"?", b'"', b"T", b"12", b"000", b"-", b": ", b"1", b" 7", b",", b"a-", b"."]
    vocab = gl.Vocabulary(tokens, stop_ids=[11], special_ids=[0, 11])
    for row, before, most in (
        ([6, 3, 4, -1], 0, 5),
        ([2, 3, 4, -1], 0, 0),
        ([2, 3, -1, 4, 4, -1], 0, 6),
        ([3, -1, 3, 9], 0, 4),
        ([3, -1, 3, 1], 0, 0),
        ([1, 8, 3, -1], 0, 3),
        ([10, 4, -1], 0, 0),
        ([10, 9, 5, 4, -1], 0, 4),
        ([3, -1], 4, 6),
        ([9, 3, 4], 0, 0),
    ):
        assert digits_beside(row, vocab, before) == most, row
