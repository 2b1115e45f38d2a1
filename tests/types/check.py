"""A user's script, as mypy and pyright see it: every public name has its type, and what is wrong is found. (`make types`)"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("user_script.py")
WRONG = """
import grammarlm as gl
from dataclasses import dataclass
from enum import Enum
@dataclass
class Order: quantity: int
class Color(Enum): RED = "red"
model, tokenizer = gl.load_tiny()
several: list[gl.Result] = gl.generate(model, "one prompt")
one: gl.Result = gl.generate(model, "several answers", n=2)
order: gl.Result[Order] = gl.generate(model, ["a"], schema=Order)
name: str = gl.generate(model, "a", schema=Order).value
gl.generate(model, "a", schema=Order).value.quantty
numbers: list[int] = gl.generate(model, "a", schema=list[Order]).value
first: int = gl.generate(model, ["a", "b"], schema=Order)[0].value
number: int = gl.generate(model, "a", choices=["a", "b"]).value
word: str = gl.generate(model, "a", choices=[1, 2]).value
color: Order = gl.generate(model, "a", choices=Color).value
gl.generate(model, "a", schema=int, n=3)[0].value.quantity
gl.generate(model, "a", schema=Order).values
gl.generate(model, "a", max_tokens="ten")
gl.generate(model, "a", max_tokns=10)
gl.generate(model, "a", schma=Order)
gl.generate(model, "a", forced=True)
gl.generate(model, "a", schema=Order, retries="two")
gl.generate(model)
for event in gl.stream(model, "a", temperature="hot"): ...
gl.compile("[a-z]", gl.Vocabulary.from_tokenizer(tokenizer))
gl.allocate_masks(1, 2)
gl.Template(7)
gl.Templat("{a}", a=int)
gl.JsonSchema(Order, whitespace=1)
"""
FIRST_WRONG = 9  # line


CHECKERS = {
    "mypy": ["--strict", "--ignore-missing-imports", "--follow-imports=silent"],
    "basedpyright": ["--level=error"],  # pyright as a package that needs no download of its own
}


def errors(checker: str, scripts: list[Path]) -> list[str]:
    """The lines in which errors are reported."""
    command = [sys.executable, "-m", checker, *CHECKERS[checker], *map(str, scripts)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 1:  # one of the scripts is wrong
        sys.exit(f"{checker} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return [line.strip() for line in done.stdout.splitlines() if "error" in line and ".py:" in line]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        wrong = Path(folder, "wrong.py")
        wrong.write_text(WRONG, encoding="utf-8")
        for checker in CHECKERS:
            found = errors(checker, [SCRIPT, wrong])
            if others := [line for line in found if wrong.name not in line]:
                sys.exit("\n".join([f"{checker} refuses a script that is right:", *others]))
            lines = sorted({int(line.split(".py:")[1].split(":")[0]) for line in found})
            wrong_lines = list(range(FIRST_WRONG, WRONG.count("\n") + 1))
            if lines != wrong_lines:
                listed = "\n".join(found)
                sys.exit(
                    f"{checker} finds errors in lines {lines}, not in {wrong_lines[0]} to {wrong_lines[-1]}:\n{listed}"
                )
            print(f"{checker}: the script is right, and {len(lines)} errors of {len(wrong_lines)} are found")


if __name__ == "__main__":
    main()
