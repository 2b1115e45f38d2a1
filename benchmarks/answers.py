"""Around one answer: forwards that text which must come saves, what a second turn reads, and what the rest adds to a step.

usage: python -m benchmarks.answers [--count 100] [--rounds 9] [--tokens 120]

All of the embedded model, one thread:

    templates      forwards of a template, beside the tokens in its holes, and whether its literals are the tokenizer's tokens
    records        a closed record of five fields, forced="write" and "score": forwards, and right answers (values, not texts;
                   Wilson's intervals, 95 %), in json.dumps' layout and in the compact one, which is all that the model has learned
    second turn    the first event of a conversation's next turn, of a gl.Generator that keeps what it has read and of one that
                   does not, where some 800 tokens stand before
    together       16 calls of gl.agenerate at once over one gl.generate of all 16 prompts; one call alone over gl.generate
    one step       an answer with stop=, its fields and named parts, over one without any of them
    decisions      forwards of gl.decide for 64 choices

Times are of turns of the alternatives, whose order changes from round to round; the ratios are medians of the rounds'.
"""

import argparse
import asyncio
import json
import statistics
import time
from itertools import product

import torch

import grammarlm as gl
from benchmarks.report import table, write
from training.evaluate import Share, examples

ORDER = {
    "type": "object",
    "properties": {
        "customer": {"type": "string"}, "item": {"type": "string"}, "quantity": {"type": "integer"},
        "price": {"type": "number"}, "paid": {"type": "boolean"},
    },
    "required": ["customer", "item", "quantity", "price", "paid"],
    "additionalProperties": False,
}  # fmt: skip
LITERALS = ("Customer: ", ". Item: ", ". Quantity: ", ".")
FORM = gl.Template(
    "{customer}".join(LITERALS[:2]) + "{item}" + "{quantity}".join(LITERALS[2:]),
    customer=gl.Regex("[A-Z][a-z]+ [A-Z][a-z]+"), item=gl.Regex("[a-z]+( [a-z]+)?"), quantity=range(1, 1000),
)  # fmt: skip
SENTENCE = "Mira Tolan ordered seven steel lamps at 24.95 euros each and has not paid. "
BARS = {"second turn": 0.25, "16 at once": 1.2, "one alone": 1.05, "one step": 1.02}


def orders(count: int) -> list[tuple[str, dict]]:
    """Prompts of the held-out split whose record has these five fields, with it."""
    asked = [each for each in examples("heldout", "record", 8 * count) if each.form == "order"]
    return [(each.prompt, json.loads(each.answer)) for each in asked[:count]]


def templates(model, tokenizer, prompts):
    """Of each answer its forwards, tokens, and tokens in its holes; how many literals are spelled as the tokenizer writes them."""
    expected = [tokenizer.encode(literal, add_special_tokens=False) for literal in LITERALS]
    outs = [gl.generate(model, prompt, tokenizer=tokenizer, grammar=FORM, max_tokens=80) for prompt in prompts]
    spelled, inside = 0, []
    for out in outs:
        borders = [0, *(place for field in out.fields for place in field.token_span), len(out.tokens)]
        found = [out.tokens[start:end] for start, end in zip(borders[::2], borders[1::2], strict=True)]
        spelled += sum(one == other for one, other in zip(found, expected, strict=True))
        inside.append(held(out))
    return {
        "answers": len(outs),
        "literals": spelled / len(LITERALS) / len(outs),
        **costs(outs, inside, len(LITERALS)),
    }


def held(out) -> int:
    """Tokens in fields."""
    return sum(len(field.tokens) for field in out.fields)


def costs(outs, inside, more: int):
    """Averages; and the most forwards beyond the tokens in fields and so many more."""
    over = max(out.stats.forwards - (count + more) for out, count in zip(outs, inside, strict=True))
    return {
        "forwards": statistics.mean(out.stats.forwards for out in outs),
        "tokens": statistics.mean(len(out.tokens) for out in outs),
        "in fields": statistics.mean(inside),
        "over": over,
    }


def records(model, tokenizer, asked):
    found = {}
    for layout, forced in product(("spaced", "compact"), ("write", "score")):
        grammar = gl.JsonSchema(ORDER, whitespace=layout)
        outs = [
            gl.generate(model, prompt, tokenizer=tokenizer, grammar=grammar, forced=forced, max_tokens=160)
            for prompt, _ in asked
        ]
        right = Share(sum(out.value == value for out, (_, value) in zip(outs, asked, strict=True)), len(asked))
        figures = costs(outs, [held(out) for out in outs], len(ORDER["properties"]) + 2)
        found[f"{layout}, {forced}"] = {**figures, "right": right.value, "interval": right.interval}
    return found


def seconds(call) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def ratio(one, other, rounds: int) -> tuple[float, float, float]:
    """Of the times of two calls, which take turns: the median of the rounds' ratios; milliseconds of each."""
    one(), other()
    pairs = []
    for number in range(rounds):
        first, second = (one, other) if number % 2 == 0 else (other, one)
        times = seconds(first), seconds(second)
        pairs.append(times if number % 2 == 0 else times[::-1])
    mine, theirs = zip(*pairs, strict=True)
    return statistics.median(a / b for a, b in pairs), 1e3 * statistics.median(mine), 1e3 * statistics.median(theirs)


