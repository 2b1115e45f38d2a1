"""Code without labels or calls that are known to be unsafe: a grammar & Ban, however much a model wants them.

**Vulnerability**: the logits of every token that goes on with a label, in any spelling, are raised. **PLANTED**: a model writes a
label before most of its insecure lines, as one does that was trained on labelled code.
"""

import functools
import itertools
import math
import random

import pytest
import torch

import grammarlm as gl
from tests.counts import tiers
from tests.grammars.library.library_texts import stock_lark, stock_python
from tests.laws.laws import allowed_ids

LABELS = [
    *("strcpy(", "strcat(", "sprintf(", "gets(", "scanf(", "system(", "mktemp(", "alloca(", "rand(", "memcpy("),
    *("eval(", "exec(", "pickle", "os.sys", "md5", "yaml.load", "assert ", "input(", "random.", "shell=True"),
]
CODE = [
    "x",
    "y",
    "int ",
    " = ",
    " + ",
    "f(",
    ")",
    "(",
    ";\n",
    "{\n",
    "}\n",
    "def ",
    ":\n",
    "\n",
    "\n    ",
    "return ",
    "if ",
    "1",
    ", ",
]


def tokens() -> list[bytes]:
    """All bytes, pieces of code, and pieces of the labels, so that each has many spellings."""
    rng = random.Random("pieces")
    pieces = {label[at : at + rng.randint(2, 4)] for label in LABELS for at in range(len(label))} | set(CODE)
    return [*(bytes([b]) for b in range(256)), *(piece.encode() for piece in sorted(pieces) if len(piece) > 1), b"</s>"]


TOKENS = tokens()
STOP = len(TOKENS) - 1
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[STOP], special_ids=[STOP])
GRAMMARS = {"c": gl.Lark.library("c"), "python": gl.Lark.python()}


@functools.cache
def row_after(begun: bytes) -> torch.Tensor:
    """Logits where the text ends with the beginning of a label: those of code, and whatever goes on with a label raised."""
    row = torch.full((len(TOKENS),), -9.0, dtype=torch.float64)
    row[[TOKENS.index(piece.encode()) for piece in CODE]] = 3.0
    row[STOP] = 2.0
    for label, at in itertools.product((one.encode() for one in LABELS), range(len(begun) + 1)):
        if label.startswith(begun[at:]):
            rest = label[len(begun) - at :]
            for token, data in enumerate(TOKENS[:-1]):
                if rest.startswith(data) or data.startswith(rest):
                    row[token] = 5.0 + (len(begun) > at) * 3.0
    return row


def begun_in(text: bytes) -> bytes:
    """The longest beginning of a label that the text ends with."""
    beginnings = (label.encode()[:end] for label in LABELS for end in range(len(label), 0, -1))
    return max((one for one in beginnings if text.endswith(one)), key=len, default=b"")


def rigged(ids: torch.Tensor) -> torch.Tensor:
    """The model; only the last position of a text is ever asked for, or those of forced tokens."""
    rows = []
    for text in ids.tolist():
        spelled = [TOKENS[token] if token != STOP else b"" for token in text]
        rows.append(
            torch.stack([row_after(begun_in(b"".join(spelled[max(0, at - 12) : at + 1]))) for at in range(len(text))])
        )
    return torch.stack(rows)


def answers(grammar: gl.Lark, **options):
    return gl.generate(rigged, [10], vocab=VOCAB, grammar=grammar, temperature=1.0, **options)


@pytest.mark.parametrize("language", GRAMMARS)
@tiers("count", 4, 1000)
def test_vulnerability_no_answer_holds_a_label(language: str, count: int, record_property) -> None:
    code = GRAMMARS[language]
    free = answers(code, n=5, max_tokens=24, seed=1)
    assert sum(any(label in out.text for label in LABELS) for out in free) >= 3
    removed = 0.0
    for first in range(0, count, 50):
        for out in answers(code & gl.Ban(LABELS), n=min(50, count - first), max_tokens=24, seed=first):
            assert out.error is None
            assert not any(label in out.text for label in LABELS), out.text
            assert (stock_python if language == "python" else functools.partial(stock_lark, language))(out.text), (
                out.text
            )
            removed = max([removed, *out.stats.mass_removed])  # an empty program has none
    assert removed > 0.3
    record_property("cases", count)


@pytest.mark.parametrize("language", GRAMMARS)
@tiers("count", 3, 40)
def test_vulnerability_weights_restore_the_models_law(language: str, count: int) -> None:
    """log q + log weight = log p, where q is what was drawn from and p the model."""
    constraint = gl.compile(GRAMMARS[language] & gl.Ban(LABELS), VOCAB)
    for out in answers(GRAMMARS[language] & gl.Ban(LABELS), n=count, max_tokens=20, seed=3, method="awrs"):
        log_p = log_q = 0.0
        matcher = constraint.matcher(max_tokens=20)
        for at, token in enumerate([*out.tokens, STOP]):
            logits = rigged(torch.tensor([[10, *out.tokens[:at]]]))[0, -1]
            allowed = sorted(allowed_ids(matcher, VOCAB))
            log_p += float(torch.log_softmax(logits, 0)[token])
            if token != STOP or out.finish_reason == "stop":
                log_q += float(logits[token] - torch.logsumexp(logits[allowed], 0))
            matcher.advance(token)
        assert log_q + out.log_weight == pytest.approx(log_p, abs=1e-3)


