"""Masks of context-free grammars: compile, cold and warm masks, first tokens ever, bytes kept; engines side by side in one run.

usage: python -m benchmarks.grammar_masks [--tokenizers llama3_1 qwen3 gemma3] [--corpora json ...] [--seconds 20] [--engines ...]
       python -m benchmarks.grammar_masks --growth | --threads     (see grammar_growth.py, grammar_threads.py)

Each case (grammar, notation, tokenizer) is one process, in which every engine walks the same texts (grammar_walk.py says how), with
a cache folder that holds what an installation leaves behind and nothing of this grammar; a second process then finds what the first
one left. A cold figure is a first pass through the texts, a warm one the second pass. "first 200" is from the grammar's text to the
mask and advance of the first 200 tokens ever. Kernels and tries that serve every grammar are loaded before the clock starts, for
every engine. A case in which an engine is wrong has no figures of it.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import grammar_growth, grammar_threads
from benchmarks.grammar_peers import ENGINES
from benchmarks.report import table, write

CASES = (
    ("json", "lark"),
    ("json", "gbnf"),
    ("sql", "lark"),
    ("c_like", "lark"),
    ("c_like", "gbnf"),
    ("python", "lark"),
    ("arithmetic", "lark"),
    ("arithmetic", "gbnf"),
    ("settings", "ebnf"),
    ("settings", "lark"),
)
BIAS = """What to know before reading the figures:

- xgrammar has no lexer. Its masks are fast where a rule can be judged alone and slow where most tokens reach beyond the rule they
  start in; grammars spelled for that are ten to hundreds of times faster in it. It gets its own spelling of the GBNF texts, the
  fastest that we found (`corpora/*.xgrammar.gbnf`, right-recursive), and for JSON also its built-in grammar. From Lark text it
  makes its own, slower grammar. The fast spelling of `c_like` costs it 2 s of compilation instead of 0.15 s.
- xgrammar is timed with one thread for compilation and without its cache of compiled grammars; both would help it in service.
- llguidance computes every mask anew and keeps little, so its cold and warm figures hardly differ, and so does its second process.
- llguidance reads GBNF and EBNF through its own converter, which makes lexemes out of rules; it loses the meaning of `c_like gbnf`.
- llguidance lets a keyword be an identifier and forbids other spellings of forced text; masks are not equal, only the texts are.
- `python` is lark's own grammar with its indenter; the peers refuse it, so that case stands alone.
- The first Lark grammar that a process reads and no earlier process has read imports lark: 0.05 to 0.1 s, which are in our
  "compile + first mask" and "first 200" here, and in no later grammar's.
