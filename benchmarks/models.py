"""How good the embedded models are, into the model card, its pictures, and docs/figures/models.md.

usage: python -m benchmarks.models [--count 500] [--canvases 56] [--parts answers drafts exits canvases]

    answers    the causal model: greedy, each task, prompts of both splits, with and without the constraint of the answer's form
    drafts     tokens accepted of chains of four, records under their schemas: draft model, heads, feature drafter
    exits      how often an earlier layer's best token is the last one's
    canvases   the diffusion model: exact match after 4 to 64 steps, with and without the constraint, and what the canvas takes
               beside the model; the causal model's answers to the same prompts

Parts that are not asked for keep the figures of the run before. Intervals are Wilson's, 95 %.
"""

import argparse
import json
from typing import Any

import torch

import grammarlm as gl
from benchmarks.canvas_tables import canvas_tables, draw_canvases
from benchmarks.drafts.rows import TRAINED, measure, trained
from benchmarks.model_card import write_card
from benchmarks.report import FIGURES, RESULTS, machine, table, write
from benchmarks.samplers import answers as filling
from grammarlm.models.tiny import folder_of
from training import evaluate
from training.corpus import TASKS, constraint
from training.evaluate import Share, exact, examples

ASKED = [task for task in TASKS if task != "plain"]
SPLITS = {"heldout": "easy", "hard": "hard"}
STEPS = (4, 8, 16, 32, 64)
SAMPLER = "confidence"
DRAFTED = 4  # tokens of a chain
Figures = dict[str, Any]


def share(counted: Share) -> Figures:
    return {"hits": counted.hits, "of": counted.of, "value": counted.value, "interval": counted.interval}


def is_valid(form: str, output: Any, vocab: Any) -> bool:
    """Whether the grammar takes the answer's text; a JSON text is judged by jsonschema."""
    given = constraint(form)
    if "schema" in given:
        import jsonschema

        try:
            jsonschema.validate(json.loads(output.text), given["schema"])
        except (ValueError, jsonschema.ValidationError):
            return False
        return True
    grammar = gl.Regex(given["regex"]) if "regex" in given else given["grammar"]
    matcher = gl.compile(grammar, vocab).matcher()
    return matcher.advance_bytes(output.text.encode()) and matcher.is_accepting


def answers(count: int) -> list[Figures]:
    model, tokenizer = gl.load_tiny()
    vocab, found = gl.Vocabulary.from_tokenizer(tokenizer), []
    for split in SPLITS:
        for task in ASKED:
            asked = examples(split, task, count)
            for constrained in (False, True):
                made = evaluate.answers(model, tokenizer, asked, constrained)
                valid = sum(is_valid(each.form, output, vocab) for each, output in zip(asked, made, strict=True))
                right = share(exact(asked, [output.text for output in made]))
                found.append({"split": split, "task": task, "constrained": constrained, "valid": valid, **right})
                print(split, task, constrained, f"{right['value']:.3f} valid {valid / count:.3f}", flush=True)
    return found


def drafts(count: int) -> Figures:
    """Without forced runs, so that all that is saved is saved by drafts."""
    model, tokenizer = gl.load_tiny()
    asked, found = examples("heldout", "record", count), {}
    for name in TRAINED:
        draft = gl.Draft(trained(name), length=DRAFTED)
        cost, _ = measure(model, tokenizer, asked, {"draft": draft, "forced": "off"}, constrained=True)
        each = cost.tokens / cost.forwards
        found[name] = {"accepted": cost.accepted_a_round, "tokens a forward": each, "prompts": count}
        print(name, found[name], flush=True)
    return found


def exits(count: int) -> list[Figures]:
    with torch.inference_mode():
        return [share(each) for each in evaluate.exits(*gl.load_tiny(), examples("heldout", "record", count))]


