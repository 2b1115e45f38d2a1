"""Compile, first mask, and mask + advance for regular expressions, four engines side by side in one run.

usage: python -m benchmarks.regex_masks [--tokenizer llama3_1] [--texts 5] [--engines grammarlm,llguidance,...]

Each pattern gets random texts of its language, encoded by the tokenizer. For each text every engine walks the same tokens, in turn
and in changing order, so that the machine's mood is shared. The first walk of a pattern is cold: no engine has seen its states.
A token that an engine's mask forbids is counted as wrong, and so is one that it does not take; a wrong engine is not timed further
on that pattern. An engine that refuses a pattern, or needs more than 20 s to compile it, is counted as refused or as a timeout.
"""

import argparse
import random
import re
import time

import grammarlm as gl
from benchmarks.peers import ENGINES
from benchmarks.report import quantiles, table, write
from benchmarks.scout import Scout, forget, in_turn, settle
from benchmarks.tokenizers import load

PATTERNS = {
    "date": r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    "time": r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?",
    "uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "email": r"[a-z0-9._%+-]{1,30}@[a-z0-9-]{1,20}(\.[a-z]{2,6}){1,3}",
    "ipv4": r"((25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})\.){3}(25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})",
    "url": r"https?://[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]*)*(\?[a-z]+=[a-z0-9]*)?",
    "money": r"\$(0|[1-9][0-9]{0,2}(,[0-9]{3})*)(\.[0-9]{2})?",
    "phone": r"\+?[0-9]{1,3}[ -]?(\([0-9]{3}\)|[0-9]{3})[ -]?[0-9]{3}[ -]?[0-9]{4}",
    "name": r"[A-Z][a-z]+( [A-Z]\.)?( [A-Z][a-z]+){1,2}",
    "sentence": r"[A-Z][a-z]*( [a-z]+){3,20}[.!?]",
    "json string": r'"([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}){0,60}"',
    "json record": r'\{"name": "[A-Z][a-z]+( [A-Z][a-z]+)?", "age": (0|[1-9][0-9]?), "city": "[A-Z][a-z]{2,12}"\}',
    "csv line": r"[^,\n]{1,20}(,[^,\n]{0,20}){2,6}",
    "any line": r"[^\n]{1,80}",
    "cyrillic": r"[А-Я][а-яё]+( [а-яё]+){2,6}",
    "cjk": r"[\u4e00-\u9fff]{4,16}",
    "hex colour": r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})",
    "markdown item": r"[-*] (\[[ x]\] )?[^\n]{5,60}",
    "python name": r"[a-z_][a-z0-9_]{2,30}\(([a-z_]+(, [a-z_]+)*)?\)",
    "version": r"v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9a-z.-]{1,12})?",
}


def random_text(pattern: str, rng: random.Random) -> str:
    """A random text of the language, byte by byte along our own automaton (the peers only see the text, `re` checks it)."""
    vocab = gl.Vocabulary([bytes([i]) for i in range(256)] + [b""], stop_ids=[256])
    matcher, mask = gl.compile(gl.Regex(pattern), vocab).matcher(), gl.allocate_mask(1, vocab.size)
    text = bytearray()
    while True:
        matcher.fill_mask(mask)
        allowed = [b for b in range(256) if int(mask[0, b >> 5]) >> (b & 31) & 1]
        plain = [b for b in allowed if 32 <= b < 127] or allowed
        if matcher.is_accepting and (not allowed or rng.random() < 0.05):
            break
        text.append(rng.choice(plain))
        matcher.advance(text[-1])
    found = text.decode()
    if not re.fullmatch(pattern, found):
        raise AssertionError(f"{found!r} is no text of {pattern!r}")
    return found


