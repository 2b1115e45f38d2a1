"""What we wrap and override is in the newest vLLM as we know it."""

import ast
import inspect

import pytest

from . import sources

sources.install()

from grammarlm.integrations.vllm import signatures  # noqa: E402

ALL = {**signatures.PLUGIN, **signatures.PROCESSOR_V1, **signatures.PROCESSOR_V2, **signatures.BACKEND}
V1, V2 = "vllm.v1.sample.logits_processor.interface", "vllm.v1.worker.gpu.sample.logits_processor.interface"
# What vLLM passes to us, and what we read of it.
READ = {
    (V1, "BatchUpdate"): {"removed", "added", "moved"},
    (V1, "MoveDirectionality"): {"UNIDIRECTIONAL", "SWAP"},
    (V2, "LogitsContext"): {"expanded_idx_mapping", "idx_mapping_np", "input_ids", "pos"},
    (V2, "LogitsProcRequestState"): {"all_token_ids", "prompt_len"},
    ("vllm.sampling_params", "SamplingParams"): {
        "extra_args", "structured_outputs", "max_tokens", "min_tokens", "bad_words", "allowed_token_ids", "logit_bias",
        "all_stop_token_ids", "thinking_token_budget",
    },
    ("vllm.sampling_params", "StructuredOutputsParams"): {"grammar", "_backend", "all_constraints_none"},
    ("vllm.v1.request", "Request"): {
        "request_id", "sampling_params", "structured_output_request", "max_tokens", "num_prompt_tokens", "num_output_tokens",
    },
    ("vllm.v1.structured_output.request", "StructuredOutputRequest"): {"grammar"},
    ("vllm.v1.structured_output", "StructuredOutputManager"): {"backend", "tokenizer"},
}  # fmt: skip


def class_of(module: str, name: str) -> ast.ClassDef:
    return next(
        node for node in sources.FILES.tree(module).body if isinstance(node, ast.ClassDef) and node.name == name
    )


def names_of(found: ast.ClassDef) -> set[str]:
    """Fields, methods, and what any method assigns to self."""
    names = set()
    for node in ast.walk(found):
        if isinstance(node, ast.AnnAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in targets}
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
    return names


def parameters(place: str) -> list[str]:
    """Of a function, in the module itself or in those that it takes its names from."""
    module, _, path = place.partition(":")
    *owner, name = path.split(".")
    for file in (module, f"{module}.interface", f"{module}.registry"):
        try:
            body = class_of(file, owner[0]).body if owner else sources.FILES.tree(file).body
        except (FileNotFoundError, StopIteration):
            continue
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                taken = node.args
                every = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg]
                return [one.arg for one in every if one is not None]
        if name == "__init__":
            fields = [node.target for node in body if isinstance(node, ast.AnnAssign)]
            return ["self", *(one.id for one in fields if isinstance(one, ast.Name))]
    raise AssertionError(f"there is no {place}")


@pytest.mark.parametrize("place", ALL)
def test_functions(place: str) -> None:
    assert parameters(place) == ALL[place].split()


@pytest.mark.parametrize(("module", "name"), READ)
def test_what_is_read(module: str, name: str) -> None:
    assert READ[module, name] <= names_of(class_of(module, name))


def test_kinds_of_structured_outputs() -> None:
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Kinds

    assert {kind.name for kind in Kinds} == {"JSON", "JSON_OBJECT", "REGEX", "GRAMMAR", "CHOICE", "STRUCTURAL_TAG"}


def test_everything_that_vllm_asks_for_is_there() -> None:
    from vllm.v1.structured_output import backend_types

    from grammarlm.integrations.vllm import backend

    for kind, parent in (
        (backend.Grammar, backend_types.StructuredOutputGrammar),
        (backend.Backend, backend_types.StructuredOutputBackend),
    ):
        for name in parent.__abstractmethods__:
            mine, theirs = getattr(kind, name), getattr(parent, name)
            assert list(inspect.signature(mine).parameters) == list(inspect.signature(theirs).parameters), name


def test_the_version_is_known() -> None:
    """The newest vLLM: once this fails, compare its files with the last known one's, and run it where it can be installed."""
    assert sources.FILES.version.startswith(signatures.TESTED)
