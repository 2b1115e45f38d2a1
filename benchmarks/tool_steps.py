"""Tools and thoughts beside their masks: a step of a server, an event of a stream; and how long a format takes to learn.

usage: GRAMMARLM_DATA=... python -m benchmarks.tool_steps [--rounds 10] [--rows 64 512] [--calls 40]

    events    AnswerEvents, as gl.stream feeds them, over the tokens of a written answer
    formats   ToolFormat.of() for each chat template of $GRAMMARLM_DATA, each for the first time
    steps     the rows of a decoding step as vLLM's backend, its processor and SGLang fill them (fill_rows), over one fill_masks of
              the same matchers: calls of tools, each row at another place of its text

Over the vocabulary of llama3_1, one thread; times are the thread's own on the processor. A decoding step of a model of half a
billion parameters with a thought and a schema is in benchmarks/generate.py.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import grammarlm as gl
from benchmarks.report import quantiles, table, write
from benchmarks.tool_calls import schema, tokens_of
from grammarlm.decoding.answers.answer_format import AnswerFormat
from grammarlm.decoding.settings import AnswerSpec, Settings
from grammarlm.decoding.stream import AnswerEvents
from grammarlm.grammars.generated import as_generated
from grammarlm.integrations.serving.served_row import ServedRow, fill_rows

TOOLS = [
    {"type": "function", "function": {"name": f"tool_{number}", "parameters": schema(number)}} for number in range(8)
]
PAGE = {"type": "object", "properties": {"page": {"type": "string"}}, "required": ["page"]}
WRITER = {"type": "function", "function": {"name": "write", "parameters": PAGE}}
THOUGHT = "The user asks for the weather, so I look it up city by city, and tell what I find. "


def arguments(number):
    return {f"city_{number}": "Berlin", "days": 3, "unit": "c", "tags": ["x y", "z"]}


def answers(calls):
    """By name: a grammar, and a text of it."""
    record = json.dumps(arguments(0))
    parts = gl.Capture("thought", gl.Text(until="</think>")) + gl.Repeat(
        gl.Capture("record", gl.JsonSchema(schema(0))), separator="\n"
    )
    yield "a thought and records, named", parts, THOUGHT * 5 + "</think>" + "\n".join([record] * calls)
    hermes, coder = gl.ToolFormat.named("hermes"), gl.ToolFormat.named("qwen3_coder")
    listed = [(f"tool_{number % 8}", arguments(number % 8)) for number in range(calls)]
    for form in (hermes, coder):
        begin, end, blanks = form.reasoning
        turn = begin + THOUGHT * 5 + end + blanks + form.write(listed)
        yield f"a thought and calls, {form.name}", gl.Tools(TOOLS, format=form, reasoning=True), turn
    page = [("write", {"page": '<p class="a">Some text, and more.</p>\n' * calls})]
    for form in (hermes, coder, gl.ToolFormat.named("llama3")):
        yield f"one call with a long page, {form.name}", gl.Tools([WRITER], format=form), form.write(page)


def events(vocab, calls, rounds):
    """Microseconds a token, of each case."""
    found = {}
    for name, grammar, text in answers(calls):
        constraint = gl.compile(as_generated(grammar), vocab)
        tokens = tokens_of(vocab, text)
        spec = AnswerSpec(vocab, Settings(), AnswerFormat(grammar), constraint)
        took = []
        for _ in range(rounds):
            reader, times = AnswerEvents(0, spec), []
            for token in tokens:
                step = SimpleNamespace(token=token, data=spec.bytes_of(token), held=0)
                begun = time.thread_time()
                for _ in reader.more(step):
                    pass
                times.append((time.thread_time() - begun) * 1e6)
            for _ in reader.end([spec.bytes_of(token) for token in tokens], is_complete=True):
                pass
            took.append(times)
        times = np.min(took, axis=0)
        quarter = len(times) // 4
        found[name] = {"tokens": len(times), **quantiles(times), "last": float(times[-quarter:].mean())}
    return found


def formats(folder):
    """Milliseconds for each template; the names of those that are refused."""
    took, refused = {}, []
    for path in sorted(folder.glob("*.jinja")):
        source = path.read_text("utf-8")
        begun = time.thread_time()
        try:
            gl.ToolFormat.of(source)
        except gl.UnsupportedFeature:
            refused.append(path.stem)
        took[path.stem] = (time.thread_time() - begun) * 1e3
    return {"times": took, **quantiles(list(took.values())), "refused": refused}


def steps(vocab, count, rounds):
    """Microseconds a row: one fill_masks, and the rows of a server; each step is at other places of the texts."""
    form = gl.ToolFormat.named("hermes")
    constraint = gl.compile(gl.Tools(TOOLS, format=form, reasoning=True), vocab)
    begin, end, blanks = form.reasoning
    calls = [(f"tool_{number}", arguments(number)) for number in range(8)]
    tokens = tokens_of(vocab, begin + THOUGHT + end + blanks + form.write(calls))
    starts = [at * 7 % (len(tokens) - rounds - 1) for at in range(count)]
    rows = [ServedRow(vocab, vocab.stop_ids).start(constraint) for _ in range(count)]
    matchers, others = ([constraint.matcher() for _ in range(count)] for _ in range(2))
    mask, took = gl.allocate_mask(count, vocab.size), {"one fill_masks": [], "rows of a server": []}

    def advance(at, token):
        assert rows[at].read(token)
        assert matchers[at].advance(token)
        assert others[at].advance(token)

    def seconds(fill):
        begun = time.thread_time()
        fill()
        return time.thread_time() - begun

    for at, start in enumerate(starts):
        for token in tokens[:start]:
            advance(at, token)
    for number in range(rounds):
        for at, start in enumerate(starts):
            advance(at, tokens[start + number])
        gl.fill_masks(
            others, mask, threads=1
        )  # makes what rows nobody has asked for: these are the grammar's, not the step's
        fillers = {
            "one fill_masks": lambda: gl.fill_masks(matchers, mask, threads=1),
            "rows of a server": lambda: fill_rows(rows, mask),
        }
        for name in sorted(took, reverse=number % 2 == 1):  # the second finds the processor's caches warm
            took[name].append(seconds(fillers[name]) * 1e6 / count)
    return {name: float(np.median(times)) for name, times in took.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--rows", type=int, nargs="*", default=[64, 512])
    parser.add_argument("--calls", type=int, default=40)
    options = parser.parse_args()
    data = os.environ.get("GRAMMARLM_DATA")
    if not data:
        print("GRAMMARLM_DATA says where real tokenizers and chat templates are", file=sys.stderr)
        return 1
    learned = formats(Path(data) / "chat_templates")
    vocab = gl.Vocabulary.from_tokenizer(Path(data) / "tokenizers" / "llama3_1")
    told = events(vocab, options.calls, options.rounds)
    filled = {count: steps(vocab, count, options.rounds) for count in options.rows}
    parts = [
        table(
            ["events", "tokens", "us a token", "p50", "p99", "most", "in the last quarter"],
            [[name, f"{each['tokens']:,}", *(f"{each[key]:.1f}" for key in ("avg", "p50", "p99", "max", "last"))]
             for name, each in told.items()],
        ),
        table(
            ["rows of a step", *next(iter(filled.values())), "ratio"],
            [[str(count), *(f"{each:.2f} us a row" for each in figures.values()),
              f"{figures['rows of a server'] / figures['one fill_masks']:.2f}"] for count, figures in filled.items()],
        ),
        f"{len(learned['times'])} formats: learned, or refused ({len(learned['refused'])}), in {learned['p50']:.0f} ms (median), "
        f"at most {learned['max']:.0f}. Bars: 20 us a token, 1.2 times one fill_masks, 200 ms.",
    ]  # fmt: skip
    write(
        "tool_steps",
        "Steps and events of tools",
        {"events": told, "steps": filled, "formats": learned},
        "\n\n".join(parts),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