def walk(engine, tokens: list[int]):
    """(microseconds of each mask + advance, microseconds of the first mask) or None where the engine is wrong."""
    engine.start()
    times, first = [], 0.0
    for position, token in enumerate(tokens):
        start = time.perf_counter_ns()
        engine.mask()
        masked = time.perf_counter_ns()
        allowed = engine.allowed(token)
        resumed = time.perf_counter_ns()
        taken = engine.advance(token)
        end = time.perf_counter_ns()
        if not allowed or not taken:
            return None
        first = first or (masked - start) / 1e3
        if position:
            times.append((masked - start + end - resumed) / 1e3)
    return times, first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default="llama3_1")
    parser.add_argument("--texts", type=int, default=5)
    parser.add_argument("--engines", default=",".join(e.name for e in ENGINES))
    args = parser.parse_args()
    tokenizer, vocab, name = load(args.tokenizer)
    chosen = [kind for kind in ENGINES if kind.name in args.engines.split(",")]
    engines = {kind.name: kind(tokenizer, vocab) for kind in chosen}
    figures = {
        e: {"compile + first mask": [], "cold": [], "warm": [], "refused": [], "timeout": [], "wrong": []}
        for e in engines
    }
    rng = random.Random(5)
    scout = Scout(list(engines.values()))
    for engine in engines.values():  # whatever is made once a process
        engine.compile("[a-z]{3}x?")
        walk(engine, tokenizer.encode("abcx", add_special_tokens=False))
    settle()
    for index, (title, pattern) in enumerate(PATTERNS.items()):
        texts = [tokenizer.encode(random_text(pattern, rng), add_special_tokens=False) for _ in range(args.texts)]
        living = dict(engines)
        for engine_name in in_turn(list(engines), index):
            mine, engine = figures[engine_name], engines[engine_name]
            if not scout.compiles_in_time(engine, pattern):
                mine["timeout"].append(title)
                del living[engine_name]
                continue
            forget(engine)
            start = time.perf_counter()
            try:
                engine.compile(pattern)
                compiled = (time.perf_counter() - start) * 1e6
                result = walk(engine, texts[0])
            except Exception as error:
                mine["refused"].append(f"{title}: {error!s:.80}")
                del living[engine_name]
                continue
            if result is None:
                mine["wrong"].append(title)
                del living[engine_name]
                continue
            mine["compile + first mask"].append(compiled + result[1])
            mine["cold"] += result[0]
        for tokens in texts + texts:  # the second time everything has been seen
            for engine_name, engine in living.items():
                result = walk(engine, tokens)
                if result is None:
                    figures[engine_name]["wrong"].append(title)
                else:
                    figures[engine_name]["warm"] += result[0]
        print(f"{title}: {sum(map(len, texts))} tokens", flush=True)
    report(figures, name, vocab.size)


def report(figures: dict, tokenizer: str, size: int) -> None:
    kinds = ("compile + first mask", "cold", "warm")
    summary = {
        e: {k: quantiles(f[k]) for k in kinds} | {k: f[k] for k in ("refused", "timeout", "wrong")}
        for e, f in figures.items()
    }
    rows = []
    for kind in kinds:
        for engine, found in summary.items():
            q = found[kind]
            rows.append([kind, engine, *(f"{q[k]:.1f}" if q else "-" for k in ("avg", "p50", "p90", "p99", "max"))])
    text = f"{len(PATTERNS)} patterns, tokenizer {tokenizer} ({size:,} ids), one thread, microseconds.\n\n"
    text += "cold = mask + advance along the first text of a pattern; warm = all texts afterwards, twice.\n\n"
    text += table(["", "engine", "avg", "p50", "p90", "p99", "max"], rows)
    counts = [[e, len(f["refused"]), len(f["timeout"]), len(f["wrong"])] for e, f in figures.items()]
    text += "\n\n" + table(["engine", "refused", "timeout", "wrong"], counts)
    notes = [
        f"- {e}: {kind}: {item}"
        for e, f in figures.items()
        for kind in ("refused", "timeout", "wrong")
        for item in f[kind]
    ]
    write(
        "regex_masks",
        "Regular expressions: four engines in one run",
        {"tokenizer": tokenizer, "engines": summary},
        text + "\n\n" + "\n".join(notes),
    )


if __name__ == "__main__":
    main()
