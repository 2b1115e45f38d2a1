"""Calls of tools: text, calls between tags, one of many schemas in each; and what budgets, repeats and long texts cost.

usage: GRAMMARLM_DATA=... python -m benchmarks.tool_calls

Over the vocabulary of llama3_1, tools of four properties. The peers get structural tags that say the same. Each engine compiles in
a fresh object; "first" texts are read for the first time, then again. Times are the thread's own on the processor, so that other
work on the machine does not count; only xgrammar compiles on one thread of its own, whose time is the wall's.
"""

import json
import os
import resource
import sys
import time

import numpy as np

from benchmarks.report import quantiles, table, write

TOOLS = (1, 8, 64, 128, 400)
PEERS_UP_TO = 128  # tools of xgrammar, which takes seconds for more
ROUNDS = 5
OPEN, CLOSE = "<tool_call>\n", "}\n</tool_call>"


def schema(number):
    return {
        "type": "object",
        "properties": {
            f"city_{number}": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"enum": ["c", "f"]},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
        "required": [f"city_{number}"],
        "additionalProperties": False,
    }


def begin(number):
    return f'{{"name": "tool_{number}_{"abcdefgh"[number % 8]}", "arguments": '


def text(number):
    arguments = json.dumps({f"city_{number}": "Berlin", "days": 3, "unit": "c", "tags": ["x y", "z"]})
    return f"Sure, let me look.\n{OPEN}{begin(number)}{arguments}{CLOSE}\nSo far so good; now the next. "


class Ours:
    name = "grammarlm"

    def __init__(self, folder):
        import grammarlm as gl

        self.gl, self.vocab = gl, gl.Vocabulary.from_tokenizer(folder)
        self.row = gl.allocate_mask(1, self.vocab.size)
        self.compile(1)  # kernels and tables of the vocabulary, once a process
        self.fill(self.start())

    def grammar(self, count):
        import functools
        import operator

        gl = self.gl
        calls = [begin(n) + gl.JsonSchema(schema(n)).as_generated() + CLOSE for n in range(count)]
        return gl.Repeat(gl.Text(until=OPEN) + functools.reduce(operator.or_, calls)) + gl.Ban([OPEN])

    def compile(self, count):
        self.constraint = self.gl.compile(self.grammar(count), self.vocab)

    def start(self):
        return self.constraint.matcher()

    def fill(self, matcher):
        matcher.fill_mask(self.row)

    def advance(self, matcher, token):
        return matcher.advance(token)


class LLGuidance:
    name = "llguidance"

    def __init__(self, folder, vocab):
        import llguidance
        import llguidance.numpy

        self.module = llguidance
        self.tokenizer = llguidance.LLTokenizer((folder / "tokenizer.json").read_text(), n_vocab=vocab.size)
        self.row = llguidance.numpy.allocate_token_bitmask(1, vocab.size)
        self.fill_row = llguidance.numpy.fill_next_token_bitmask

    def compile(self, count):
        tags = [
            self.module.StructTag(trigger=OPEN, begin=OPEN + begin(n), grammar=schema(n), end=CLOSE)
            for n in range(count)
        ]
        self.grammar = self.module.StructTag.to_grammar(tags)
        self.made = self.module.LLMatcher(self.tokenizer, self.grammar)
        assert not self.made.get_error(), self.made.get_error()

    def start(self):
        return self.made.deep_copy()

    def fill(self, matcher):
        self.fill_row(matcher, self.row, 0)

    def advance(self, matcher, token):
        return matcher.consume_token(token)