def canvases(count: int) -> list[Figures]:
    """Prompts whose answers fit, of both splits; the sampler is gl.generate's own."""
    if not (folder_of("diffusion") / "model.safetensors").exists():
        return []
    (network, tokenizer), (causal, _) = gl.load_tiny(diffusion=True), gl.load_tiny()
    vocab, found = gl.Vocabulary.from_tokenizer(tokenizer), []
    for split in SPLITS:
        for task in ASKED:
            asked = filling.prompts(tokenizer, task, count, split)
            measured = filling.measure(
                network,
                tokenizer,
                asked,
                filling.ways([SAMPLER], STEPS),
                lambda one, out: is_valid(one.form, out, vocab),
            )
            found += [{"split": split, "task": task, **shown(one)} for one in measured]
            for constrained in (False, True):
                made = evaluate.answers(causal, tokenizer, asked, constrained)
                right = share(exact(asked, [output.text for output in made]))
                found.append(
                    {"split": split, "task": task, "steps": 0, "constrained": constrained, "refused": 0, **right}
                )
            print(
                split,
                task,
                [f"{cell['value']:.2f}" for cell in found if (cell["split"], cell["task"]) == (split, task)],
                flush=True,
            )
    return found


def shown(one: filling.Filled) -> Figures:
    figures = share(Share(one.right, one.answers))
    times = {"model ms": one.model_ms, "canvas ms": one.canvas_ms_a_step}
    counts = {name: getattr(one, name) for name in ("steps", "constrained", "invalid", "refused", "model_calls")}
    return {**counts, **times, **figures}


PARTS = {"answers": answers, "drafts": drafts, "exits": exits, "canvases": canvases}


def percent(cell: Figures) -> str:
    low, high = cell["interval"]
    return f"{100 * cell['value']:.1f} ({100 * low:.1f}-{100 * high:.1f})"


def answers_table(cells: list[Figures]) -> str:
    at = {(cell["task"], cell["split"], cell["constrained"]): cell for cell in cells}
    kinds = [(split, constrained) for split in SPLITS for constrained in (False, True)]
    rows = [
        [
            task,
            *(percent(at[task, split, constrained]) for split, constrained in kinds),
            " ".join(f"{100 * at[task, split, True]['valid'] / at[task, split, True]['of']:.1f}" for split in SPLITS),
        ]
        for task in ASKED
    ]
    heads = [f"{SPLITS[split]}, {'with' if constrained else 'without'}" for split, constrained in kinds]
    return table(["task", *heads, "valid, with: easy hard"], rows)


def markdown(figures: Figures) -> str:
    parts = []
    if figures.get("answers"):
        parts += [
            "Exact match in %, greedy, without and with the constraint of the answer's form (95 % interval):",
            answers_table(figures["answers"]),
        ]
    if figures.get("drafts"):
        rows = [
            [name, f"{cell['accepted']:.2f}", f"{cell['tokens a forward']:.2f}", cell["prompts"]]
            for name, cell in figures["drafts"].items()
        ]
        parts += [
            "Chains of four under a schema, records of the easy split, no forced runs: drafted tokens drawn a forward, and "
            "tokens that a forward brings (its own next token and the end included):",
            table(["drafts by", "accepted", "tokens a forward", "prompts"], rows),
        ]
    if figures.get("exits"):
        rows = [[number, percent(cell)] for number, cell in enumerate(figures["exits"], 1)]
        parts += [
            "How often the best next token after a layer is the last layer's, in %:",
            table(["layer", "same"], rows),
        ]
    if figures.get("canvases"):
        parts += canvas_tables(figures["canvases"], SPLITS, SAMPLER, filling.LENGTH)
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="prompts a task")
    parser.add_argument("--canvases", type=int, default=56, help="prompts a task of the part canvases")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    before = RESULTS / "models.json"
    kept: Figures = json.loads(before.read_text()) if before.exists() else {}
    figures: Figures = {part: kept[part] for part in PARTS if part in kept}
    for part in options.parts:
        figures[part] = PARTS[part](options.canvases if part == "canvases" else options.count)
    write_card(markdown(figures), machine(), figures)
    pictures = "\n\n![Exact match by task](models.png)\n\n![Losses on answers while training](models_losses.png)"
    if figures.get("canvases"):
        draw_canvases(figures["canvases"], SPLITS, FIGURES / "models_canvases.png")
        pictures += "\n\n![Exact match of the diffusion model by steps](models_canvases.png)"
    write("models", "The embedded models", figures, markdown(figures) + pictures)


if __name__ == "__main__":
    main()
