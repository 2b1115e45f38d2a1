"""Honest sampling: checks and variance of rejection under a predicate, and what methods make of the embedded model's answers.

usage: python -m benchmarks.sampling_methods [--draws 400] [--prompts 15] [--parts rejection quality spans] [--methods NAME ...]

**Rejection.** Distributions over V tokens, each with a predicate, of which Z, the mass that it accepts, is known. For every variant
of the weights: how many checks a draw takes, the mean of w / Z, which is 1, and the spread of the weight, sqrt(E[(w / Z - 1)^2]).
`checks for 10 %` is how many it takes until the mean of independent weights spreads by a tenth: checks times spread squared times
100. Where Z is small, weights that look at one or two tokens more are mostly next to 0 and seldom very large; that tail is too
rare for the draws that are made here, so that mean and spread are too small and say nothing.
The checks up to the first acceptance are compared with the formula 1 + sum over rejected a of p_a / (p_a + Z).
genlm-control's samplers run on the same rows and predicates where it is installed.

**Quality.** Prompts of the hard split, where the embedded model's greedy answer is often wrong, each under its answer's schema: the
share that is right character for character, with Wilson's 95 % interval; forwards, ids that the model reads, and seconds an answer.

**Spans.** Records whose texts are words of the prompt: greedy under their schema, and with each text held to a run of the prompt's
words (`gl.Substring`).
"""

import argparse
import asyncio
import itertools
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import grammarlm as gl
from benchmarks.report import table, write
from grammarlm.published.methods.exponential_race import arrivals
from grammarlm.published.methods.rejection import NO_TOKEN, Rejection
from training.corpus import Example, constraint, example
from training.evaluate import Share

V, LARGE_V = 20_000, 128_256


@dataclass(frozen=True)
class Case:
    """log p (normalised), the predicate, and the mass that it accepts."""

    name: str
    log_p: np.ndarray
    fine: np.ndarray

    @property
    def z(self) -> float:
        return float(np.exp(self.log_p[self.fine].astype(np.float64)).sum())

    def formula(self) -> float:
        p = np.exp(self.log_p[~self.fine].astype(np.float64))
        return 1 + float((p / (p + self.z)).sum())


def cases() -> list[Case]:
    rng = np.random.default_rng(0)
    made = []
    for name, spread, share in (
        ("half of all tokens", 2.0, 0.5),
        ("one in ten", 3.0, 0.1),
        ("one in a hundred", 4.0, 0.01),
    ):
        logits = rng.normal(0, spread, V).astype(np.float32)
        made.append(Case(name, normalised(logits), rng.random(V) < share))
    for z in (0.3, 0.05, 0.01):  # as grammars do: the head is refused down to where so much is left
        log_p = normalised(rng.normal(0, 3.0, V).astype(np.float32))
        order = np.argsort(-log_p)
        first = int(np.searchsorted(np.exp(log_p[order].astype(np.float64)).cumsum(), 1 - z))
        fine = np.zeros(V, bool)
        fine[order[first:]] = True
        made.append(Case(f"all but the head, Z = {z}", log_p, fine))
    return made


def normalised(logits: np.ndarray) -> np.ndarray:
    top = logits.max()
    return (logits - top - np.log(np.exp(logits - top).sum(dtype=np.float64))).astype(np.float32)


# ------------------------------------------------------------------ rejection

VARIANTS = {
    "grammarlm des_raj (the default)": Rejection(),
    "grammarlm recursive: des_raj, extra=1, share=0": Rejection(extra=1, share=0),
    "grammarlm des_raj, extra=4": Rejection(extra=4),
    "grammarlm des_raj, extra=8, share=1": Rejection(extra=8, share=1),
}


def ours(how: Rejection):
    def draw(case: Case, rng: np.random.Generator) -> tuple[float, int]:
        race = arrivals(case.log_p, rng.random(len(case.log_p), np.float32).clip(2**-33, 1 - 2**-24))
        questions, answers, checks = how.draw(race), None, 0
        try:
            while True:
                asked = questions.send(answers)
                answers, checks = case.fine[asked].tolist(), checks + len(asked)
        except StopIteration as end:
            return math.exp(end.value.log_weight) if end.value.token != NO_TOKEN else 0.0, checks

    return draw


def theirs():
    """genlm-control's two samplers of a single row, where it is installed."""
    try:
        import torch
        from genlm.control.sampler.token import geometric_awrs, recursive_awrs
    except ImportError:
        return {}
    tokens = list(range(V))

    def run(sampler, **options):
        def draw(case: Case, rng: np.random.Generator) -> tuple[float, int]:
            checked = {}

            async def accept(token):
                return checked.setdefault(token, bool(case.fine[token]))

            def keys(log_p):
                return log_p + torch.from_numpy(-np.log(-np.log(rng.random(len(log_p)))))

            log_p = torch.from_numpy(case.log_p.astype(np.float64))
            more = {"rng": rng, **options} if options else {}
            _, log_weight, _ = asyncio.run(
                sampler(logps=log_p, toks=tokens, accept=accept, make_keys=keys, max_rejects=math.inf, **more)
            )
            return math.exp(log_weight), len(checked)

        return draw

    return {
        "genlm-control recursive": run(recursive_awrs),
        "genlm-control geometric, 2 accepts": run(geometric_awrs, max_accepts=2),
        "genlm-control geometric, 5 accepts": run(geometric_awrs, max_accepts=5),
    }