class XGrammar:
    name = "xgrammar"

    def __init__(self, folder, vocab):
        import xgrammar

        self.module = xgrammar
        tokens = [vocab.token_bytes(token) for token in range(vocab.size)]
        kind = xgrammar.VocabType.RAW
        self.info = xgrammar.TokenizerInfo(tokens, kind, vocab_size=vocab.size, stop_token_ids=list(vocab.stop_ids))
        self.row = xgrammar.allocate_token_bitmask(1, vocab.size)

    def compile(self, count):
        tags = [
            {
                "type": "tag",
                "begin": OPEN + begin(n),
                "content": {"type": "json_schema", "json_schema": schema(n)},
                "end": CLOSE,
            }
            for n in range(count)
        ]
        tag = {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": [OPEN], "tags": tags}}
        compiler = self.module.GrammarCompiler(self.info, max_threads=1, cache_enabled=False)
        self.made = compiler.compile_structural_tag(json.dumps(tag))

    def start(self):
        return self.module.GrammarMatcher(self.made)

    def fill(self, matcher):
        matcher.fill_next_token_bitmask(self.row)

    def advance(self, matcher, token):
        return matcher.accept_token(token)


def read(engine, matcher, tokens):
    """Microseconds of each mask and of each token."""
    now, masks, steps = time.thread_time, [], []
    for token in tokens:
        begun = now()
        engine.fill(matcher)
        filled = now()
        assert engine.advance(matcher, token), (engine.name, token)
        steps.append(now() - filled)
        masks.append(filled - begun)
    return np.array(masks) * 1e6, np.array(steps) * 1e6


def tokens_of(vocab, said):
    tokens = vocab.encode(said)
    return tokens[1:] if tokens[0] in vocab.special_ids else tokens


def measure(engine, count, tokens):
    """One number of tools: compile with the first mask, the first text, and the text again."""
    clock = time.perf_counter if engine.name == "xgrammar" else time.thread_time
    begun = clock()
    engine.compile(count)
    engine.fill(engine.start())
    compiled = (clock() - begun) * 1e3
    first, _ = read(engine, engine.start(), tokens)
    rounds = [read(engine, engine.start(), tokens) for _ in range(ROUNDS)]
    masks, steps = np.min([masks for masks, _ in rounds], axis=0), np.min([steps for _, steps in rounds], axis=0)
    return {"compile": compiled, "first": quantiles(first), "masks": quantiles(masks), "steps": quantiles(steps)}


def peers(ours, folder):
    engines = [ours, LLGuidance(folder, ours.vocab), XGrammar(folder, ours.vocab)]
    found = {}
    for count in TOOLS:
        tokens = tokens_of(ours.vocab, text(count // 2))
        for engine in engines:
            if engine.name != "xgrammar" or count <= PEERS_UP_TO:
                found[f"{count} {engine.name}"] = measure(engine, count, tokens)
    return found


def long_text(ours):
    """Text, call, text, call: the first and the last quarter of 10,000 tokens and more, and memory."""
    ours.compile(8)
    tokens = tokens_of(ours.vocab, "".join(text(number * 7 % 8) for number in range(160)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    masks, steps = read(ours, ours.start(), tokens)
    quarter, grown = len(tokens) // 4, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {
        "tokens": len(tokens),
        "first quarter": float((masks + steps)[:quarter].mean()),
        "last quarter": float((masks + steps)[-quarter:].mean()),
        "MB": grown,
    }


def budgets(ours):
    """Far from the end, and with 0 to 20 tokens more than are needed."""
    gl, vocab = ours.gl, ours.vocab
    ours.compile(8)
    tokens = tokens_of(vocab, "".join(text(number) for number in range(3)))
    for _ in range(2):
        free, _ = read(ours, ours.constraint.matcher(), tokens)
        far, _ = read(ours, ours.constraint.matcher(max_tokens=100_000), tokens)
    near, rng = [], np.random.default_rng(1)
    constraint = gl.compile(gl.Text(until="</think>") + gl.JsonSchema(schema(1)).as_generated(), vocab)
    least = constraint.matcher().min_tokens_left
    for spare in (0, 1, 2, 3, 5, 8, 20) * 6:
        matcher = constraint.matcher(max_tokens=least + spare)
        for _ in range(least + spare):
            begun = time.thread_time()
            matcher.fill_mask(ours.row)
            near.append((time.thread_time() - begun) * 1e6)
            ids = np.flatnonzero(np.unpackbits(ours.row[0].view(np.uint8), bitorder="little"))
            ids = ids[~np.isin(ids, vocab.stop_ids)]
            if not len(ids):
                break
            assert matcher.advance(int(rng.choice(ids)))
        assert matcher.is_accepting
    return {"without": quantiles(free), "far": quantiles(far), "near": quantiles(near)}


def lines(ours):
    """JSON Lines, a thousand at most."""
    begun = time.thread_time()
    part = ours.gl.JsonSchema(schema(0)).as_generated()
    constraint = ours.gl.compile(ours.gl.Repeat(part, max=1000, separator="\n"), ours.vocab)
    ours.fill(constraint.matcher())
    return (time.thread_time() - begun) * 1e3


def known_again(ours):
    """A compiler that holds the constraint of 64 tools, in microseconds."""
    compiler = ours.gl.Compiler(ours.vocab)
    compiler.compile(ours.grammar(64))
    grammar = ours.grammar(64)
    begun = time.thread_time()
    compiler.compile(grammar)
    return (time.thread_time() - begun) * 1e6


def rows(found):
    for key, figures in found.items():
        count, name = key.split()
        first, masks, steps = figures["first"], figures["masks"], figures["steps"]
        yield [
            count,
            name,
            f"{figures['compile']:.1f}",
            f"{first['p50']:.1f}",
            f"{first['max']:,.0f}",
            f"{masks['p50']:.1f}",
            f"{masks['p99']:,.0f}",
            f"{steps['p50']:.1f}",
        ]


def main() -> int:
    from pathlib import Path

    data = os.environ.get("GRAMMARLM_DATA")
    if not data:
        print("GRAMMARLM_DATA says where real tokenizers are", file=sys.stderr)
        return 1
    folder = Path(data) / "tokenizers" / "llama3_1"
    ours = Ours(folder)
    figures = {
        "lines": lines(ours),
        "known again": known_again(ours),
        "budgets": budgets(ours),
        "long": long_text(ours),
    }
    figures["tools"] = peers(ours, folder)
    header = ["tools", "engine", "compile + first mask, ms", "first text: mask p50, us", "slowest"]
    header += ["again: mask p50, us", "p99", "token p50, us"]
    long, near = figures["long"], figures["budgets"]
    said = [
        f"A text of {long['tokens']:,} tokens with 160 calls: {long['first quarter']:.1f} us a token in the first quarter, "
        f"{long['last quarter']:.1f} in the last, {long['MB']:.1f} MB more.",
        f"A budget: masks {near['without']['p50']:.1f} us without, {near['far']['p50']:.1f} far from its end, near it p50 "
        f"{near['near']['p50']:,.0f}, p99 {near['near']['p99']:,.0f}, at most {near['near']['max']:,.0f}.",
        f"JSON Lines of at most 1,000: compile and the first mask {figures['lines']:.1f} ms. 64 tools that a compiler holds: "
        f"{figures['known again']:,.0f} us.",
    ]
    write("tool_calls", "Calls of tools", figures, "\n\n".join([table(header, list(rows(figures["tools"]))), *said]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
