"""Drafts: forwards a token, and what they are worth on the clock, against the same answers without a draft.

usage: python -m benchmarks.draft_times [--parts forwards batches half] [--count 40] [--rounds 3]

    forwards   the embedded model, one prompt after another under its grammar: forwards a token of "auto" for the first answer that
               a Draft sees and after 20 others, and with the draft sibling, the heads and the feature drafter
    batches    the embedded model at batch 1, 8 and 16, every task and free text: the time without a draft by the time with "auto",
               in turns, and that by what the cost model predicts: times of forwards by the ids that were read, and the time of
               masks and draws, which no draft saves
    half       a model of half a billion parameters, whose weights are random and whose answers are the embedded model's (its logits
               are lifted there): the time of one answer after another at batch 1

"no draft" is forced="off": a forward for each token. "forced runs" is what generate() does by itself. One thread. Every answer is
compared with the one without a draft.
"""

import argparse
import json
import statistics
import time
from dataclasses import dataclass, field, replace

import torch
import transformers

import grammarlm as gl
from benchmarks.drafts.rows import TRAINED, trained
from benchmarks.generate import HALF
from benchmarks.report import RESULTS, table, write
from grammarlm.decoding.loop.cost import cost_of
from grammarlm.decoding.readers.model_cache import NAMES
from grammarlm.models.tiny import folder_of
from training.corpus import constraint, example

TASKS = ("record", "edit", "agent", "calls", "sql", "list", "plain")
BATCHES = (1, 8, 16)
MAX_TOKENS = 160
SEEN = 20  # answers before those that count as late
NO_DRAFT = {"forced": "off"}


