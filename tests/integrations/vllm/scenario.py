"""One run of the real engine, in a process of its own: python -m tests.integrations.vllm.scenario '{"runner": "v2", ...}'.

The answer is one line of JSON on stdout, behind MARK. Options: Scenario's fields.
"""

import dataclasses
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

MARK = "the answers: "
MODEL = Path(__file__).parents[3] / "grammarlm" / "models" / "tiny"
PROCESSOR = "grammarlm.integrations.vllm:LogitsProcessor"
PROMPTS = [
    "Name: Mia Lopez\nAge: 31\nCity: Oslo\n",
    "The order of Ann: 3 apples, 2 pears.",
    "It was on ",
    '{"name": "Ann", "age": ',
    "a",
]

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
LIST = {"type": "array", "items": {"enum": ["red", "green", 7, None]}, "maxItems": 6, "minItems": 1}
TREE = {
    "$defs": {"node": {"type": "object", "properties": {"v": {"type": "number"}, "next": {"$ref": "#/$defs/node"}},
                       "required": ["v"], "additionalProperties": False}},
    "$ref": "#/$defs/node",
}  # fmt: skip
DATE = "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
ARITHMETIC = 'root ::= term (" + " term){0,3}\nterm ::= [0-9]{1,3} | "(" root ")"'
CALL = 'start: NAME "(" [arg ("," arg)*] ")"\narg: NAME | NUMBER\nNAME: /[a-z]{1,6}/\nNUMBER: /[0-9]{1,4}/'
WORDS = ["yes", "no", "maybe not", "yesterday"]
KEEP = {"type": "function", "function": {"name": "keep", "parameters": PERSON}}
TURN = {"tools": [KEEP], "tool_format": "hermes"}
TAG = {
    "begin": '<tool_call>\n{"name": "keep", "arguments": ', "content": {"type": "json_schema", "json_schema": PERSON},
    "end": "}\n</tool_call>", "type": "tag",
}  # fmt: skip
TAGS = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<tool_call>"],
        "tags": [TAG],
        "at_least_one": True,
        "stop_after_first": True,
    },
}
OLDER = {"structures": [{"begin": TAG["begin"], "schema": PERSON, "end": TAG["end"]}], "triggers": ["<tool_call>"]}


@dataclasses.dataclass
class Scenario:
    """What is run."""

    runner: str = "v1"  # v1, v2
    route: str = "processor"  # processor, backend; guidance, xgrammar: vLLM's own backends, to compare
    draft: str = ""  # "", ngram
    count: int = 40  # constrained requests
    temperature: float = 1.0
    max_tokens: int = 60
    seed: int = 0
    mixed: bool = False  # with unconstrained greedy requests between them, which are run alone, too
    others: dict[str, Any] = dataclasses.field(default_factory=dict)  # of SamplingParams
    more: dict[str, Any] = dataclasses.field(default_factory=dict)  # of extra_args["grammarlm"]
    bad: bool = False  # run bad requests first, and between
    engine: dict[str, Any] = dataclasses.field(default_factory=dict)  # of LLM


def asked(place: int) -> dict[str, Any]:
    """The form of the answer to a request, in generate()'s keys."""
    forms: list[dict[str, Any]] = [
        {"schema": PERSON}, {"regex": DATE}, {"schema": LIST}, {"choices": WORDS}, {"grammar": ARITHMETIC},
        {"schema": TREE}, {"grammar": CALL}, {"schema": PERSON, "whitespace": "compact"}, {"structural_tag": json.dumps(TAGS)},
        {**TURN, "tool_choice": "required"}, {"structural_tag": json.dumps(OLDER)},
        {**TURN, "schema": LIST, "tool_choice": "none", "reasoning": 20},
    ]  # fmt: skip
    return forms[place % len(forms)]


def main() -> None:
    run = Scenario(**json.loads(sys.argv[1]))
    os.environ |= {
        "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_LOGGING_LEVEL": "WARNING",
        "GRAMMARLM_VLLM_BACKEND": "1" if run.route == "backend" else "",
    }  # fmt: skip
    if run.runner == "v2":
        os.environ |= {"TRITON_INTERPRET": "1", "VLLM_USE_V2_MODEL_RUNNER": "1"}
        read_masks_as_booleans()
    from vllm import LLM

    from grammarlm.integrations.vllm import register

    register()
    options = {"enforce_eager": True, "dtype": "float32", "max_model_len": 256, "max_num_seqs": 8, "seed": run.seed}
    options |= {"disable_log_stats": True, **run.engine}
    if run.route == "processor":
        options["logits_processors"] = [PROCESSOR]
    if run.route not in ("processor", "backend"):
        options["structured_outputs_config"] = {"backend": run.route}
    if run.draft:
        lookup = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3, "prompt_lookup_min": 1}
        options["speculative_config"] = lookup
    start = time.perf_counter()
    llm = LLM(model=str(MODEL), **options)
    print(MARK + json.dumps({"load": time.perf_counter() - start, **answers(llm, run)}))


