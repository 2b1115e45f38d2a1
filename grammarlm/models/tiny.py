"""`load_tiny`: the embedded models, without network.

The package holds the causal and the diffusion model. What drafts for the causal one (a smaller model, heads, a layer over its
states) lies in `training/siblings` of the repository, beside the text and the code that all of them were trained with.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

if TYPE_CHECKING:
    import torch
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

    from grammarlm.models.drafters import FeatureDrafter, Heads
    from grammarlm.models.network import Network

FOLDER = Path(__file__).parent / "tiny"
SIBLINGS = Path(__file__).parents[2] / "training" / "siblings"  # of a checkout
KINDS = ("causal", "draft", "heads", "features", "diffusion")
VOCABULARY_SIZE = 2048
STEP = ".step"
Folder = str | os.PathLike[str] | None


@overload
def load_tiny(*, draft: bool = False, folder: Folder = None) -> "tuple[LlamaForCausalLM, PreTrainedTokenizerFast]": ...
@overload
def load_tiny(*, heads: Literal[True], folder: Folder = None) -> "tuple[Heads, PreTrainedTokenizerFast]": ...
@overload
def load_tiny(
    *, features: Literal[True], folder: Folder = None
) -> "tuple[FeatureDrafter, PreTrainedTokenizerFast]": ...
@overload
def load_tiny(*, diffusion: Literal[True], folder: Folder = None) -> "tuple[Network, PreTrainedTokenizerFast]": ...


def load_tiny(
    *,
    draft: bool = False,
    heads: bool = False,
    features: bool = False,
    diffusion: bool = False,
    folder: Folder = None,
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
    folder:     where the model's weights lie, other than the usual place: that of draft, heads and features is a checkout of
                grammarlm, not the installed package
    """
    asked = [name for name, given in zip(KINDS[1:], (draft, heads, features, diffusion), strict=True) if given]
    if len(asked) > 1:
        raise ValueError(f"load_tiny loads one model: {' or '.join(asked)}, not both")
    name = asked[0] if asked else "causal"
    place = folder_of(name) if folder is None else Path(folder)
    if not (place / "model.safetensors").is_file():
        raise FileNotFoundError(
            f"load_tiny({name}=True): there is no model.safetensors in {place}. The installed package has the causal and the "
            f"diffusion model; the others lie in training/siblings of grammarlm's repository. Take a checkout "
            f"(pip install -e .), or name a copy: load_tiny({name}=True, folder='.../training/siblings/{name}')"
        )
    model = load_causal(place) if name in ("causal", "draft") else load_ours(name, place)
    return model, load_tokenizer(FOLDER)


def folder_of(name: str) -> Path:
    """The causal model's is one that transformers loads with its tokenizer; the diffusion model's lies in it."""
    if name in ("draft", "heads", "features"):
        return SIBLINGS / name
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


def load_ours(name: str, folder: Path) -> Any:
    import torch
    from safetensors.torch import load_file

    with torch.random.fork_rng(devices=[]):  # first weights are drawn, which the caller's generator must not notice
        model = untrained(name)
    model.load_state_dict(widened(load_file(folder / "model.safetensors")))
    return model.requires_grad_(False).eval()


def widened(stored: "dict[str, torch.Tensor]") -> "dict[str, torch.Tensor]":
    """Float32 weights. A matrix of whole numbers is one in steps: NAME.step has the step of each row."""
    return {
        name: value.float() * stored[f"{name}{STEP}"].float() if f"{name}{STEP}" in stored else value.float()
        for name, value in stored.items()
        if not name.endswith(STEP)
    }


def untrained(name: str) -> "torch.nn.Module":
    """A network of that kind with its first weights."""
    from grammarlm.models.drafters import FeatureDrafter, Heads
    from grammarlm.models.network import Network, Shape

    if name == "heads":
        return Heads(Shape(VOCABULARY_SIZE))
    if name == "features":
        return FeatureDrafter(Shape(VOCABULARY_SIZE))
    return Network(Shape(VOCABULARY_SIZE, layers=1 if name == "draft" else 4, causal=name != "diffusion"))


def load_tokenizer(folder: Path) -> "PreTrainedTokenizerFast":
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