def asked(task, count):
    """Prompts of a task; of plain sentences the first half."""
    found = [example("heldout", index, task) for index in range(count)]
    if task == "plain":
        return [replace(one, prompt=" ".join(one.prompt.split()[: len(one.prompt.split()) // 2])) for one in found]
    return found


def grammars(examples):
    given = [constraint(one.form) for one in examples]
    return [gl.JsonSchema(each["schema"]) if "schema" in each else each.get("grammar") for each in given]


# ------------------------------------------------------------------ forwards


def forwards_a_token(outs):
    return sum(out.stats.forwards for out in outs) / sum(out.stats.tokens + 1 for out in outs)


def answers(model, tokenizer, examples, draft=None, **options):
    """One after another; draft: one for all, or a function that makes one for each."""
    outs = []
    for one in examples:
        own = draft() if callable(draft) else draft
        given = constraint(one.form)
        outs.append(
            gl.generate(model, one.prompt, tokenizer=tokenizer, max_tokens=MAX_TOKENS, draft=own, **given, **options)
        )
    return outs


def part_forwards(count):
    model, tokenizer = gl.load_tiny()
    found = {}
    for task in TASKS:
        examples = asked(task, SEEN + count)
        late = examples[SEEN:]
        plain = answers(model, tokenizer, late, **NO_DRAFT)
        ways = {
            "forced runs": answers(model, tokenizer, late),
            "auto, cold": answers(model, tokenizer, late, lambda: gl.Draft("auto")),
            "auto, after 20": answers(model, tokenizer, examples, gl.Draft("auto"))[SEEN:],
        }
        for name in TRAINED:
            if (folder_of(name) / "model.safetensors").exists():
                ways[name] = answers(model, tokenizer, late, gl.Draft(trained(name), length=4))
        found[task] = {"no draft": forwards_a_token(plain)}
        for name, outs in ways.items():
            assert [out.tokens for out in outs] == [out.tokens for out in plain], (task, name)
            found[task][name] = forwards_a_token(outs)
    return found


# ------------------------------------------------------------------ wall clock


@dataclass
class Watch:
    """Seconds, and the ids that each forward of a model has read."""

    seconds: float = 0.0
    ids: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)


def watched(model, call):
    watch, begun = Watch(), []

    def before(module, args, kwargs):
        watch.ids.append(kwargs["input_ids"].numel())
        begun.append(time.perf_counter())

    def after(module, args, kwargs, output):
        watch.times.append(time.perf_counter() - begun.pop())

    hooks = [
        model.register_forward_pre_hook(before, with_kwargs=True),
        model.register_forward_hook(after, with_kwargs=True),
    ]
    start = time.perf_counter()
    outs = call()
    watch.seconds = time.perf_counter() - start
    for hook in hooks:
        hook.remove()
    return outs, watch


def in_turns(model, calls, rounds):
    """{name: call} -> for each name its watches, round after round; answers must agree."""
    found = {name: [] for name in calls}
    for _ in range(rounds):
        expected = None
        for name, call in calls.items():
            outs, watch = watched(model, call)
            tokens = [out.tokens for out in outs]
            assert expected in (None, tokens), name
            expected = tokens
            found[name].append(watch)
    return found


def ratio(found, name, base="no draft"):
    return statistics.median(a.seconds / b.seconds for a, b in zip(found[base], found[name], strict=True))


def predicted(found, name, cost, base="no draft"):
    """The same ratio by the ids that were read, what the cost model says of them, and what is done for each token besides."""
    besides = statistics.median(watch.seconds - sum(watch.times) for watch in found[base])
    before, after = (besides + sum(map(cost.of, found[each][-1].ids)) for each in (base, name))
    return before / after


def part_batches(rounds, count=16):
    model, tokenizer = gl.load_tiny()
    found = {}
    for task in TASKS:
        examples = asked(task, count)
        prompts = [one.prompt for one in examples]
        for held in (True, False):
            grammar = grammars(examples) if held else None
            if held and not all(grammar):
                continue
            for batch in BATCHES:
                options = {"tokenizer": tokenizer, "max_tokens": MAX_TOKENS, "batch_size": batch, "grammar": grammar}

                def call(prompts=prompts, options=options, **more):
                    return gl.generate(model, prompts, **options, **more)

                calls = {
                    "no draft": lambda call=call: call(**NO_DRAFT),
                    "forced runs": call,
                    "auto": lambda call=call: call(draft=gl.Draft("auto")),
                }
                in_turns(model, calls, 1)  # what is compiled once is nobody's time
                times = in_turns(model, calls, rounds)
                found[f"{task}, {'grammar' if held else 'free'}, {batch}"] = {
                    "auto": ratio(times, "auto"),
                    "forced runs": ratio(times, "forced runs"),
                    "of predicted": ratio(times, "auto") / predicted(times, "auto", cost_of(model)),
                }
    return found


# ------------------------------------------------------------------ half a billion parameters


class Led:
    """Makes a model write given texts: its logits at each position are lifted by what the text has after it."""

    def __init__(self, model, lift=50.0):
        self.text, self.lift = [], lift
        model.register_forward_pre_hook(self.note, with_kwargs=True)
        model.register_forward_hook(self.raise_, with_kwargs=True)

    def note(self, module, args, kwargs):
        ids, positions = kwargs["input_ids"], kwargs.get("position_ids")
        cache = next((kwargs[name] for name in NAMES if name in kwargs), None)
        past = 0 if cache is None else cache.get_seq_length()
        self.positions = list(range(past, past + ids.shape[1])) if positions is None else positions[0].tolist()

    def raise_(self, module, args, kwargs, output):
        logits = output.logits
        for at, position in enumerate(self.positions[-logits.shape[1] :]):
            if position + 1 < len(self.text):
                logits[0, at, self.text[position + 1]] += self.lift


def part_half(count, rounds):
    tiny, tokenizer = gl.load_tiny()
    torch.manual_seed(0)
    config = {**HALF, "vocab_size": tiny.config.vocab_size, "eos_token_id": tokenizer.eos_token_id}
    model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**config)).eval()
    led, found = Led(model), {}
    for task in ("record", "edit"):
        examples = asked(task, SEEN + count)
        texts = answers(tiny, tokenizer, examples)
        ends, pairs = [tokenizer.eos_token_id], zip(examples, texts, strict=True)
        tokens = [[*tokenizer.encode(one.prompt), *out.tokens, *ends] for one, out in pairs]

        def write_all(draft=None, examples=examples, tokens=tokens, **options):
            outs = []
            for one, led.text in zip(examples[SEEN:], tokens[SEEN:], strict=True):
                outs += answers(model, tokenizer, [one], draft, **options)
            return outs

        def seen(task=task):
            """A draft that has seen answers: of the small model, whose time is not counted."""
            draft = gl.Draft("auto")
            answers(tiny, tokenizer, asked(task, SEEN), draft)
            return draft

        ready = [seen() for _ in range(rounds)]
        calls = {
            "no draft": lambda call=write_all: call(**NO_DRAFT),
            "forced runs": write_all,
            "auto, cold": lambda call=write_all: call(lambda: gl.Draft("auto")),
            "auto, after 20": lambda call=write_all, ready=ready: call(ready.pop()),
        }
        times = in_turns(model, calls, rounds)
        found[task] = {name: ratio(times, name) for name in calls}
    return found


# ------------------------------------------------------------------ the page


def report(figures):
    parts = []
    if found := figures.get("forwards"):
        names = list(next(iter(found.values())))
        rows = [[task, *(f"{found[task][name]:.3f}" for name in names)] for task in found]
        parts += [
            "Forwards a token. Bars: records .55 cold, .50 after 20, .40 with a trained drafter; edits and agents .25.",
            table(["task", *names], rows),
        ]
    if found := figures.get("batches"):
        rows = [
            [*case.split(", "), *(f"{found[case][name]:.2f}" for name in ("forced runs", "auto", "of predicted"))]
            for case in found
        ]
        parts += [
            "The time without a draft by the time with one, the embedded model. Bars: .97; .85 of what is predicted.",
            table(["task", "text", "batch", "forced runs", "auto", "auto by predicted"], rows),
        ]
    if found := figures.get("half"):
        names = [name for name in next(iter(found.values())) if name != "no draft"]
        rows = [[task, *(f"{found[task][name]:.2f}" for name in names)] for task in found]
        parts += [
            "The same at batch 1, the shape of half a billion parameters. Bars: records 1.3, edits 2.",
            table(["task", *names], rows),
        ]
    return "\n\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=["forwards", "batches", "half"])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    before = RESULTS / "draft_times.json"
    old = json.loads(before.read_text()) if before.exists() else {}
    parts = {
        "forwards": lambda: part_forwards(options.count),
        "batches": lambda: part_batches(options.rounds),
        "half": lambda: part_half(min(options.count, 6), options.rounds),
    }
    figures = {name: part() if name in options.parts else old.get(name) for name, part in parts.items()}
    write("draft_times", "What drafts are worth", figures, report(figures))


if __name__ == "__main__":
    main()