def answers(llm: Any, run: Scenario) -> dict[str, Any]:
    rng = random.Random(run.seed)
    held = [(rng.choice(PROMPTS), asked(place)) for place in range(run.count)]
    requests = [(prompt, parameters(run, form, rng.randrange(2**31))) for prompt, form in held]
    free = [(prompt, free_parameters(run)) for prompt in PROMPTS] if run.mixed else []
    found: dict[str, Any] = {}
    if run.bad:
        found["refused"] = refusals(llm, run, requests[0])
    if free:
        found["alone"] = [list(one.outputs[0].token_ids) for one in generate(llm, free)]
    every = sorted([*enumerate(requests), *((-1 - n, one) for n, one in enumerate(free))], key=lambda _: rng.random())
    start = time.perf_counter()
    outputs = generate(llm, [one for _, one in every])
    found["seconds"] = time.perf_counter() - start
    by_place = {place: output for (place, _), output in zip(every, outputs, strict=True)}
    found["held"] = [
        {"asked": form, "text": by_place[place].outputs[0].text, "reason": by_place[place].outputs[0].finish_reason,
         "tokens": list(by_place[place].outputs[0].token_ids)}
        for place, (_, form) in enumerate(held)
    ]  # fmt: skip
    found["mixed"] = [list(by_place[-1 - n].outputs[0].token_ids) for n in range(len(free))]
    return found


def generate(llm: Any, requests: list[tuple[str, Any]]) -> list[Any]:
    found: list[Any] = llm.generate([prompt for prompt, _ in requests], [one for _, one in requests], use_tqdm=False)
    return found


def free_parameters(run: Scenario) -> Any:
    from vllm import SamplingParams

    return SamplingParams(temperature=0.0, max_tokens=20, ignore_eos=True)


def parameters(run: Scenario, form: dict[str, Any], seed: int) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    named: dict[str, Any] = {"temperature": run.temperature, "max_tokens": run.max_tokens, **run.others}
    if "logit_bias" in named:  # JSON's keys are strings
        named["logit_bias"] = {int(token): bias for token, bias in named["logit_bias"].items()}
    if run.temperature:
        named["seed"] = seed
    if run.route == "processor":
        return SamplingParams(**named, extra_args={"grammarlm": {**form, **run.more}})
    kinds = {
        "schema": "json", "regex": "regex", "choices": "choice", "grammar": "grammar", "structural_tag": "structural_tag",
    }  # fmt: skip
    if "tool_format" in form or not form.keys() & kinds.keys():
        return SamplingParams(**named, extra_args={"grammarlm": {**form, **run.more}})
    if isinstance(form.get("structural_tag"), dict):
        form = {**form, "structural_tag": json.dumps(form["structural_tag"])}
    asked = {kinds[name]: value for name, value in form.items() if name in kinds}
    more = {name: value for name, value in form.items() if name not in kinds} | run.more
    return SamplingParams(
        **named, structured_outputs=StructuredOutputsParams(**asked), extra_args={"grammarlm": more} if more else None
    )


def refusals(llm: Any, run: Scenario, good: tuple[str, Any]) -> list[Any]:
    """What each bad request comes to, and the good one right after it."""
    from tests.integrations.vllm.bad_requests import BAD

    found = []
    for name, form in BAD.items():
        try:
            output = generate(llm, [("a", parameters(run, form, 1))])[0].outputs[0]
            came = [output.finish_reason, output.text]
        except Exception as error:
            came = [type(error).__name__, str(error)[:600]]
        after = generate(llm, [good])[0].outputs[0]
        found.append([name, *came, after.finish_reason, after.text])
    return found


def read_masks_as_booleans() -> None:
    """Triton's interpreter takes masks of other types for numbers of lanes."""
    from triton.runtime import interpreter

    builder = interpreter.InterpreterBuilder

    def wrapped(name: str, place: int) -> None:
        before = getattr(builder, name)

        def call(self: Any, *given: Any, **named: Any) -> Any:
            changed = list(given)
            if len(changed) > place and changed[place] is not None and changed[place].data.dtype != bool:
                changed[place] = interpreter.TensorHandle(changed[place].data.astype(bool), interpreter.tl.int1)
            return before(self, *changed, **named)

        setattr(builder, name, call)

    wrapped("create_masked_load", 1)
    wrapped("create_masked_store", 2)


if __name__ == "__main__":
    main()
