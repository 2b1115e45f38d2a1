"""The mutants of the kernels can be applied: each line stands in its file once, and what is written there is another program."""

import ast

import pytest

from tests.mutants import KERNELS, MUTANTS, ROOT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=range(len(MUTANTS)))
def test_a_mutant_is_another_program(mutant: Mutant) -> None:
    source = (ROOT / KERNELS / mutant.file).read_text(encoding="utf-8")
    assert ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source))


@pytest.mark.parametrize("source", ["", "b = 1\n", "a = 1\na = 1\n", "    a = 1\nif x:\n    a = 1\n", "aa = 1\n"])
def test_a_line_that_is_not_there_once_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="not once"):
        Mutant("a file", "a = 1", "a = 2").applied(source)


def test_the_indentation_stays() -> None:
    assert Mutant("a file", "a = 1", "a = 2").applied("if x:\n    a = 1\n") == "if x:\n    a = 2\n"
