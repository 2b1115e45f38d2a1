"""The demo on a random model: what it shows, on a terminal and off it, and that it finds a wrong answer."""

import io
import re
from dataclasses import replace

from rich.console import Console

from grammarlm.commands import demo


def printed(model, tokenizer, **options):
    output = io.StringIO()
    code = demo.run(Console(file=output, highlight=False, **options), load=lambda: (model, tokenizer))
    return code, output.getvalue()


def test_plain_lines(model, tokenizer):
    code, text = printed(model, tokenizer, width=120)
    assert code == 0
    assert "\x1b" not in text
    assert text.isascii()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert len(re.findall(r"^ +matches, [0-9]+ tokens?, [0-9]+ forwards?,", text, re.MULTILINE)) == len(demo.EXAMPLES)
    assert re.search(r"'-' +100\.0% +1 +[0-9.]+%$", text, re.MULTILINE)
    for part in ("import grammarlm", "load the model", "first mask", "masks", "model", "sampling"):
        assert re.search(rf"^{part} +[0-9.e+]+ (s |ms|us)", text, re.MULTILINE), part


def test_a_narrow_live_view(model, tokenizer, monkeypatch):
    monkeypatch.setattr(demo, "PACE", 0)
    code, text = printed(model, tokenizer, width=60, height=12, force_terminal=True)
    assert code == 0
    assert "\x1b[" in text
    bare = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert max(len(line) for line in re.split("[\r\n]", bare)) <= 60


def test_a_wrong_answer_is_found(model, tokenizer, monkeypatch):
    wrong = replace(demo.EXAMPLES[0], is_right=demo.matches("[a-z]"))
    monkeypatch.setattr(demo, "EXAMPLES", (wrong, demo.EXAMPLES[1]))
    code, text = printed(model, tokenizer)
    assert code == 1
    assert text.count("DOES NOT MATCH") == 1
