"""lm-evaluation-harness with grammarlm's decoding: its `jsonschema_bench_*` tasks, or any whose documents carry a JSON schema.

    python -m grammarlm.integrations.lm_eval --model_args pretrained=MODEL --tasks jsonschema_bench_easy --data DIR

The arguments are lm_eval's own; the model is its `hf`, whose texts are generated under the schema of their document
(`json_schema`). Texts without one, and log-likelihoods, are hf's. `--data DIR` runs the tasks on local files instead of the hub's:
JSONSchemaBench's, as `grammarlm bench jsonschemabench` takes them.

A schema that grammarlm refuses gets an empty answer and a line in the log; it counts as a failure. `until` ends no text: a text
ends where its schema says so, within `max_gen_toks`.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grammarlm as gl

try:
    from lm_eval.api.registry import register_model
    from lm_eval.models.huggingface import HFLM
except ImportError as error:
    raise ImportError(f"grammarlm.integrations.lm_eval needs lm-eval ({error}): pip install 'lm-eval[hf]'") from error

NAME = "grammarlm"
SCHEMA = "json_schema"  # the field of a document
DATA_SETS = {f"jsonschema_bench_{size}": f"Github_{size}" for size in ("easy", "medium", "hard")}
logger = logging.getLogger(__name__)


@register_model(NAME)
class ConstrainedLM(HFLM):  # type: ignore[misc]
    """lm_eval's `hf`, whose texts are valid under their documents' schemas."""

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        texts: dict[int, str] = {}
        waiting: dict[str, list[int]] = {}
        for number, request in enumerate(requests):
            if isinstance(request.doc, dict) and SCHEMA in request.doc:
                waiting.setdefault(json.dumps(request.args[1], sort_keys=True, default=str), []).append(number)
        for numbers in waiting.values():  # those with the same settings share forwards
            texts |= self._constrained([(number, requests[number]) for number in numbers])
        free = [number for number in range(len(requests)) if number not in texts]
        if free:
            found = super().generate_until([requests[number] for number in free], disable_tqdm)
            texts |= dict(zip(free, found, strict=True))
        return [texts[number] for number in range(len(requests))]

    def _constrained(self, requests: list[tuple[int, Any]]) -> dict[int, str]:
        settings = requests[0][1].args[1]
        most = int(settings.get("max_gen_toks", settings.get("max_new_tokens", self.max_gen_toks)))
        temperature = float(settings.get("temperature", 1.0)) if settings.get("do_sample") else 0.0
        texts = {}
        size = self.batch_size if isinstance(self.batch_size, int) else 8
        for begin in range(0, len(requests), size):
            chunk = requests[begin : begin + size]
            prompts = [
                self.tok_encode(request.args[0], left_truncate_len=self.max_length - most) for _, request in chunk
            ]
            schemas = [schema_of(request.doc[SCHEMA]) for _, request in chunk]
            for (number, request), text in zip(chunk, self._texts(prompts, schemas, most, temperature), strict=True):
                texts[number] = text
                self.cache_hook.add_partial("generate_until", request.args, text)
        return texts

    def _texts(self, prompts: list[list[int]], schemas: list[Any], most: int, temperature: float) -> list[str]:
        """One text for each prompt; where a schema is refused, the others are generated without it."""
        try:
            found = gl.generate(
                self.model,
                prompts,
                tokenizer=self.tokenizer,
                schema=schemas,
                max_tokens=most,
                temperature=temperature,
                batch_size=len(prompts),
            )
        except (gl.GrammarError, ValueError) as error:  # ValueError: it may need more than `most`
            if len(prompts) > 1:
                apart = zip(prompts, schemas, strict=True)
                return [self._texts([prompt], [schema], most, temperature)[0] for prompt, schema in apart]
            logger.warning("no text under a schema: %s", error)
            return [""]
        return [result.text for result in found]


def schema_of(given: Any) -> Any:
    """The schema of a document: as a value, or as JSON text, in which the harness has it."""
    return json.loads(given) if isinstance(given, str) else given


def write_tasks(data: Path, folder: Path) -> None:
    """The harness's tasks over local files: each includes the harness's own, with another data set."""
    import lm_eval.tasks

    original = Path(lm_eval.tasks.__file__).parent / "jsonschema_bench" / "jsonschema_bench_easy.yaml"
    for task, data_set in DATA_SETS.items():
        documents = folder / f"{task}.jsonl"
        found = list(schemas_of(data, data_set))
        if not found:
            continue
        documents.write_text(
            "".join(json.dumps({SCHEMA: json.dumps(each), "name": name}) + "\n" for name, each in found)
        )
        lines = [
            f"include: {original}",
            f"task: {task}",
            "dataset_path: json",
            "dataset_name: null",
            "training_split: null",
            "validation_split: null",
            "dataset_kwargs:",
            "  data_files:",
            f"    test: {documents}",
        ]
        (folder / f"{task}.yaml").write_text("\n".join(lines) + "\n")


def schemas_of(data: Path, data_set: str) -> Iterator[tuple[str, Any]]:
    """Names and schemas: files SET---NAME.json of {schema, tests}, or SET/NAME.json of bare schemas."""
    for file in sorted(data.glob(f"{data_set}---*.json")):
        yield file.stem, json.loads(file.read_bytes())["schema"]
    for file in sorted((data / data_set).glob("*.json")):
        yield f"{data_set}---{file.stem}", json.loads(file.read_bytes())


def main(arguments: list[str]) -> None:
    """lm_eval's command line, with this model and local data."""
    from lm_eval.__main__ import cli_evaluate

    with tempfile.TemporaryDirectory() as folder:
        if "--data" in arguments:
            at = arguments.index("--data")
            write_tasks(Path(arguments[at + 1]), Path(folder))
            arguments = [*arguments[:at], *arguments[at + 2 :], "--include_path", folder]
        if "--model" not in arguments:
            arguments = ["--model", NAME, *arguments]
        sys.argv = ["lm_eval", *arguments]
        warnings.simplefilter("ignore", gl.SchemaWarning)  # hundreds, of schemas that nobody here can correct
        cli_evaluate()


if __name__ == "__main__":
    main(sys.argv[1:])
