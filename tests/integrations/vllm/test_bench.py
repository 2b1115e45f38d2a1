"""JSONSchemaBench on real servers: vLLM with grammarlm as its backend, and with guidance."""

import re
from pathlib import Path
from typing import Any

from benchmarks.schemas import servers
from tests.commands.bench_cases import case_of, records_of, write_cases
from tests.integrations.vllm.scenario import LIST, PERSON
from tests.integrations.vllm.server import serving

CASES = {
    "Snowplow---person": case_of(PERSON, ({"name": "Ann", "age": 3}, True)),
    "Github_easy---list": case_of(LIST, (["red"], True)),
    "Github_easy---format": case_of(
        {"type": "string", "format": "of-nobody", "maxLength": 9}
    ),  # guidance takes no other formats
    "Kubernetes---long": case_of({"type": "integer", "title": "x " * 800}),  # longer than the model's context
}


def test_rows_of_two_servers(capsys: Any, tmp_path: Path) -> None:
    data, out = write_cases(tmp_path / "data", CASES), tmp_path / "out"
    (tmp_path / "guidance").mkdir()
    other = ("--structured-outputs-config", '{"backend": "guidance"}')
    with (
        serving(tmp_path / "ours", backend=True) as ours,
        serving(tmp_path / "guidance", backend=False, plugin=False, options=other) as guidance,
    ):
        urls = ("--url", f"grammarlm={ours.url}/v1", "--url", f"guidance={guidance.url}/v1")
        more = ("--model", "tiny", "--max-tokens", "80", "--shots", "0", "--out", str(out))
        assert servers.main([str(data), *urls, *more]) == 0
    printed, err = capsys.readouterr()
    assert not err
    printed = re.sub(" +", " ", printed)
    assert "| grammarlm | 3 | 3 (100.00%) | 3 (100.00%) | 3 (100.00%) |" in printed
    assert "| guidance | 3 | 2 (66.67%) |" in printed
    assert "Not taken, as the prompt leaves too little room: 1." in printed
    assert f"- grammarlm: {ours.url}, version 0.32" in printed
    found = {row: records_of(out / f"{row}.jsonl") for row in ("grammarlm", "guidance")}
    assert "Unknown format" in str(found["guidance"]["Github_easy---format"].refused)
    (person,) = found["grammarlm"]["Snowplow---person"].outputs
    assert person.tokens > 5
    assert person.first_token > 100  # microseconds, as the text streams
    assert person.later_tokens > 100 * person.tokens