def second_turn(model, tokenizer, rounds: int):
    """Each round is a conversation of its own, so that what is kept is of its first turn alone."""
    keeping, forgetful = (gl.Generator(model, tokenizer=tokenizer, keep=keep, max_tokens=8) for keep in (4, 0))
    pairs, length = [], 0
    for number in range(rounds + 1):
        messages = [{"role": "user", "content": f"{number}. " + SENTENCE * 36}]
        messages += [keeping(messages).message, {"role": "user", "content": "And Tom?"}]
        length = len(tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False))
        order = (keeping, forgetful) if number % 2 == 0 else (forgetful, keeping)
        times = {generator: seconds(lambda of=generator: next(of.stream(messages))) for generator in order}  # noqa: B023
        pairs.append((times[keeping], times[forgetful]))
    pairs = pairs[1:]  # the first one compiles
    return {
        "tokens": length,
        "ratio": statistics.median(a / b for a, b in pairs),
        "kept ms": 1e3 * statistics.median(a for a, _ in pairs),
        "read again ms": 1e3 * statistics.median(b for _, b in pairs),
    }


def together(model, tokenizer, prompts, tokens: int, rounds: int):
    options = {"tokenizer": tokenizer, "max_tokens": tokens, "close": False, "schema": {"type": "object"}}

    async def at_once():
        await asyncio.gather(*(gl.agenerate(model, prompt, **options) for prompt in prompts))

    many = ratio(lambda: asyncio.run(at_once()), lambda: gl.generate(model, prompts, **options), rounds)
    one = ratio(
        lambda: asyncio.run(gl.agenerate(model, prompts[0], **options)),
        lambda: gl.generate(model, prompts[0], **options),
        rounds,
    )
    names = ("ratio", "agenerate ms", "generate ms")
    return {"16 at once": dict(zip(names, many, strict=True)), "one alone": dict(zip(names, one, strict=True))}


def one_step(model, tokenizer, tokens: int, rounds: int):
    """The same tokens with stop=, named parts and fields, and without; what has parts has fields."""
    body = gl.Regex(f"[a-z ]{{{2 * tokens}}}")
    named = gl.Capture("all", gl.Capture("text", body))
    options = {"tokenizer": tokenizer, "max_tokens": 2 * tokens, "seed": 1, "temperature": 1.0}

    def with_all():
        out = gl.generate(model, SENTENCE, grammar=named, stop=["\n\n", "THE END"], **options)
        assert out.parts
        assert out.fields

    return dict(
        zip(
            ("ratio", "with ms", "without ms"),
            ratio(with_all, lambda: gl.generate(model, SENTENCE, grammar=body, **options), rounds),
            strict=True,
        )
    )


def decisions(model, tokenizer):
    """Of choices that share beginnings, and of others."""
    listed = {"numbers": list(range(64)), "words": [f"{first}{last}" for first in "bdfglmnp" for last in
              ("ad", "ell", "ip", "ore", "un", "ark", "ine", "ost")]}  # fmt: skip
    return {
        name: gl.decide(model, SENTENCE, choices=each, tokenizer=tokenizer).forwards for name, each in listed.items()
    }


def markdown(found) -> str:
    form, kept, calls, step = (found[name] for name in ("templates", "second turn", "together", "one step"))
    parts = [
        f"A template of three holes, {form['answers']} answers: {form['forwards']:.1f} forwards for {form['tokens']:.1f} tokens, "
        f"{form['in fields']:.1f} of them in holes; at most {form['over']:+d} over tokens in holes, holes and 1. "
        f"{form['literals']:.1%} of the literals are spelled as the tokenizer writes them.",
        table(
            ["a record of five fields", "forwards", "tokens", "in values", "forwards over tokens in values + 5 + 2", "right"],
            [[name, f"{each['forwards']:.1f}", f"{each['tokens']:.1f}", f"{each['in fields']:.1f}", f"at most {each['over']:+d}",
              "{:.1%} ({:.1%} to {:.1%})".format(each["right"], *each["interval"])]
             for name, each in found["records"].items()],
        ),
        table(
            ["what", "ms", "beside", "ms", "ratio", "bar"],
            [
                [f"first event of a second turn after {kept['tokens']} tokens", f"{kept['kept ms']:.1f}", "all read again",
                 f"{kept['read again ms']:.1f}", f"{kept['ratio']:.2f}", BARS["second turn"]],
                *([f"agenerate, {name}", f"{calls[name]['agenerate ms']:.0f}", "generate", f"{calls[name]['generate ms']:.0f}",
                   f"{calls[name]['ratio']:.3f}", BARS[name]] for name in ("16 at once", "one alone")),
                ["stop=, two named parts, fields", f"{step['with ms']:.0f}", "none of them", f"{step['without ms']:.0f}",
                 f"{step['ratio']:.3f}", BARS["one step"]],
            ],
        ),
        "gl.decide among 64 choices: "
        + ", ".join(f"{count} forwards ({name})" for name, count in found["decisions"].items()) + "; bar: 2.",
    ]  # fmt: skip
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="templates and records")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tokens", type=int, default=120, help="of the answers that are timed")
    options = parser.parse_args()
    torch.set_num_threads(1)
    model, tokenizer = gl.load_tiny()
    asked = orders(options.count)
    prompts = [prompt for prompt, _ in orders(16)]
    found = {
        "templates": templates(model, tokenizer, [prompt for prompt, _ in asked]),
        "records": records(model, tokenizer, asked),
        "second turn": second_turn(model, tokenizer, options.rounds),
        "together": together(model, tokenizer, prompts, options.tokens, options.rounds),
        "one step": one_step(model, tokenizer, options.tokens, options.rounds),
        "decisions": decisions(model, tokenizer),
    }
    write("answers", "Around one answer", found, markdown(found))


if __name__ == "__main__":
    main()
