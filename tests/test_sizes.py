"""Every number of a request that becomes a size: an answer or an error that names it, before anything of that size is made."""

import contextlib
import re
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding import beam_search
from tests.texts import BYTES

VALUES = [10**9, 10**18, 10**20, -1, 2.5, True, "3", None]
ROOM, SECONDS = (
    4_000_000_000,
    120,
)  # more memory than there is now; after so long the process is ended, for a hang is no result
LETTERS = gl.Regex("[ab]*")
ITEMS = gl.Tokens([[1, 2, 3], [1, 2, 4], [5, 6, 7]])
NONE = [-1]


def model(ids: torch.Tensor) -> torch.Tensor:
    return torch.randn(*ids.shape, 257, generator=torch.Generator().manual_seed(0))


def mask(rows: int = 1) -> np.ndarray:
    return gl.allocate_mask(rows, BYTES.size)


def made(grammar: Any, **options: Any) -> bool:
    """Its first mask."""
    return gl.compile(grammar, BYTES, **options).matcher().fill_mask(mask())


def letters() -> gl.Constraint:
    return gl.compile(LETTERS, BYTES)


def canvas() -> Any:
    return letters().canvas(1)


def written(**options: Any) -> Any:
    return gl.generate(model, [97], **{"vocab": BYTES, "regex": "[ab]{3}", "max_tokens": 8} | options)


def filled(**options: Any) -> Any:
    return gl.infill(model, [-1, 97], **{"vocab": BYTES, "mask_id": 0} | options)


def automaton(**options: Any) -> Any:
    return gl.DeviceAutomaton(letters(), **options)


def by_device(**options: Any) -> Any:
    texts = gl.DeviceAutomaton(letters()).batch(2)
    loop = gl.DeviceLoop(lambda tokens, position: torch.zeros(2, 257), texts, **options)
    return loop.run(torch.zeros(2, dtype=torch.int64), 1)


def searched(**options: Any) -> Any:
    return beam_search(lambda tokens, parents: np.zeros((len(parents), 257), np.float32), ITEMS, **options)


def worth(prefixes: list[Any]) -> list[float]:
    return [0.0] * len(prefixes)


def with_keyword(call: Callable[..., Any], keyword: str, **options: Any) -> Callable[[Any], Any]:
    return lambda value: call(**options, **{keyword: value})


