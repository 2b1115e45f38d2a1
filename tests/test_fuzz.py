"""The fuzzer notices what it is there to notice: each promise, broken on purpose, is a finding; kept, it is none."""

import json
import pathlib
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.regular import Algebra
from tests.fuzz_inputs import Input, mutated, seeds, smaller
from tests.fuzz_walk import Broken, Coverage, Walker

ROOT = pathlib.Path(__file__).parent.parent
DRIVE = tuple(random.Random("drive").choices(range(1 << 16), k=120))
INPUTS = [
    Input("Regex", "(ab|b1)*[a-c]{3,9}", drive=DRIVE),
    Input("Gbnf", 'root ::= "(" root ")" root | [ab]*', drive=DRIVE),
    Input("Lark", 'start: (A | B | "(" start ")")+\nA: /a+b?/\nB: /b+/', limits="tiny", drive=DRIVE),
]
WALKER = Walker()


def one_too_few(rollback: Any) -> Callable[..., Any]:
    return lambda matcher, n: rollback(matcher, max(0, n - 1))


def refuses_some(advance: Any) -> Callable[..., Any]:
    return lambda matcher, token: token % 3 != 1 and advance(matcher, token)


def takes_some(advance: Any) -> Callable[..., Any]:
    return lambda matcher, token: advance(matcher, token) or token % 3 == 1


def lacks_some(fill_mask: Any) -> Callable[..., Any]:
    def fill(matcher: Any, mask: Any, row: int = 0) -> bool:
        fill_mask(matcher, mask, row)
        mask[row, 3] &= -3  # token 97
        return True

    return fill


def forgets(snapshot: Any) -> Callable[..., Any]:
    def take(matcher: Any) -> bytes:
        fork = matcher.fork()
        fork.reset()
        return snapshot(fork)

    return take


def stumbles(advance: Any) -> Callable[..., Any]:
    return lambda matcher, data: 1 // (len(data) - 1) and advance(matcher, data)


@pytest.mark.parametrize("chosen", INPUTS, ids=[each.kind for each in INPUTS])
def test_nothing_is_wrong(chosen: Input) -> None:
    steps = WALKER.steps
    WALKER.run(chosen)
    assert WALKER.steps > steps


@pytest.mark.parametrize(
    ("name", "breaks", "finding"),
    [
        ("rollback", one_too_few, "rollback shows another mask|differs from that behind tokens"),
        ("advance", refuses_some, "the mask True|is refused"),
        ("advance", takes_some, "the mask False"),
        ("fill_mask", lacks_some, "the mask False"),
        ("snapshot", forgets, "a restored mask differs"),
        ("advance_bytes", stumbles, "division"),
    ],
)
def test_a_broken_promise_is_found(name: str, breaks: Any, finding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gl.Matcher, name, breaks(getattr(gl.Matcher, name)))
    for chosen in INPUTS:
        with pytest.raises((Broken, ZeroDivisionError), match=finding):
            WALKER.run(chosen)


def test_inputs_survive_json_and_grow_smaller() -> None:
    rng, corpus = random.Random(1), seeds()
    assert {each.kind for each in corpus} == {"Regex", "Gbnf", "Ebnf", "Lark", "Choices", "Text", "Ban"}
    changed = [mutated(rng.choice(corpus), corpus, rng) for _ in range(300)]
    for each in changed:
        assert Input.from_json(json.loads(json.dumps(each.as_json()))) == each
    assert len({each.text for each in changed} - {each.text for each in corpus}) > 100
    sizes = [(each, list(smaller(each, rng))) for each in changed[:20]]
    assert all(len(less.text) <= len(each.text) for each, several in sizes for less in several)


def test_coverage_tells_new_lines_from_old_ones() -> None:
    coverage, news = Coverage(), []
    for text in ("ab", "ab", "a{2,3}(?=b)b"):
        with coverage:
            gl.Regex(text).language(Algebra())
        news.append(coverage.is_new())
    assert news == [True, False, True]


def test_the_command_runs_and_replays(tmp_path: pathlib.Path) -> None:
    """A few seconds of it; whatever it finds is kept, printed, and found again."""
    (tmp_path / "kept.json").write_text(json.dumps({"finding": "", "input": INPUTS[1].as_json()}))
    command = [sys.executable, "-m", "tests.fuzz", "--replay", str(tmp_path / "kept.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "nothing is wrong\n"
