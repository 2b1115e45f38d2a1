"""What a constraint costs while a model generates: generate() against transformers' own loop, alone and with others' processors.

usage: python -m benchmarks.generate [--models tiny half] [--batches 1 16] [--tokens 24] [--rounds 3]

`tiny` is the embedded model; `half` has the shape of a model of half a billion parameters (Qwen2's: 24 layers of 896, a vocabulary
of 151,936, float32), with random weights. All write greedily, under a schema of strings (once after a thought, which takes half of
the tokens at most), and go in turns, round after round. A forward is a call of the model; what each takes inside of the model is
measured in all of them, so what is left is what the loop around it costs. One thread, and processor time: what else the machine
does then matters little. forced="off": as many forwards as tokens for all, so that nothing is won by skipping any.
"""

import argparse
import functools
import json
import statistics
import time
from dataclasses import dataclass

import torch

import grammarlm as gl
from benchmarks.report import table, write
from benchmarks.tokenizers import load

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "notes": {"type": "array", "items": {"type": "string"}}},
    "required": ["title", "notes"],
}
PROMPT = "The reading circle meets on Friday at seven. As JSON:\n"
HALF = {
    "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
    "vocab_size": 151_936, "tie_word_embeddings": True, "max_position_embeddings": 4096,
}  # fmt: skip


@dataclass
class Run:
    """One generation."""

    seconds: float
    inside: float  # of the model
    forwards: int


class Watched:
    """A model whose forwards are timed."""

    def __init__(self, model):
        self.inside, self.forwards = 0.0, 0
        forward = model.forward

        @functools.wraps(forward)  # its signature says what the model takes
        def timed(*args, **options):
            start = time.process_time()
            try:
                return forward(*args, **options)
            finally:
                self.inside += time.process_time() - start
                self.forwards += 1

        model.forward = timed

    def run(self, call) -> Run:
        self.inside, self.forwards = 0.0, 0
        start = time.process_time()
        call()
        return Run(time.process_time() - start, self.inside, self.forwards)


def load_model(name: str):
    """(model, tokenizer)"""
    if name == "tiny":
        return gl.load_tiny()
    import transformers

    tokenizer, _, _ = load("qwen3")
    torch.manual_seed(0)
    model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**HALF, eos_token_id=tokenizer.eos_token_id))
    return model.eval(), tokenizer


def ours(model, tokenizer, batch: int, tokens: int):
    constraint = gl.JsonSchema(SCHEMA)
    thinking = gl.Text(until="</think>", max_tokens=max(8, tokens // 2)) + constraint
    options = {"tokenizer": tokenizer, "max_tokens": tokens, "forced": "off", "close": False}
    return {
        "generate, free": lambda: gl.generate(model, [PROMPT] * batch, **options),
        "generate, constrained": lambda: gl.generate(model, [PROMPT] * batch, schema=constraint, **options),
        "generate, thought and schema": lambda: gl.generate(model, [PROMPT] * batch, grammar=thinking, **options),
    }


def theirs(model, tokenizer, batch: int, tokens: int):
    """transformers' own loop: free, and with the processors of all engines."""
    inputs = tokenizer([PROMPT] * batch, return_tensors="pt")
    inputs = {name: inputs[name].to(model.device) for name in ("input_ids", "attention_mask")}

    def generated(processor=None):
        return model.generate(
            **inputs,
            max_new_tokens=tokens,
            min_new_tokens=None if processor else tokens,
            do_sample=False,
            logits_processor=[processor] if processor else None,
            pad_token_id=0,
        )

    size = model.config.vocab_size
    xgrammar, llguidance = xgrammar_processor(tokenizer, size), llguidance_processor(tokenizer, size, batch)
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    constraint = gl.compile(gl.JsonSchema(SCHEMA), vocab)
    return {
        "transformers, free": generated,
        "transformers + grammarlm": lambda: generated(gl.LogitsProcessor(constraint)),
        "transformers + xgrammar": lambda: generated(xgrammar()),
        "transformers + llguidance": lambda: generated(llguidance()),
    }


def xgrammar_processor(tokenizer, size: int):
    import xgrammar
    from xgrammar.contrib.hf import LogitsProcessor

    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=size)
    compiled = xgrammar.GrammarCompiler(info, max_threads=1).compile_json_schema(json.dumps(SCHEMA))
    return lambda: LogitsProcessor(compiled)


def llguidance_processor(tokenizer, size: int, batch: int):
    import llguidance
    import llguidance.hf
    import llguidance.torch as masks

    ll_tokenizer = llguidance.hf.from_tokenizer(tokenizer, n_vocab=size)
    grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(SCHEMA))

    class Processor:
        def __init__(self):
            self.matchers = [llguidance.LLMatcher(ll_tokenizer, grammar) for _ in range(batch)]
            self.bits = masks.allocate_token_bitmask(batch, size)
            self.is_first = True

        def __call__(self, ids, scores):
            for row, matcher in enumerate(self.matchers):
                if not self.is_first and not matcher.is_stopped():
                    matcher.consume_token(int(ids[row, -1]))
                masks.fill_next_token_bitmask(matcher, self.bits, row)
            self.is_first = False
            masks.apply_token_bitmask_inplace(scores, self.bits)
            return scores

    return Processor