def rejection(draws: int) -> tuple[dict, str]:
    figures: dict = {}
    rows = []
    samplers = {name: ours(how) for name, how in VARIANTS.items()} | theirs()
    for case in cases():
        first = [ours(Rejection("none"))(case, np.random.default_rng(seed))[1] for seed in range(draws)]
        counts = {"Z": case.z, "formula": case.formula(), "checks to the first": float(np.mean(first))}
        error = float(np.std(first) / math.sqrt(draws))
        figures[case.name] = {**counts, "error": error, "variants": {}}
        to_first = f"{np.mean(first):.2f} +- {error:.2f} checks to the first acceptance, formula {case.formula():.2f}"
        seen = f"{case.name} (Z = {case.z:.3g}; {to_first})"
        for name, draw in samplers.items():
            found = np.array([draw(case, np.random.default_rng([seed, 1])) for seed in range(draws)])
            ratio, checks = found[:, 0] / case.z, float(found[:, 1].mean())
            spread = math.sqrt(float(((ratio - 1) ** 2).mean()))
            mean, off = float(ratio.mean()), float(ratio.std() / math.sqrt(draws))
            figures[case.name]["variants"][name] = {"checks": checks, "spread": spread, "mean": mean, "error": off}
            until = 100 * checks * spread**2
            rows.append([seen, name, f"{checks:.1f}", f"{mean:.2f} +- {off:.2f}", f"{spread:.2f}", f"{until:.0f}"])
            seen = ""
        print(case.name, flush=True)
    return figures, table(["case", "weights", "checks", "mean w / Z", "spread", "checks for 10 %"], rows)


def time_of_a_draw(repeats: int = 60) -> tuple[dict, str]:
    """One draw with its weight in a large vocabulary, beside sorting all keys, which finds the same order."""
    rng = np.random.default_rng(1)
    case = Case("", normalised(rng.normal(0, 3.0, LARGE_V).astype(np.float32)), rng.random(LARGE_V) < 0.3)
    draw, times = ours(Rejection()), {"draw": [], "sort": []}
    for _ in range(repeats):
        start = time.perf_counter()
        draw(case, rng)
        between = time.perf_counter()
        np.argsort(np.log(-np.log(rng.random(LARGE_V, np.float32).clip(2**-33, 1 - 2**-24))) - case.log_p)
        times["draw"].append(between - start)
        times["sort"].append(time.perf_counter() - between)
    medians = {name: float(np.median(values)) * 1e3 for name, values in times.items()}
    text = (
        f"V = {LARGE_V:,}, medians of {repeats}: a draw with its weight, random numbers included {medians['draw']:.2f} ms; "
        f"the keys of all tokens, sorted {medians['sort']:.2f} ms."
    )
    return medians, text


# ------------------------------------------------------------------ quality

TASKS = ("record", "edit", "calls", "list")

METHODS = {
    "masked, greedy": {},
    "masked, drawn": {"temperature": 1.0},
    "best_of, 8 candidates": {"method": "best_of", "candidates": 8},
    "smc, 8 particles, heaviest": {"method": "smc", "particles": 8},
    "smc, 8 particles, drawn": {"method": "smc", "particles": 8, "temperature": 1.0},
    "beam, 5": {"method": "beam", "beams": 5},
    "lookahead, above 0.5 nats": {"method": "lookahead", "entropy": 0.5},
    "trials, at most 6": {"method": "trials"},
    "vote, 8 candidates": {"method": "vote", "candidates": 8, "temperature": 1.0},
    "first_finish, 8 candidates": {"method": "first_finish", "candidates": 8, "temperature": 1.0},
    "pool, 600 tokens": {"method": "pool", "budget": 600, "temperature": 1.0},
    "best_first, 200 expansions": {"method": "best_first", "expansions": 200},
}


