"""`load_tiny`: the embedded models, from the package's own folder and without network."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

    from grammarlm.models.drafters import FeatureDrafter, Heads
    from grammarlm.models.network import Network

FOLDER = Path(__file__).parent / "tiny"
KINDS = ("causal", "draft", "heads", "features", "diffusion")


@overload
def load_tiny(*, draft: bool = False) -> "tuple[LlamaForCausalLM, PreTrainedTokenizerFast]": ...
@overload
def load_tiny(*, heads: Literal[True]) -> "tuple[Heads, PreTrainedTokenizerFast]": ...
@overload
def load_tiny(*, features: Literal[True]) -> "tuple[FeatureDrafter, PreTrainedTokenizerFast]": ...
@overload
def load_tiny(*, diffusion: Literal[True]) -> "tuple[Network, PreTrainedTokenizerFast]": ...


def load_tiny(
    *, draft: bool = False, heads: bool = False, features: bool = False, diffusion: bool = False
) -> "tuple[Any, PreTrainedTokenizerFast]":
    """An embedded model and the tokenizer that all of them share, in float32 and ready for inference.

    Without an argument the causal model. The prompt is one or several lines and a newline, the answer what `tiny/README.md` shows:

        model, tokenizer = grammarlm.load_tiny()
        inputs = tokenizer("Ada Turing (36) is a writer from London.\\n", return_tensors="pt")
        text = tokenizer.decode(model.generate(**inputs, max_new_tokens=64)[0], skip_special_tokens=True)

    draft:      a causal model of one layer, trained on the same text
    heads:      predicts the tokens two to five places ahead from the causal model's last states
    features:   predicts the causal model's state at the next position
    diffusion:  looks both ways and fills in `tokenizer.mask_token_id`: ids [B, L] -> logits [B, L, V]
    """
    asked = [name for name, given in zip(KINDS[1:], (draft, heads, features, diffusion), strict=True) if given]
    if len(asked) > 1:
        raise ValueError(f"load_tiny loads one model: {' or '.join(asked)}, not both")
    name = asked[0] if asked else "causal"
    load = load_causal if name in ("causal", "draft") else load_ours
    return load(folder_of(name)), load_tokenizer(FOLDER)


def folder_of(name: str) -> Path:
    """The causal model's is one that transformers loads with its tokenizer; the others lie in it."""
    return FOLDER if name == "causal" else FOLDER / name


def load_causal(folder: Path) -> "LlamaForCausalLM":
    """transformers 5 keeps the stored dtype, 4 does not, hence float()."""
    from transformers import LlamaForCausalLM
    from transformers.utils import logging

    shows_bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model = LlamaForCausalLM.from_pretrained(folder, local_files_only=True)
    finally:
        if shows_bars:
            logging.enable_progress_bar()
    return model.float().eval()


def load_ours(folder: Path) -> Any:
    import torch
    from safetensors.torch import load_file

    from grammarlm.models.training.recipes import RECIPES

    with torch.random.fork_rng(devices=[]):  # first weights are drawn, which the caller's generator must not notice
        model = RECIPES[folder.name].build()
    model.load_state_dict({key: value.float() for key, value in load_file(folder / "model.safetensors").items()})
    return model.requires_grad_(False).eval()


def load_tokenizer(folder: Path) -> "PreTrainedTokenizerFast":
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