- Texts come from generators of ours; real files are longer and repeat more, which favours engines that keep rows.
"""
CASE_SECONDS = 1200


def run_child(case: tuple[str, str], tokenizer: str, args, cache: str, again: bool = False) -> dict:
    """What grammar_walk.py found, or {"died": how}."""
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder, "found.json")
        command = [sys.executable, "-m", "benchmarks.grammar_walk", *case, tokenizer, "--into", str(into)]
        command += ["--seconds", str(args.seconds), "--engines", args.engines, *(["--again"] if again else [])]
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = subprocess.run(
                command, env={**os.environ, "GRAMMARLM_CACHE": cache}, check=False, timeout=CASE_SECONDS
            ).returncode
            return json.loads(into.read_text()) if into.exists() else {"died": f"exit code {code}"}
        return {"died": f"no end after {CASE_SECONDS} s"}


def measure(case: tuple[str, str], tokenizer: str, args, base: str) -> dict:
    """Both processes of a case, in a copy of the cache that an installation leaves."""
    with tempfile.TemporaryDirectory() as cache:
        shutil.copytree(base, cache, dirs_exist_ok=True)
        found = run_child(case, tokenizer, args, cache)
        if "died" not in found:
            later = run_child(case, tokenizer, args, cache, again=True)
            for name, engine in found["engines"].items():
                engine["second process"] = later.get(name, {})
    return found


def installed(tokenizer: str, base: str) -> None:
    """Fills the cache as any earlier grammar would: kernels compiled, tries built."""
    code = "import sys; from benchmarks.grammar_walk import *; t, v, _ = load_tokenizer(sys.argv[1]); "
    code += "start_engines(['grammarlm'], t, v, '')"
    subprocess.run([sys.executable, "-c", code, tokenizer], env={**os.environ, "GRAMMARLM_CACHE": base}, check=True)


def shown(value: float | None, scale: float = 1.0) -> str:
    if value is None:
        return "-"
    value /= scale
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def spread(found: dict, keys: tuple[str, ...]) -> str:
    return " / ".join(shown(found.get(key)) for key in keys)


def main_table(cases: dict) -> str:
    header = [
        "grammar",
        "engine",
        "masks",
        "compile + first mask, ms",
        "cold mask + advance avg / p50 / p90 / p99 / p99.9 / max",
    ]
    header += [
        "cold mask avg / p99",
        "warm mask + advance p50 / avg / p99",
        "advance p50",
        "first 200, ms",
        "the same in a second process",
        "compile + first mask there, ms",
        "KB",
    ]
    rows = []
    for case, found in cases.items():
        for name, engine in found.get("engines", {}).items():
            if "masks" not in engine:
                rows.append([case, name, engine["outcome"], *["-"] * (len(header) - 3)])
                continue
            late = "+" if engine["outcome"] == "timeout" else ""
            rows.append(
                [
                    case,
                    name,
                    f"{engine['masks']:,}{late}",
                    shown(engine["compile + first mask"], 1e3),
                    spread(engine["cold mask + advance"], ("avg", "p50", "p90", "p99", "p99.9", "max")),
                    spread(engine["cold mask"], ("avg", "p99")),
                    spread(engine["warm mask + advance"], ("p50", "avg", "p99")),
                    shown(engine["advance"].get("p50")),
                    shown(engine["first tokens"]),
                    shown(engine["second process"].get("first tokens")),
                    shown(engine["second process"].get("compile + first mask"), 1e3),
                    shown(engine["bytes"], 1024),
                ]
            )
    return table(header, rows)


def ratio_table(cases: dict) -> str:
    """Ours over each peer's, over the masks that both made."""
    rows = []
    for case, found in cases.items():
        for peer, ratio in found.get("ratios", {}).items():
            mine, theirs = found["engines"]["grammarlm"], found["engines"][peer]
            if ratio["cold"] is None:
                continue
            tails = [mine["cold mask + advance"]["p99"] / theirs["cold mask + advance"]["p99"]]
            tails.append(mine["warm mask + advance"]["p50"] / theirs["warm mask + advance"]["p50"])
            tails.append(mine["compile + first mask"] / theirs["compile + first mask"])
            rows.append(
                [case, peer, shown(ratio["cold"]), shown(tails[0]), shown(ratio["warm"]), *map(shown, tails[1:])]
            )
    header = ["grammar", "ours over", "cold avg", "cold p99", "warm avg", "warm p50", "compile + first mask"]
    return table(header, rows) + "\n\n" + wins(rows, header)


def wins(rows: list[list[str]], header: list[str]) -> str:
    """The cells in which a peer is the faster one."""
    lost = [
        f"{row[0]}: {row[1]}, {name} ({cell})"
        for row in rows
        for name, cell in zip(header[2:], row[2:], strict=True)
        if float(cell.replace(",", "")) > 1
    ]
    return "Where a peer wins: " + ("; ".join(lost) + "." if lost else "nowhere in this table.")


def kind_table(cases: dict) -> str:
    rows = []
    for case, found in cases.items():
        engines = {
            n: e for n, e in found.get("engines", {}).items() if "masks" in e and n in ("grammarlm", "llguidance")
        }
        for name, engine in engines.items():
            for kind, q in engine["by kind"].items():
                rows.append([case, name, kind, f"{q['share']:.0%}", spread(q, ("avg", "p50", "p99", "max"))])
    return table(["grammar", "engine", "behind", "share of masks", "avg / p50 / p99 / max"], rows)


def outcomes(cases: dict) -> str:
    notes = [f"- {case}: the process died: {found['died']}" for case, found in cases.items() if "died" in found]
    for case, found in cases.items():
        for name, engine in found.get("engines", {}).items():
            if engine["outcome"] != "ok":
                notes.append(f"- {case}: {name}: {engine['outcome']}: {engine['detail']}")
    return "\n".join(notes)