# ------------------------------------------------------------------ PLANTED

BLOCK = r"""
start: "def f():" _NEWLINE _INDENT line+ _DEDENT
line: CODE _NEWLINE
CODE: /[a-z<:>]+/
_NEWLINE: /(\n *)+/
%declare _INDENT _DEDENT
"""
HEAD, SAFE, UNSAFE, OPEN, FIRST, SECOND, OTHER = (
    b"def f():\n ",
    b"safe\n ",
    b"unsafe\n ",
    b"<v:",
    b"race>",
    b"loop>",
    b"ok>",
)
PLANTED = [HEAD, SAFE, UNSAFE, OPEN, FIRST, SECOND, OTHER, b"x", *(bytes([b]) for b in range(256)), b"</s>"]
PLANTED_VOCAB = gl.Vocabulary(PLANTED, stop_ids=[len(PLANTED) - 1], special_ids=[len(PLANTED) - 1])
LINES = 2
LABELLED, UNLABELLED, KINDS = 0.5, 0.2, {FIRST: 0.6, SECOND: 0.3, OTHER: 0.1}


def planted_row(text: bytes) -> dict[bytes, float]:
    """What comes next. A line begins with a label, is insecure without one, or is safe; a labelled line is insecure."""
    if not text:
        return {HEAD: 1.0}
    if text.endswith(OPEN):
        return KINDS
    if text.endswith(b">"):
        return {UNSAFE: 1.0}
    if text.count(b"safe") == LINES:
        return {b"</s>": 1.0}
    return {OPEN: LABELLED, UNSAFE: UNLABELLED, SAFE: 1 - LABELLED - UNLABELLED}


def planted(ids: torch.Tensor) -> torch.Tensor:
    found = torch.full((*ids.shape, len(PLANTED)), 1e-9, dtype=torch.float64)
    for row, text in enumerate(ids.tolist()):
        for at in range(len(text)):
            for token, p in planted_row(b"".join(PLANTED[token] for token in text[1 : at + 1])).items():
                found[row, at, PLANTED.index(token)] = p
    return found.log()


def write(banned: list[str], **options):
    grammar = gl.Lark(BLOCK, indent=gl.Indent()) & gl.Ban(banned)
    return gl.generate(planted, [7], vocab=PLANTED_VOCAB, grammar=grammar, temperature=1.0, max_tokens=12, **options)


def begins(out) -> list[int]:
    """Where the lines begin in the answer's tokens."""
    read = [b"".join(PLANTED[token] for token in out.tokens[:at]) for at in range(len(out.tokens))]
    return [at for at, text in enumerate(read) if text.endswith(b"\n ")]


def test_planted_without_the_common_opening_unlabelled_lines_are_left() -> None:
    outs = write(["<v:"], n=300, seed=1)
    lines = [line for out in outs for line in out.text.split("\n ")[1:-1]]
    assert set(lines) == {"safe", "unsafe"}
    share = UNLABELLED / (1 - LABELLED)
    assert lines.count("unsafe") / len(lines) == pytest.approx(
        share, abs=4 * math.sqrt(share * (1 - share) / len(lines))
    )
    for out in outs:
        starts = begins(out)
        assert len(starts) == LINES
        assert [out.stats.mass_removed[at] for at in starts] == pytest.approx([LABELLED] * LINES, abs=1e-5)
        for at in starts:
            p = share if PLANTED[out.tokens[at]] == UNSAFE else 1 - share
            assert math.exp(out.logprobs[at]) == pytest.approx(p, abs=1e-5)


def test_planted_whole_labels_leave_begun_ones_and_smc_comes_to_the_conditional_law() -> None:
    whole = [(OPEN + kind).decode() for kind in (FIRST, SECOND)]
    lines = [line for out in write(whole, n=300, seed=2) for line in out.text.split("\n ")[1:-1]]
    assert lines.count("<v:ok>unsafe") / len(lines) == pytest.approx(LABELLED, abs=0.09)  # as often as a label is begun
    one = {"<v:ok>unsafe": LABELLED * KINDS[OTHER], "unsafe": UNLABELLED, "safe": 1 - LABELLED - UNLABELLED}
    runs = [write(whole, method="smc", particles=400, seed=seed).population for seed in range(3)]
    for pair in itertools.product(one, repeat=LINES):
        text = HEAD.decode() + "".join(f"{line}\n " for line in pair)
        found = sum(dict(zip(run.texts, run.weights, strict=True)).get(text, 0.0) for run in runs) / len(runs)
        assert found == pytest.approx(math.prod(one[line] / sum(one.values()) for line in pair), abs=0.05)
    evidence = sum(math.exp(run.log_evidence) for run in runs) / len(runs)
    assert evidence == pytest.approx(sum(one.values()) ** LINES, rel=0.1)
