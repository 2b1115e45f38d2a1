"""SGLang's own files about grammars, run without the rest of it, which needs a GPU to be installed."""

import os
from types import SimpleNamespace

from tests.integrations.wheel_files import Engine, Files

FILES = Files(os.environ["GRAMMARLM_SGLANG"])
REAL = {
    "sglang.srt.constrained.base_grammar_backend",
    "sglang.srt.constrained.grammar_manager",
    "sglang.srt.constrained.reasoner_grammar_backend",
    "sglang.srt.arg_groups.choices",
    "sglang.srt.environ",
}
SETTINGS = SimpleNamespace(
    kernel=SimpleNamespace(grammar_backend="grammarlm"),
    reasoning_parser=None,
    enable_strict_thinking=False,
    skip_tokenizer_init=False,
    pp_rank=0,
    pp_size=1,
    buffers={},
)
ASKED = {name: lambda: SETTINGS for name in ("get_exec", "get_serving", "get_parallel", "get_resources", "get_context")}


def install() -> None:
    Engine("sglang", FILES, REAL, ASKED).install()