def measured(name: str, batch: int, tokens: int, rounds: int) -> dict[str, list[Run]]:
    model, tokenizer = load_model(name)
    watched = Watched(model)
    torch.set_num_threads(1)
    with torch.inference_mode():

        def made(length: int):
            return {**theirs(model, tokenizer, batch, length), **ours(model, tokenizer, batch, length)}

        calls = made(tokens)
        runs: dict[str, list[Run]] = {engine: [] for engine in calls}
        for call in made(2).values():  # everything is compiled and read once
            call()
        for _ in range(rounds):
            for engine, call in calls.items():
                runs[engine].append(watched.run(call))
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", default=["tiny", "half"], choices=["tiny", "half"])
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 16])
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows, figures = [], []
    for name in options.models:
        for batch in options.batches:
            runs = measured(name, batch, options.tokens, options.rounds)
            free = runs["transformers, free"]
            inside = statistics.median(run.inside / run.forwards for run in free)
            for engine, found in runs.items():
                whole = statistics.median(run.seconds / run.forwards for run in found)
                outside = statistics.median((run.seconds - run.inside) / run.forwards for run in found)
                ratio = statistics.median(
                    (one.seconds / one.forwards) / (other.seconds / other.forwards)
                    for one, other in zip(found, free, strict=True)
                )
                baseline = statistics.median((run.seconds - run.inside) / run.forwards for run in free)
                added = (outside - baseline) / (inside + baseline)
                rows.append(
                    [
                        name,
                        batch,
                        engine,
                        f"{whole * 1e3:.1f}",
                        f"{outside * 1e3:.2f}",
                        f"{added:+.1%}",
                        f"{ratio - 1:+.1%}",
                    ]
                )
                figures.append(
                    {"model": name, "batch": batch, "engine": engine, "seconds": whole, "outside": outside, "added": added,
                     "ratio": ratio, "forwards": [run.forwards for run in found]}
                )  # fmt: skip
    header = ["model", "batch", "loop", "ms a forward", "of it outside of the model", "added", "whole time"]
    note = (
        "\n\nProcessor time of one thread; medians. Added: what the loop takes outside of the model more than transformers' free "
        "one does, over a forward of that one; bar: 3 % on the half model. (With two threads a forward takes about half as long, "
        "and what is added weighs up to twice as much.) Whole time: the median of paired ratios to transformers' free loop, less 1."
    )
    write("generate", "Generating under a constraint", {"runs": figures}, table(header, rows) + note)


if __name__ == "__main__":
    main()
