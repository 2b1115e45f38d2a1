"""Python without some strings: programs of the standard library, and drawn ones, judged by stock lark, Python's ast and `in`."""

import ast
import functools
import random
import sysconfig
from pathlib import Path

import pytest

import grammarlm as gl
from tests.counts import tiers
from tests.grammars.library.library_texts import stock_python
from tests.laws.laws import allowed_ids
from tests.texts import accepts

WORDS = [
    b"def f",
    b"return",
    b"import ",
    b"from ",
    b"x = ",
    b"(x)",
    b":\n",
    b"\n    ",
    b" in ",
    b"eval",
    b"ex",
    b"ec(",
    b".os",
    b"if x",
]
TOKENS = [*(bytes([b]) for b in range(256)), *WORDS, b"</s>"]
STOP = len(TOKENS) - 1
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[STOP], special_ids=[STOP])
LIKELY = {*b"abdefimnoprstx:=\n ()[]'\",.+#", *range(256, STOP)}
MET = [("import", "exec"), ("\n    return", "None"), ("raise ", "while ")]  # by programs
DRAWN = [("import", "exec"), ("eval(", ".os", "exec("), ("\n\n", "#"), ("x", "return")]


@functools.cache
def without(*banned: str) -> gl.Constraint:
    return gl.compile(gl.Lark.python() & gl.Ban(banned), VOCAB)


@functools.cache
def statements() -> list[str]:
    folder = Path(sysconfig.get_paths()["stdlib"])
    trees = [ast.parse((folder / f"{name}.py").read_text("utf-8")) for name in ("textwrap", "queue", "shlex", "cmd")]
    texts = [ast.unparse(node) + "\n" for tree in trees for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return [text for text in texts if len(text) < 600]


def names_in(text: str) -> set[str]:
    """The identifiers of a program."""
    nodes = list(ast.walk(ast.parse(text)))
    values = [value for node in nodes for _, value in ast.iter_fields(node)]
    return {
        name for value in values for name in (value if isinstance(value, list) else [value]) if isinstance(name, str)
    }


@pytest.mark.parametrize("banned", MET, ids=repr)
@tiers("count", 12, 400)
def test_programs(banned: tuple[str, ...], count: int) -> None:
    rng, good = random.Random(repr(banned)), 0
    for _ in range(count):
        text = "".join(rng.sample(statements(), rng.randint(1, 3)))
        if not stock_python(text):
            continue
        expected = not any(one in text for one in banned)
        assert accepts(without(*banned), text) is expected, text
        if expected:
            good += 1
            assert not any(one in name for one in banned for name in names_in(text))
    assert 0 < good < count


def drawn(banned: tuple[str, ...], most: int, rng: random.Random) -> str:
    matcher, text = without(*banned).matcher(max_tokens=most), b""
    while True:
        allowed = sorted(allowed_ids(matcher, VOCAB))
        token = rng.choice([token for token in allowed if token in LIKELY] or allowed)
        assert matcher.advance(token)
        if token == STOP:
            return text.decode()
        text += TOKENS[token]


@pytest.mark.parametrize("banned", DRAWN, ids=repr)
@tiers("count", 3, 100)
def test_drawn_programs(banned: tuple[str, ...], count: int, record_property) -> None:
    """Tokens that lead into the banned strings are drawn often; every text ends in time."""
    rng, read = random.Random(repr(banned)), 0
    for _ in range(count):
        text = drawn(banned, rng.choice([8, 20, 40]), rng)
        assert stock_python(text), text
        assert not any(one in text for one in banned), text
        try:
            names = names_in(text)
        except SyntaxError:  # lark's grammar takes 1 = x and the like
            continue
        read += 1
        assert not any(one in name for one in banned for name in names)
    record_property("cases", count)
    record_property("that Python compiles", read)
    assert read or count < 10


@pytest.mark.parametrize(
    ("banned", "text", "refused"),
    [
        (("import",), "from", " "),
        (("import",), "fro", ""),
        (("]",), "x = ", "["),
        ((":",), "if", " "),
        ((":",), "x = (a if", ""),
        (("except", "finally"), "try", ":"),
        (("except",), "try", ""),
        (("\n ", "\n\t", "#"), "if x:", ""),
        (("return",), "def f(x):\n    retur", "n"),
    ],
    ids=repr,
)
def test_what_cannot_be_finished(banned: tuple[str, ...], text: str, refused: str) -> None:
    """`refused`: the only likely byte that lark's grammar takes, and that is refused; none: the text has an end."""
    matcher = without(*banned).matcher()
    assert matcher.advance_bytes(text.encode()), text
    plain = gl.compile(gl.Lark.python(), VOCAB).matcher()
    assert plain.advance_bytes(text.encode())
    if refused:
        assert plain.fork().advance_bytes(refused.encode())
        assert not matcher.fork().advance_bytes(refused.encode())
        assert ord(refused) not in allowed_ids(matcher, VOCAB)
    else:
        assert allowed_ids(matcher, VOCAB)
        assert matcher.min_tokens_left > 0


def test_unsatisfiable_bans() -> None:
    blank = gl.compile(gl.Lark.python() & gl.Ban(["\n", "#"]), VOCAB).matcher()  # no line can end, so none begins
    assert blank.is_accepting
    assert not blank.advance_bytes(b"x")
    with pytest.raises(gl.UnsatisfiableGrammar, match="left by '&' and '-'"):
        gl.compile(gl.Lark.python() & gl.Regex("[a-z]+"), VOCAB)
