"""Borders of parts: JSON schemas between other grammars, what compile takes and what masks take before and after the first border.

usage: GRAMMARLM_DATA=... python -m benchmarks.part_borders [--base CHECKOUT]

Each grammar is compiled ROUNDS times in one process, over the vocabulary of llama3_1: "new" is the first compile, whose borders the
process has not seen, "again" the fastest of the others. Every constraint reads a text of the grammar; a mask's time is its shortest
over the rounds, each of which makes it anew. What the schema alone takes has been made before. Times are the thread's own on the
processor, so that other work on the machine does not count. --base: a checkout of another version is measured by the same code in a
process of its own, in turn. llguidance where its notation says the same.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

ROUNDS = 5
SLOW = 1.0  # seconds: a compile that takes longer is measured twice
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "n": {"type": "integer"},
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "number"}}}},
    },
    "required": ["name"],
}
VALUE = '{"name": "ab c", "n": 12, "list": [{"a": 1.5}, {}]}'
CALL = "I call it <tool_call>" + VALUE + "</tool_call>"
NESTS = (1, 2, 3, 4, 8, 20)
LL_TEXT = "TEXT: /(.|\\n)*/\nobj: %json " + json.dumps(SCHEMA) + "\n"


def cases():
    """Name -> (grammar, text, where the first border ends in it)"""
    import grammarlm as gl

    schema = gl.JsonSchema(SCHEMA)
    found = {
        "fence": (gl.Regex("```json\n") + schema + "\n```", f"```json\n{VALUE}\n```", 8),
        "thinking": (gl.Text(until="</think>") + schema, f"hm, let me think. </think>{VALUE}", 26),
        "anything or a schema": (schema + ";" + (gl.Text() | schema), VALUE + ";hello world }; { and on", len(VALUE)),
        "anything after": (schema + gl.Text(), VALUE + " and so on. {} yes", len(VALUE)),
        "a text before": (gl.Regex("[^x]*") + schema, f"hello hello {VALUE}", 12),
        "eight, with commas": (sum((("," + schema) for _ in range(7)), schema), ",".join([VALUE] * 8), len(VALUE)),
        "any string, and a text": (gl.JsonSchema({"type": "string"}) + gl.Regex("[^x]*"), '"hello world" said he', 13),
        "any value, and a text": (gl.JsonSchema({}) + gl.Regex("[^x]*"), '{"a": "hello world"} said he', 20),
        "any string, anything": (gl.JsonSchema({"type": "string"}) + gl.Text(), '"hello world" said he', 1),
        "any value, anything": (gl.JsonSchema({}) + gl.Text(), '\n[{"a": "hello world"}, 2510.5] said he', 1),
        "any number, a text": (gl.JsonSchema({}) + gl.Regex("[^x]*"), "251.75 and so on", 1),
        "any value, 100 characters": (gl.JsonSchema({}) + gl.Regex("[^x]{0,100}"), "251.75 and so on", 1),
        "any value, a text, a value": (
            gl.JsonSchema({}) + gl.Text(until="k>") + gl.JsonSchema({}),
            '"a" k and k> {"a": 1}',
            1,
        ),
        "calls that are none": (
            gl.Ban(["<tool_call>"]) | (gl.Text(until="<tool_call>") + schema + "</tool_call>"),
            "I <tool and <tool_cal, <tool_x " + CALL,
            1,
        ),
    }
    for levels in NESTS:
        grammar = gl.Text()
        for _ in range(levels):
            grammar = gl.Ban(["<tool_call>"]) | (gl.Text(until="<tool_call>") + schema + "</tool_call>" + grammar)
        found[f"calls, {levels} levels"] = grammar, CALL * levels + " done.", CALL.index("{")
    return found


def llguidance_grammars():
    nest, found = "last: TEXT\n", {}
    for levels in range(1, max(NESTS) + 1):
        after = f"l{levels - 1}" if levels > 1 else "last"
        nest += f'l{levels}: FREE | before obj "</tool_call>" {after}\n'
        if levels in NESTS:
            free = "FREE: /(.|\\n)*/ & ~/(.|\\n)*<tool_call>(.|\\n)*/\n" + 'before[suffix="<tool_call>"]: TEXT\n'
            found[f"calls, {levels} levels"] = f"start: l{levels}\n" + free + nest + LL_TEXT
    return {
        "fence": 'start: "```json\\n" obj "\\n```"\n' + LL_TEXT,
        "thinking": 'start: before obj\nbefore[suffix="</think>"]: TEXT\n' + LL_TEXT,
        "anything or a schema": 'start: obj ";" (TEXT | obj)\n' + LL_TEXT,
        "anything after": "start: obj TEXT\n" + LL_TEXT,
        "eight, with commas": "start: " + ' "," '.join(["obj"] * 8) + "\n" + LL_TEXT,
        **found,
    }


class Ours:
    def __init__(self, tokenizer, vocab):
        import grammarlm as gl

        self.gl, self.vocab = gl, vocab
        self.mask = gl.allocate_mask(1, vocab.size)
        self.grammars = {name: grammar for name, (grammar, _, _) in cases().items()}
        self.compile(gl.JsonSchema(SCHEMA))
        self.compile(gl.Text() + gl.JsonSchema({"type": "integer"}))

    def compile(self, grammar):
        self.constraint = self.gl.compile(grammar, self.vocab)

    def start(self):
        self.matcher = self.constraint.matcher()

    def fill(self):
        self.matcher.fill_mask(self.mask)

    def advance(self, token):
        return self.matcher.advance(token)


class LLGuidance:
    def __init__(self, tokenizer, vocab):
        import llguidance
        import llguidance.hf
        import llguidance.numpy

        self.module, self.write = llguidance, llguidance.numpy.fill_next_token_bitmask
        self.tokenizer = llguidance.hf.from_tokenizer(tokenizer, n_vocab=vocab.size)
        self.mask = llguidance.numpy.allocate_token_bitmask(1, self.tokenizer.vocab_size)
        self.grammars = llguidance_grammars()

    def compile(self, grammar):
        self.ready = self.module.LLMatcher(self.tokenizer, self.module.LLMatcher.grammar_from_lark(grammar))
        if self.ready.is_error():
            raise ValueError(self.ready.get_error()[:200])

    def start(self):
        self.matcher = self.ready.deep_copy()

    def fill(self):
        self.write(self.matcher, self.mask, 0)

    def advance(self, token):
        return self.matcher.consume_token(token)


def timed(call, *arguments):
    begin = time.thread_time()
    found = call(*arguments)
    return found, 1e3 * (time.thread_time() - begin)


def one_text(engine, tokens):
    """Milliseconds of each mask, and after the last token."""
    engine.start()
    times = []
    for token in tokens:
        times.append(timed(engine.fill)[1])
        if not engine.advance(token):
            raise ValueError(f"token {len(times) - 1} of the text is refused")
    return [*times, timed(engine.fill)[1]]


def measured(engine, grammar, tokens, border):
    compiles, texts = [], []
    while len(compiles) < (2 if compiles and compiles[0] > 1e3 * SLOW else ROUNDS):
        compiles.append(timed(engine.compile, grammar)[1])
        texts.append(one_text(engine, tokens))
    masks = np.min(texts, axis=0)
    before, after = masks[:border], masks[border:]
    return {
        "new": compiles[0],
        "again": min(compiles[1:]),
        "masks": len(after),
        **{f"p{q}": float(np.percentile(after, q)) for q in (50, 99)},
        "max": float(after.max()),
        "before": float(before.max()),
    }


def measure(peers):
    from benchmarks.tokenizers import load

    tokenizer, vocab, _ = load("llama3_1")
    found = {}
    for make in (Ours, *peers):
        engine = make(tokenizer, vocab)
        for name, (_, text, border) in cases().items():
            if name in engine.grammars:
                ids = tokenizer(text, add_special_tokens=False)["input_ids"]
                starts = np.cumsum([0, *(len(tokenizer.decode([i])) for i in ids)])
                try:
                    figures = measured(engine, engine.grammars[name], ids, int(np.searchsorted(starts, border)))
                except Exception as error:
                    figures = {"error": f"{type(error).__name__}: {error}"[:100]}
                found.setdefault(name, {})[make.__name__] = figures
                print(name, make.__name__, figures, file=sys.stderr, flush=True)
    return found


def rows(found):
    lines = []
    for name, engines in found.items():
        for engine, figures in engines.items():
            if "error" in figures:
                lines.append([name, engine, figures["error"].partition(":")[0], *["-"] * 6])
                continue
            times = [figures[key] for key in ("new", "again", "p50", "p99", "max", "before")]
            lines.append(
                [name, engine, *(f"{t:,.3g}" for t in times[:2]), figures["masks"], *(f"{t:,.3g}" for t in times[2:])]
            )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", help="a checkout of another version, measured beside this one")
    parser.add_argument("--measure", action="store_true", help="print the figures of the package that is imported")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure([])))
        return
    found = {}
    if arguments.base:
        run = f"import runpy; runpy.run_path({os.path.abspath(__file__)!r}, run_name='__main__')"
        command, folder = [sys.executable, "-c", run, "--measure"], os.path.abspath(arguments.base)
        child = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": folder}, cwd=folder, stdout=subprocess.PIPE, text=True, check=True
        )
        for name, engines in json.loads(child.stdout.splitlines()[-1]).items():
            found[name] = {"before": engines["Ours"]}
    for name, engines in measure([LLGuidance]).items():
        found.setdefault(name, {}).update(
            {{"Ours": "grammarlm", "LLGuidance": "llguidance"}[engine]: figures for engine, figures in engines.items()}
        )
    from benchmarks.report import table, write

    header = ["grammar", "engine", "compile, new", "again", "masks after", "p50", "p99", "longest", "longest before"]
    note = (
        "Milliseconds of the processor; masks after the first border, and the longest before it. `before`: the version in --base. "
        "What llguidance prepares for the tokenizer is not in its compile."
    )
    write("part_borders", "Borders of parts", {"figures": found}, note + "\n\n" + table(header, rows(found)))


if __name__ == "__main__":
    main()