def quality(prompts: int, methods: list[str]) -> tuple[dict, str]:
    model, tokenizer = gl.load_tiny()
    by_form: dict[str, list[Example]] = {}
    for task in TASKS:
        for index in range(prompts):
            one = example("hard", index, task)
            by_form.setdefault(one.form, []).append(one)
    grammars = {form: gl.JsonSchema(constraint(form)["schema"], whitespace="compact") for form in by_form}
    for form, some in by_form.items():  # what is compiled once is nobody's time
        gl.generate(model, some[0].prompt, tokenizer=tokenizer, grammar=grammars[form], max_tokens=160)
    figures, rows = {}, []
    for name in methods:
        right, of, forwards, ids, start = 0, 0, 0, [0], time.perf_counter()
        for form, some in by_form.items():
            with counted(model, ids):
                found = gl.generate(
                    model,
                    [one.prompt for one in some],
                    tokenizer=tokenizer,
                    grammar=grammars[form],
                    max_tokens=160,
                    seed=1,
                    progress=False,
                    **METHODS[name],
                )
            right += sum(out.text == one.answer for out, one in zip(found, some, strict=True))
            of += len(some)
            forwards += sum(out.stats.forwards for out in found)
        share, seconds = Share(right, of), (time.perf_counter() - start) / of
        low, high = share.interval
        figures[name] = {
            "right": right,
            "of": of,
            "low": low,
            "high": high,
            "forwards": forwards / of,
            "ids": ids[0] / of,
            "seconds": seconds,
        }
        interval = f"{100 * low:.0f}-{100 * high:.0f} %"
        rows.append(
            [name, f"{right} of {of}", interval, f"{forwards / of:.0f}", f"{ids[0] / of:.0f}", f"{seconds:.2f}"]
        )
        print(rows[-1], flush=True)
    return figures, table(["method", "right", "95 % interval", "forwards", "ids", "seconds each"], rows)


@contextmanager
def counted(model: torch.nn.Module, ids: list[int]) -> Iterator[None]:
    """Adds what the model reads to `ids`, padding included."""

    def note(_: Any, args: Any, kwargs: dict[str, Any]) -> None:
        ids[0] += kwargs.get("input_ids", args[0] if args else None).numel()

    hook = model.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


# ------------------------------------------------------------------ words of the prompt

SPELLED = ("order", "address")  # records whose texts all stand in the prompt, one key after another


def of_words(schema: dict[str, Any], prompt: str) -> Any:
    """A record as json.dumps writes it without blanks, each text of which is a run of the prompt's words."""
    words, record = gl.Substring(prompt.strip(), unit="word"), gl.Regex(r"\{")
    for number, (key, value) in enumerate(schema["properties"].items()):
        begin = ("," if number else "") + f'"{key}":'
        if value.get("type") == "string" and "enum" not in value:
            record = record + gl.Regex(begin + '"') + words + gl.Regex('"')
        else:
            record = record + gl.Regex(begin) + gl.JsonSchema(value, whitespace="compact")
    return record + gl.Regex(r"\}")


def spans(count: int) -> tuple[dict, str]:
    model, tokenizer = gl.load_tiny()
    records = (example("hard", index, "record") for index in itertools.count())
    asked = list(itertools.islice((one for one in records if one.form in SPELLED), count))
    schemas = {form: constraint(form)["schema"] for form in SPELLED}
    held = {form: gl.JsonSchema(schema, whitespace="compact") for form, schema in schemas.items()}
    ways = {
        "under the schema": lambda one: held[one.form],
        "texts are words of the prompt": lambda one: of_words(schemas[one.form], one.prompt),
    }
    figures, rows = {}, []
    for name, grammar in ways.items():
        right = 0
        for one in asked:
            out = gl.generate(model, one.prompt, tokenizer=tokenizer, grammar=grammar(one), max_tokens=160)
            right += out.text == one.answer
        low, high = Share(right, count).interval
        figures[name] = {"right": right, "of": count, "low": low, "high": high}
        rows.append([name, f"{right} of {count}", f"{100 * low:.0f}-{100 * high:.0f} %"])
        print(rows[-1], flush=True)
    return figures, table(["greedy", "right", "95 % interval"], rows)


PARTS = ["rejection", "quality", "spans"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--prompts", type=int, default=15, help="of each task")
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--records", type=int, default=300, help="of the part spans")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=METHODS)
    given = parser.parse_args()
    if "rejection" in given.parts:
        figures, text = rejection(given.draws)
        times, speed = time_of_a_draw()
        title = f"Weights under a predicate: {given.draws} draws each, V = {V:,}"
        write(
            "sampling_rejection",
            title,
            {"cases": figures, "milliseconds": times},
            f"{text}\n\n{speed}",
            "sampling_methods",
        )
    if "quality" in given.parts:
        figures, text = quality(given.prompts, given.methods)
        title = f"The embedded model on {given.prompts} hard prompts of each of {', '.join(TASKS)}, under a schema"
        write("sampling_quality", title, figures, text, "sampling_methods")
    if "spans" in given.parts:
        figures, text = spans(given.records)
        title = f"Records of the hard split, {given.records} prompts, greedy: texts held to words of the prompt"
        write("sampling_spans", title, figures, text, "sampling_methods")


if __name__ == "__main__":
    main()
