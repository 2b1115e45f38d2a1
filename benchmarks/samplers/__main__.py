"""Every sampler and driver of gl.infill, with a constraint and without it, into docs/figures/canvases.md.

usage: python -m benchmarks.samplers [--parts parallel infill] [--tasks T ...] [--samplers S ...] [--count N] [--steps N ...]

    parallel   on small tasks whose joint law is known: how far what is written is from that law, against tokens a step. All draws
               are enumerated, so the figures are exact; outside of the language is 0 under the constraint
    infill     on the embedded diffusion model: right and invalid answers, and the time of the canvas beside the model's. Each way
               needs up to `steps` forwards a prompt (some 8 ms), but rows that several come by are read once
"""

import argparse

import torch

import grammarlm as gl
from benchmarks.report import FIGURES, write
from benchmarks.samplers import infill, parallel
from benchmarks.samplers.infill_picture import draw as draw_infill
from benchmarks.samplers.laws import TASKS
from grammarlm.decoding.systems import SAMPLERS

INFILLED = ("record", "edit", "call", "calls", "list", "sql")
STEPS = (4, 8, 16, 32, 64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=["parallel", "infill"], choices=["parallel", "infill"])
    parser.add_argument("--tasks", nargs="+", help=f"of {', '.join(TASKS)}; of infill: of the model's text")
    parser.add_argument("--samplers", nargs="+", default=list(SAMPLERS), choices=list(SAMPLERS))
    parser.add_argument("--count", type=int, default=10, help="prompts a task of infill (10)")
    parser.add_argument(
        "--steps", type=int, nargs="+", default=STEPS, help="of infill, at most, for 64 places (4 to 64)"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    if "parallel" in options.parts:
        tasks = options.tasks or list(TASKS)
        curves = parallel.measured(tasks, options.samplers)
        parallel.draw(FIGURES / "parallel.png", curves, tasks, options.samplers)
        report = parallel.report_of(curves, tasks, options.samplers)
        write("parallel", "Several tokens a step", {"figures": parallel.as_json(curves)}, report, module="samplers")
    if "infill" in options.parts:
        pair = gl.load_tiny(diffusion=True)
        found = infill.measured(*pair, options.tasks or INFILLED, options.samplers, options.steps, options.count)
        draw_infill(FIGURES / "infill.png", next(iter(infill.with_all(found).values())))
        write(
            "infill",
            infill.TITLE.format(options.count),
            {"figures": infill.as_json(found)},
            infill.report_of(found),
            "samplers",
        )


if __name__ == "__main__":
    main()