def summary(tokenizers: dict) -> str:
    """The ratios alone, with each figure that an engine's user asks for first."""
    header = ["tokenizer", "grammar", "cold mask avg", "cold mask p99", "warm mask + advance p50", "first 200 tokens"]
    header += ["the same in a second process", "compile + first mask"]
    rows = []
    for tokenizer, cases in tokenizers.items():
        for case, found in cases.items():
            engines = found.get("engines", {})
            mine = engines.get("grammarlm", {})
            for peer in ("llguidance", "xgrammar"):
                theirs = engines.get(peer, {})
                if "masks" in mine and "masks" in theirs:
                    rows.append([tokenizer, f"{case}, over {peer}", *map(shown, _ratios(mine, theirs))])
            if "masks" in mine and not any("masks" in engines.get(peer, {}) for peer in ("llguidance", "xgrammar")):
                own = [mine["cold mask"]["avg"], mine["cold mask"]["p99"], mine["warm mask + advance"]["p50"]]
                own += [
                    mine["first tokens"],
                    mine["second process"].get("first tokens"),
                    mine["compile + first mask"] / 1e3,
                ]
                units = ("us", "us", "us", "ms", "ms", "ms")
                rows.append(
                    [tokenizer, f"{case}, alone", *(f"{shown(v)} {u}" for v, u in zip(own, units, strict=True))]
                )
    note = "Ours over the peer's, one run; below 1 we are ahead. A peer that ran out of time is compared over the masks it made "
    note += "(its tails are then of fewer masks). The whole tables: [masks of grammars](grammar-masks.md)."
    return note + "\n\n" + table(header, rows)


def _ratios(mine: dict, theirs: dict) -> list[float | None]:
    pairs = [
        (mine["cold mask"]["avg"], theirs["cold mask"]["avg"]),
        (mine["cold mask"]["p99"], theirs["cold mask"]["p99"]),
        (mine["warm mask + advance"]["p50"], theirs["warm mask + advance"]["p50"]),
        (mine["first tokens"], theirs["first tokens"]),
        (mine["second process"].get("first tokens"), theirs["second process"].get("first tokens")),
        (mine["compile + first mask"], theirs["compile + first mask"]),
    ]
    return [ours / other if ours is not None and other else None for ours, other in pairs]


def markdown(tokenizers: dict) -> str:
    parts = [
        "Microseconds where nothing else is said, one thread; N+ masks: the engine ran out of its time after N.",
        BIAS,
    ]
    for name, cases in tokenizers.items():
        parts += [f"## {name}", main_table(cases), "### Ours over the peers'", ratio_table(cases)]
        parts += ["### Cold mask + advance by what stands before the position", kind_table(cases)]
        parts += ["### Not ok", outcomes(cases) or "nothing"]
    return "\n\n".join(parts)


def main() -> None:
    for flag, mode in (("--growth", grammar_growth), ("--threads", grammar_threads)):
        if flag in sys.argv:
            sys.argv.remove(flag)
            mode.main()
            return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", nargs="*", default=["llama3_1", "qwen3", "gemma3"])
    parser.add_argument("--corpora", nargs="*", default=sorted({corpus for corpus, _ in CASES}))
    parser.add_argument("--seconds", type=float, default=20, help="time of an engine in one pass of one case")
    parser.add_argument("--engines", default=",".join(kind.name for kind in ENGINES))
    args = parser.parse_args()
    results: dict = {}
    with tempfile.TemporaryDirectory() as base:
        for tokenizer in args.tokenizers:
            if "grammarlm" in args.engines:
                installed(tokenizer, base)
            results[tokenizer] = {}
            for case in CASES:
                if case[0] in args.corpora:
                    results[tokenizer][" ".join(case)] = measure(case, tokenizer, args, base)
                    print(f"{tokenizer}: {' '.join(case)} measured", file=sys.stderr, flush=True)
    every = [
        e["grammarlm"]
        for cases in results.values()
        for found in cases.values()
        if (e := found.get("engines")) and "grammarlm" in e
    ]
    if any("masks" in engine for engine in every):
        write(
            "grammar_masks", "Grammars: masks of several engines in one run", {"tokenizers": results}, markdown(results)
        )
        write("grammar_ratios", "Grammars: the ratios in short", {}, summary(results), "grammar_masks")
    else:  # without our own engine it is no result to keep
        print(markdown(results))


if __name__ == "__main__":
    main()
