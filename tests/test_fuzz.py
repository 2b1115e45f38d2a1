"""The fuzzer notices what it is there to notice: each promise, broken on purpose, is a finding; kept, it is none."""

import json
import pathlib
import random
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.masks.saved.sealed import seal
from tests.fuzz_inputs import Input
from tests.fuzz_schemas import mutated_schema, odd, spelled, trees
from tests.fuzz_walk import Broken, Walker, check_refusal

ROOT = pathlib.Path(__file__).parent.parent
DRIVE = tuple(random.Random("drive").choices(range(1 << 16), k=120))
INPUTS = [
    Input("Regex", "(ab|b1)*[a-c]{3,9}", drive=DRIVE),
    Input("Gbnf", 'root ::= "(" root ")" root | [ab]*', drive=DRIVE),
    Input("Lark", 'start: (A | B | "(" start ")")+\nA: /a+b?/\nB: /b+/', limits="tiny", drive=DRIVE),
]
SCHEMAS = [
    Input(
        "JsonSchema",
        '{"prefixItems": [{"const": 5e-324}, {"enum": [{"a": 1e400}]}]}',
        options=("spelling=plain",),
        drive=DRIVE,
    ),
    Input(
        "JsonSchema",
        '{"enum": ["xn--p1ai.com", "a b"], "format": "hostname"}',
        options=("whitespace=natural",),
        drive=DRIVE[:40],
    ),
    Input(
        "JsonSchema",
        '{"maximum": 3}',
        (("+", "Text", "<>"), ("|", "JsonSchema", "false")),
        vocabulary=3,
        drive=DRIVE[:40],
    ),
    Input("Parts", "7 nest", drive=DRIVE[:40]),
    Input("Schema", '{"minimum": "!Decimal 1e309", "default": "!digits 9000", "type": "integer"}', drive=DRIVE),
]
REFUSED = [
    Input("JsonSchema", "/dev/zero"),
    Input("JsonSchema", '{"minimum": 1e99999999999999999999999}'),
    Input("Schema", '{"properties": {1: {}}}'),
    Input("Schema", '{"const": "!digits 9000"}', beside=(("|", "JsonSchema", "false"),)),
    Input("Lark", "/etc/passwd", drive=DRIVE),
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


def takes_great_ones(advance: Any) -> Callable[..., Any]:
    return lambda matcher, token: advance(matcher, token) or token > 2**30


def forgives(rollback: Any) -> Callable[..., Any]:
    return lambda matcher, n: rollback(matcher, n) if 0 <= n < 1000 else None


def takes_any(restore: Any) -> Callable[..., Any]:
    def take(constraint: Any, snapshot: bytes) -> Any:
        try:
            return restore(constraint, snapshot)
        except gl.GrammarError:
            return constraint.matcher()

    return take


def stumbles(advance: Any) -> Callable[..., Any]:
    return lambda matcher, data: 1 // (len(data) - 1) and advance(matcher, data)


@pytest.mark.parametrize("chosen", INPUTS + SCHEMAS, ids=[each.kind for each in INPUTS + SCHEMAS])
def test_nothing_is_wrong(chosen: Input) -> None:
    steps = WALKER.steps
    WALKER.run(chosen)
    assert WALKER.steps > steps


@pytest.mark.parametrize("chosen", REFUSED, ids=[each.text for each in REFUSED])
def test_a_refusal_is_no_finding(chosen: Input) -> None:
    steps = WALKER.steps
    WALKER.run(chosen)
    assert WALKER.steps == steps


def test_errors_that_nobody_raised_on_purpose_and_opened_files_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="range") as caught:
        seal(b"", 300, b"")  # where a number does not fit a byte
    with pytest.raises(ValueError, match="range"):
        check_refusal(caught.value)
    monkeypatch.setattr(gl, "JsonSchema", lambda text, **_: pathlib.Path(text).read_text())
    with pytest.raises(Broken, match="opened as a file"):
        WALKER.run(REFUSED[0])


@pytest.mark.parametrize(
    ("name", "breaks", "finding"),
    [
        ("rollback", one_too_few, "rollback shows another mask|differs from that after tokens"),
        ("advance", refuses_some, "the mask True|is refused"),
        ("advance", takes_some, "the mask False"),
        ("fill_mask", lacks_some, "the mask False"),
        ("snapshot", forgets, "a restored mask differs"),
        ("advance_bytes", stumbles, "division"),
        ("advance", takes_great_ones, "a hostile integer is a token"),
        ("rollback", forgives, "a hostile integer is rolled back"),
        ("restore", takes_any, "damaged bytes are read"),
    ],
)
def test_a_broken_promise_is_found(name: str, breaks: Any, finding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = gl.Constraint if name == "restore" else gl.Matcher
    monkeypatch.setattr(broken, name, breaks(getattr(broken, name)))
    for chosen in INPUTS:
        with pytest.raises((Broken, ZeroDivisionError), match=finding):
            WALKER.run(chosen)


def test_schemas_become_other_schemas() -> None:
    """Most changes of a tree are JSON still, numbers are kept as they are spelled, and every kind of change comes."""
    rng, text = random.Random(2), '{"properties": {"a": {"const": 1.50}}, "required": ["a"]}'
    assert spelled(trees(text)) == text
    changed = {mutated_schema(text, '{"enum": [5e-324]}', rng) for _ in range(300)}
    assert len(changed) > 100
    assert {"format", "prefixItems", "5e-324", "1.50"} <= set(re.findall(r"[\w.-]+", " ".join(changed)))
    assert all(spelled(trees(each)) == each for each in changed)


def test_values_that_no_text_holds() -> None:
    assert odd('{"a": "!Decimal 1e400", 1: ["!digits 5000"]}') == {"a": Decimal("1e400"), 1: [10**5000]}
    for wrong in ("{", "f()", '"!Decimal x"', "[" * 3000, "{[]: 1}", "1" * 9999):
        with pytest.raises(ValueError, match=r"literal|malformed|integer string"):
            odd(wrong)


def test_the_command_runs_and_replays(tmp_path: pathlib.Path) -> None:
    """A few seconds of it; whatever it finds is kept, printed, and found again."""
    (tmp_path / "kept.json").write_text(json.dumps({"finding": "", "input": INPUTS[1].as_json()}))
    command = [sys.executable, "-m", "tests.fuzz", "--replay", str(tmp_path / "kept.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "nothing is wrong\n"
