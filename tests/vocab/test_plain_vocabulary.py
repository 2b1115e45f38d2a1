"""Vocabularies from plain lists: which ids are text, what a width means, what is refused, and that nothing changes."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.token_facts import token_facts

TOKENS = [b"<s>", b"</s>", b"a", b"b", b"", b"a", b"\xe2\x82", b"ab", b"\x00"]


def plain(**changed):
    return gl.Vocabulary(**{"tokens": TOKENS, "stop_ids": [1], "special_ids": [0, 1]} | changed)


def test_tokens_are_kept_as_they_are():
    vocab = plain()
    assert [vocab.token_bytes(i) for i in range(len(TOKENS))] == TOKENS
    assert vocab.offsets.dtype == np.int64
    assert vocab.data.dtype == np.uint8
    assert [vocab.data[a:b].tobytes() for a, b in zip(vocab.offsets, vocab.offsets[1:], strict=False)] == TOKENS


def test_text_is_what_has_bytes_and_is_neither_special_nor_a_stop():
    vocab = plain()
    assert vocab.text_ids.dtype == np.int32
    assert vocab.text_ids.tolist() == [2, 3, 5, 6, 7, 8]  # twice "a"; not the empty token
    assert token_facts(vocab).single_bytes == 1 | 1 << ord("a") | 1 << ord("b")
    assert (vocab.stop_ids, vocab.special_ids, vocab.size, vocab.words) == ((1,), (0, 1), 9, 1)


def test_a_stop_id_may_be_an_ordinary_or_an_empty_token():
    vocab = plain(stop_ids=[7, 4], special_ids=[])
    assert vocab.stop_ids == (4, 7)
    assert vocab.special_ids == ()
    assert vocab.text_ids.tolist() == [0, 1, 2, 3, 5, 6, 8]


def test_logits_wider_than_the_tokens():
    vocab = plain(size=65, stop_ids=[1, 40])
    assert (vocab.size, vocab.words, vocab.stop_ids) == (65, 3, (1, 40))
    assert vocab.token_bytes(64) == b""
    assert vocab.text_ids.tolist() == plain().text_ids.tolist()


def test_logits_narrower_than_the_tokens():
    vocab = plain(size=3)
    assert (vocab.size, vocab.words, vocab.text_ids.tolist()) == (3, 1, [2])
    assert vocab.data.tobytes() == b"<s></s>a"
    assert plain(size=1, stop_ids=[0]).special_ids == (0,)  # 1 does not exist any more
    with pytest.raises(gl.TokenizerError, match=r"the token id is 3: ids are integers from 0 to 2"):
        vocab.token_bytes(3)


def test_ids_may_be_numpy_integers():
    vocab = plain(stop_ids=np.array([1]), size=np.int64(9))
    assert vocab == plain()
    assert type(vocab.stop_ids[0]) is int
    assert vocab.token_bytes(np.int32(2)) == b"a"


def test_equality_is_content():
    assert plain() == plain()
    assert hash(plain()) == hash(plain())
    assert plain() != TOKENS
    different = [plain(stop_ids=[0]), plain(special_ids=[0]), plain(size=10), plain(tokens=[*TOKENS[:-1], b"\x01"])]
    different += [plain(tokens=[b"<s></s>", b"", *TOKENS[2:]]), plain(special_ids=[0, 1, 4])]
    assert len({vocab.fingerprint for vocab in [plain(), *different]}) == 7


def test_the_fingerprint_is_the_same_in_another_process():
    program = f"import grammarlm as gl; print(gl.Vocabulary({TOKENS!r}, [1], [0, 1]).fingerprint)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == plain().fingerprint == "91cb9091acec318d6aa0a66cf80d2095adb8012a"


def test_nothing_can_be_changed():
    vocab = plain()
    with pytest.raises(AttributeError, match=r"a Vocabulary cannot be changed \(setting size\)"):
        vocab.size = 3
    with pytest.raises(AttributeError, match=r"a Vocabulary cannot be changed \(deleting size\)"):
        del vocab.size
    for array in (vocab.offsets, vocab.data, vocab.text_ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_pickle():
    copy = pickle.loads(pickle.dumps(plain()))
    assert copy == plain()
    assert copy.token_bytes(7) == b"ab"


def test_what_is_printed():
    assert repr(plain()) == "<Vocabulary: size 9, 6 text tokens, stop ids [1]>"


REFUSED = {
    "no tokens": ({"tokens": []}, "tokens is a list of at least one bytes object, not []"),
    "one string": ({"tokens": b"abc"}, "tokens is a list of at least one bytes object, not b'abc'"),
    "not a list": ({"tokens": 5}, "tokens is a list of at least one bytes object, not 5"),
    "text": ({"tokens": [b"a", "b"]}, "the token 1 is str, not bytes: give the bytes it spells, b'' for a hole"),
    "none": ({"tokens": [None, b"b"]}, "the token 0 is NoneType, not bytes: give the bytes it spells, b'' for a hole"),
    "no stop": ({"stop_ids": []}, "stop_ids is empty: a text could never end. Give the id of the end of sequence"),
    "one stop": ({"stop_ids": 1}, "stop_ids is 1: give a list of ids, for example [2]"),
    "stop beyond": ({"stop_ids": [9]}, "stop_ids[0] is 9: ids are integers from 0 to 8"),
    "stop beyond the size": ({"size": 1}, "stop_ids[0] is 1: ids are integers from 0 to 0"),
    "negative stop": ({"stop_ids": [1, -1]}, "stop_ids[1] is -1: ids are integers from 0 to 8"),
    "stop twice": ({"stop_ids": [1, 0, 1]}, "stop_ids has the id 1 twice: each id is given once"),
    "stop is no number": ({"stop_ids": ["</s>"]}, "stop_ids[0] is '</s>': ids are integers from 0 to 8"),
    "stop is a float": ({"stop_ids": [1.0]}, "stop_ids[0] is 1.0: ids are integers from 0 to 8"),
    "stop is a bool": ({"stop_ids": [True]}, "stop_ids[0] is True: ids are integers from 0 to 8"),
    "special beyond": ({"special_ids": [0, 9]}, "special_ids[1] is 9: ids are integers from 0 to 8"),
    "special twice": ({"special_ids": [0, 0]}, "special_ids has the id 0 twice: each id is given once"),
    "size 0": ({"size": 0}, f"size is 0: the width of the logits is an integer from 1 to {2**31 - 1}"),
    "size negative": ({"size": -3}, f"size is -3: the width of the logits is an integer from 1 to {2**31 - 1}"),
    "size too large": (
        {"size": 2**31},
        f"size is {2**31}: the width of the logits is an integer from 1 to {2**31 - 1}",
    ),
    "size is text": (
        {"size": "9"},
        f"size is '9': the width of the logits is an integer from 1 to {2**31 - 1}",
    ),
    "size is a float": ({"size": 9.0}, f"size is 9.0: the width of the logits is an integer from 1 to {2**31 - 1}"),
    "size is a bool": ({"size": True}, f"size is True: the width of the logits is an integer from 1 to {2**31 - 1}"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    changed, message = REFUSED[case]
    with pytest.raises(gl.TokenizerError) as error:
        plain(**changed)
    assert str(error.value) == message


def test_encode_needs_a_tokenizer():
    with pytest.raises(gl.TokenizerError, match="has no tokenizer to encode with: make it with"):
        plain().encode("a")
