"""`load_tiny`: the embedded model, from the package's own folder and without network."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

FOLDER = Path(__file__).parent / "tiny"


def load_tiny() -> tuple["LlamaForCausalLM", "PreTrainedTokenizerFast"]:
    """The embedded model and its tokenizer, in float32 and ready for inference.

    The prompt is one sentence and a newline, the answer a JSON record; `tiny/README.md` shows each kind:

        model, tokenizer = grammarlm.load_tiny()
        inputs = tokenizer("Ada Turing (36) is a writer from London.\\n", return_tensors="pt")
        text = tokenizer.decode(model.generate(**inputs, max_new_tokens=64)[0], skip_special_tokens=True)
    """
    return load_folder(FOLDER)


def load_folder(folder: Path) -> tuple["LlamaForCausalLM", "PreTrainedTokenizerFast"]:
    """Load a folder that `export` wrote. transformers 5 keeps the stored dtype, 4 does not, hence float()."""
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast
    from transformers.utils import logging

    shows_bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model = LlamaForCausalLM.from_pretrained(folder, local_files_only=True)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    finally:
        if shows_bars:
            logging.enable_progress_bar()
    return model.float().eval(), tokenizer
