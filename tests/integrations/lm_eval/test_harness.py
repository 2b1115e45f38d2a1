"""lm-evaluation-harness itself: its command over local files, and its judge beside ours. `make test-lm-eval` installs it."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from grammarlm.bench.cases import Case, jsonschemabench
from grammarlm.bench.generation.validation import Validate
from grammarlm.models.tiny import FOLDER
from tests.commands.bench_cases import case_of, write_cases

pytest.importorskip("lm_eval", reason="make test-lm-eval installs lm-evaluation-harness")
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


def schema_compliance(schema: Any, text: str) -> bool:
    """The harness's judge."""
    from lm_eval.tasks.jsonschema_bench import metrics

    return bool(metrics.schema_compliance([json.dumps(schema)], [text]))


def test_its_tasks_on_local_files(tmp_path) -> None:
    schemas = {
        "a": {
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
            "additionalProperties": False,
        },
        "b": {"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 2, "maxItems": 2},
        "c": {"type": "string", "format": "date"},
        "d": {"not": {"uniqueItems": True}, "type": "array"},  # refused: an empty answer
    }
    write_cases(tmp_path / "data", {f"Github_easy---{name}": case_of(schema) for name, schema in schemas.items()})
    command = [sys.executable, "-m", "grammarlm.integrations.lm_eval", "--data", str(tmp_path / "data")]
    command += ["--model_args", f"pretrained={FOLDER},max_length=1024", "--tasks", "jsonschema_bench_easy"]
    command += ["--num_fewshot", "0", "--batch_size", "3", "--gen_kwargs", "max_gen_toks=40", "--log_samples"]
    environment = {**os.environ, **OFFLINE, "HF_HOME": str(tmp_path / "hf")}
    done = subprocess.run(
        [*command, "--output_path", str(tmp_path / "out")], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (samples,) = (tmp_path / "out").rglob("samples_*.jsonl")
    found = [json.loads(line) for line in samples.read_text().splitlines()]
    judged = {sample["doc"]["name"][-1]: (sample["filtered_resps"][0], sample["schema_compliance"]) for sample in found}
    assert {name: bool(score) for name, (_, score) in judged.items()} == {"a": True, "b": True, "c": True, "d": False}
    assert judged["d"][0] == ""
    assert "no text under a schema" in done.stderr


def kinds_of(instance: Any, is_valid: bool, rng: random.Random) -> dict[str, str]:
    """An output of each kind."""
    text = json.dumps(instance)
    return {
        "valid" if is_valid else "invalid": text,
        "cut": text[: rng.randrange(len(text))],
        "spaced": json.dumps(instance, indent=2, ensure_ascii=False),
        "other": json.dumps(rng.choice([None, 0, "", [], {}, 1.5, True])),
    }


@pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.proof)])
def test_verdicts_are_the_harness_own(count: int) -> None:
    """On `count` outputs of each kind under real schemas: json.loads, the check of the schema, formats, references."""
    folder = os.environ.get("GRAMMARLM_DATA")
    if not folder:
        pytest.skip("GRAMMARLM_DATA says where schemas are")
    validate, rng, counts = Validate({}), random.Random(4), Counter[str]()
    for case in jsonschemabench(Path(folder) / "maskbench"):
        content = case.load()
        for test in content.get("tests", []):
            wanted = {
                kind: text for kind, text in kinds_of(test["data"], test["valid"], rng).items() if counts[kind] < count
            }
            if not wanted:
                continue
            judged = validate.run(Case(case.name, content=content, texts=list(wanted.values())), lambda record: None)
            for (kind, text), verdict in zip(wanted.items(), judged.by_reference, strict=True):
                assert verdict == schema_compliance(content["schema"], text), (case.name, kind, text)
                counts[kind] += 1
        if len(counts) == 5 and min(counts.values()) == count:
            break
    assert set(counts.values()) == {count}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"format": "ipv4"}, "5"),
        ({"format": "ipv4"}, "[]"),
        ({"format": "uuid"}, "5"),
        ({"format": "uuid"}, '"{12345678-1234-5678-1234-567812345678}"'),
        ({"format": "ipv6"}, '"::1"'),
        ({"format": "ipv6"}, '"::1%eth0"'),
        ({"format": "date"}, '"2023-02-29"'),
        ({"exclusiveMinimum": True, "minimum": 3}, "4"),
        ({"$ref": "#/nowhere"}, "4"),
        ({"type": "nothing"}, "4"),
        ({}, "NaN"),
        ({}, ""),
    ],
)
def test_corners_of_its_judge(schema: Any, text: str) -> None:
    judged = Validate({}).run(Case("", content={"schema": schema}, texts=[text]), lambda record: None)
    assert judged.by_reference == [schema_compliance(schema, text)]