SIZES: dict[str, Callable[[Any], Any]] = {
    "batch allocate_mask": lambda value: gl.allocate_mask(value, 257),
    "max_tokens matcher": lambda value: letters().matcher(max_tokens=value),
    "limit forced_tokens": lambda value: letters().matcher().forced_tokens(value),
    "limit forced_bytes": lambda value: letters().matcher().forced_bytes(value),
    "rollback": lambda value: letters().matcher().rollback(value),
    "row fill_mask": lambda value: letters().matcher().fill_mask(mask(), value),
    "token advance": lambda value: letters().matcher().advance(value),
    "token explain": lambda value: letters().matcher().explain(value),
    "threads fill_masks": lambda value: gl.fill_masks([letters().matcher()], mask(), threads=value),
    "parents fill_tree": lambda value: gl.fill_tree(letters().matcher(), [97], [value], mask(2)),
    "tokens fill_tree": lambda value: gl.fill_tree(letters().matcher(), [value], [-1], mask(2)),
    "node MaskTree.add": lambda value: gl.MaskTree(letters().matcher()).add(97, value),
    "keep MaskTree.keep": lambda value: gl.MaskTree(letters().matcher()).keep(value),
    "node MaskTree.fill": lambda value: gl.MaskTree(letters().matcher()).fill(mask(), 0, value),
    "length canvas": lambda value: letters().canvas(value),
    "room canvas": lambda value: letters().canvas(2, after=letters().matcher(), room=value),
    "row canvas.allowed": lambda value: canvas().allowed([value]),
    "position allowed.row": lambda value: canvas().allowed(NONE).row(value),
    "position allowed.test": lambda value: canvas().allowed(NONE).test(value, [97]),
    "ids allowed.test": lambda value: canvas().allowed(NONE).test(0, [value]),
    "position canvas.commit": lambda value: canvas().commit(NONE, [value], [97]),
    "id canvas.commit": lambda value: canvas().commit(NONE, [0], [value]),
    "position canvas.explain": lambda value: canvas().explain(NONE, value, 97),
    "seed canvas.sample": lambda value: canvas().sample(NONE, np.zeros((1, 257), np.float32), seed=value),
    "size Vocabulary": lambda value: gl.Vocabulary([b"a", b""], stop_ids=[1], size=value),
    "stop_ids Vocabulary": lambda value: gl.Vocabulary([b"a", b""], stop_ids=[value]),
    "max_bytes Compiler": lambda value: gl.Compiler(BYTES, max_bytes=value),
    "threads Compiler": lambda value: gl.Compiler(BYTES, threads=value),
    "fewest TokenList": lambda value: made(gl.TokenList(ITEMS, fewest=value, most=1)),
    "most TokenList": lambda value: made(gl.TokenList(ITEMS, most=value)),
    "most TokenList, equal ones": lambda value: made(gl.TokenList(ITEMS, most=value, distinct=False)),
    "token Tokens": lambda value: made(gl.Tokens([[value, 2]])),
    "row ItemSet.remove": lambda value: gl.ItemSet(ITEMS).remove(rows=[value]),
    "row ItemSet.subset": lambda value: gl.ItemSet(ITEMS).subset(rows=[value]),
    "token ItemSet.add": lambda value: gl.ItemSet(ITEMS).add([[value, 1]]),
    "n gl.Hole": gl.Hole,
    "most gl.Hole": with_keyword(gl.Hole, "most"),
    "prompt generate": lambda value: gl.generate(model, [97, value], vocab=BYTES, regex="[ab]{3}", max_tokens=8),
    "n stream": lambda value: next(iter(gl.stream(model, [97], vocab=BYTES, regex="[ab]{3}", n=value))),
    "batch DeviceAutomaton.batch": lambda value: gl.DeviceAutomaton(letters()).batch(value),
    **{f"{name} DeviceAutomaton": with_keyword(automaton, name) for name in ("states", "edges", "rows")},
    **{f"{name} DeviceLoop": with_keyword(by_device, name, temperature=1.0) for name in ("longest", "top_k", "seed")},
    **{
        f"{name} generate": with_keyword(written, name, temperature=1.0)
        for name in ("max_tokens", "n", "top_k", "seed", "batch_size")
    },
    **{
        f"{name} diffusion": with_keyword(written, name, method="diffusion", mask_id=0)
        for name in ("max_tokens", "n", "steps", "block")
    },
    **{f"{name} infill": with_keyword(filled, name) for name in ("steps", "block", "mask_id", "seed")},
    **{
        f"{name} {method}": with_keyword(written, name, method=method)
        for method, names in {
            "beam": ("beams", "n"), "lookahead": ("width", "depth", "n"), "trials": ("most", "depth", "n"),
            "smc": ("particles", "n"), "best_of": ("candidates", "n"), "awrs": ("n",),
        }.items()
        for name in names
    },
    **{f"{name} beam_search": with_keyword(searched, name) for name in ("beams", "stop", "batch", "groups", "seed")},
    **{f"{name} beam_search": with_keyword(searched, name, value=worth, beams=1) for name in ("proposals", "value_budget")},
}  # fmt: skip
NUMBERS = [10**9, 10**18, 10**20, -1, "2.5", "x"]
GRAMMARS: dict[str, Callable[[Any], Any]] = {
    **{
        f"{kind.__name__} {text}": lambda n, kind=kind, text=text: kind(text.replace("N", str(n)))
        for kind, text in (
            (gl.Regex, "a{N}"), (gl.Regex, "(ab?){0,N}"), (gl.Regex, "a{N,}"), (gl.Regex, "(a*){N}"), (gl.Regex, "(a{N}){N}"),
            (gl.Gbnf, 'root ::= "a"{N}'), (gl.Gbnf, 'root ::= (root? "a"){0,N}'), (gl.Ebnf, 'root ::= "a"{N}'),
            (gl.Lark, 'start: "a" ~ N'), (gl.Lark, 'start: x ~ 0..N\nx: "a" | "b" x "c"'),
        )
    },
    "pattern": lambda n: gl.JsonSchema({"type": "string", "pattern": f"^a{{{n}}}$"}),
    "patternProperties": lambda n: gl.JsonSchema(
        {"patternProperties": {f"^a{{{n}}}$": {}}, "additionalProperties": False, "minProperties": 1}
    ),
    **{
        f"{keyword} {kind}": lambda n, kind=kind, keyword=keyword: gl.JsonSchema({"type": kind, keyword: n})
        for kind, keywords in {
            "string": ("minLength", "maxLength"), "array": ("minItems", "maxItems"),
            "object": ("minProperties", "maxProperties"), "integer": ("minimum", "exclusiveMaximum", "multipleOf"),
            "number": ("maximum", "multipleOf"),
        }.items()
        for keyword in keywords
    },
    "minItems uniqueItems": lambda n: gl.JsonSchema({"type": "array", "minItems": n, "uniqueItems": True}),
    "minContains": lambda n: gl.JsonSchema({"type": "array", "contains": {"type": "null"}, "minContains": n}),
    "maxContains": lambda n: gl.JsonSchema({"type": "array", "contains": {"type": "null"}, "maxContains": n}),
    "const": lambda n: gl.JsonSchema({"const": n}),
}  # fmt: skip


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_AS)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, limits[1]))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def refusal(call: Callable[[Any], Any], value: Any) -> str | None:
    """The message of an error of ours; None where there is an answer. Anything else rises."""
    try:
        with little_memory():
            call(value)
    except (gl.GrammarError, gl.MaskError, gl.TokenizerError, ValueError, TypeError, IndexError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", SIZES)
def test_a_size_is_taken_or_refused_by_name(name: str) -> None:
    named = re.compile(rf"\b{name.split(maxsplit=1)[0].removesuffix('s')}", re.IGNORECASE)
    said = {repr(value): refusal(SIZES[name], value) for value in VALUES}
    for value, message in said.items():
        assert message is None or named.search(message), (value, message)
    assert any(message is not None for message in said.values())


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_number_of_a_grammar_is_taken_or_refused(name: str) -> None:
    limits = gl.Limits(max_ms=4_000, max_states=4_096)
    for value in NUMBERS:
        with little_memory(), contextlib.suppress(gl.GrammarError):
            made(GRAMMARS[name](value), limits=limits)


def test_what_is_forced_has_one_clock() -> None:
    """Each mask has one of its own, so that of a long text would never stop."""
    limits = gl.Limits(max_mask_work=20)
    matcher = gl.compile(gl.Regex("a{3000}"), BYTES, limits=limits).matcher()
    for forced, letter in ((matcher.forced_tokens, [97]), (matcher.forced_bytes, b"a")):
        assert forced(300) == letter * 300
        with pytest.raises(gl.LimitExceeded, match="max_mask_work"):
            forced(3000)
    assert matcher.advance(97)
