"""`grammarlm serve` as a process: killed in the middle of an answer, and started again where it listened."""

import pytest

from tests.integrations.server.process import free_port, serving

httpx = pytest.importorskip("httpx", reason="the client is not installed: pip install httpx")

ASKED = {"messages": [{"role": "user", "content": "Count 15 minutes."}], "grammarlm": {"regex": "[0-9]{1,3} minutes"}}
LONG = {**ASKED, "grammarlm": {"regex": "[a-z ]{900,}"}, "max_tokens": 1000, "n": 8, "stream": True}


def test_a_server_that_was_killed_starts_again(tmp_path, monkeypatch):
    monkeypatch.delenv("GRAMMARLM_API_KEY", raising=False)
    port, log = free_port(), tmp_path / "log"
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    with httpx.Client(timeout=120) as client:
        with serving(port, log) as process, client.stream("POST", url, json=LONG) as found:
            lines = found.iter_lines()
            assert "delta" in next(lines)
            process.kill()
            with pytest.raises(httpx.TransportError):  # the stream breaks off: nobody takes it for a whole one
                assert "data: [DONE]" not in lines
        with serving(port, log):
            content = client.post(url, json=ASKED).raise_for_status().json()["choices"][0]["message"]["content"]
    assert content.endswith(" minutes")
