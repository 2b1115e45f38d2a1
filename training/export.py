"""Writes trained models where `load_tiny` finds them: weights in 16 or 8 bits, the facts of the run, the hash of the weights."""

import hashlib
import json
import os
import platform
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grammarlm.models.tiny import FOLDER, STEP, folder_of
from training.tokenizer import CONTEXT, END, MASK, PAD

if TYPE_CHECKING:
    import torch
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

    from grammarlm.models.network import Network
    from training.checkpoint import Run

WEIGHTS, FACTS = "model.safetensors", "training.json"


def export(name: str, model: "torch.nn.Module", tokenizer: "PreTrainedTokenizerFast", run: "Run", threads: int) -> None:
    """One model into its folder; the tokenizer beside the causal one."""
    folder = folder_of(name)
    folder.mkdir(parents=True, exist_ok=True)
    if name in ("causal", "draft"):
        as_llama(model, tokenizer).half().save_pretrained(folder)  # type: ignore[arg-type]
    else:
        from safetensors.torch import save_file

        state = model.state_dict()
        save_file(in_steps(state) if name == "diffusion" else halved(state), folder / WEIGHTS)
    if name == "causal":
        write_tokenizer(tokenizer, FOLDER)
    (folder / FACTS).write_text(json.dumps(facts(folder, model, run, threads), indent=1) + "\n", encoding="utf-8")


def halved(state: "dict[str, torch.Tensor]") -> "dict[str, torch.Tensor]":
    return {name: value.half().contiguous() for name, value in state.items()}


def in_steps(state: "dict[str, torch.Tensor]") -> "dict[str, torch.Tensor]":
    """Matrices as whole numbers of 8 bits, each row in steps of its own: half the size, for the model that the package ships."""
    stored = {}
    for name, value in state.items():
        if value.ndim == 2:
            step = (value.abs().amax(1, keepdim=True) / 127).clamp(min=1e-6).half()
            stored[name] = (value / step.float()).round().clamp(-127, 127).char()
            stored[f"{name}{STEP}"] = step
        else:
            stored[name] = value.half().contiguous()
    return stored


def as_llama(network: "Network", tokenizer: "PreTrainedTokenizerFast") -> "LlamaForCausalLM":
    """The same model as transformers knows it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = network.shape
    config = LlamaConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    missing, unexpected = model.load_state_dict(network.state_dict(), strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise ValueError(f"not the names of transformers' Llama: missing {missing}, unexpected {unexpected}")
    model.tie_weights()
    return model.eval()


def facts(folder: Path, model: "torch.nn.Module", run: "Run", threads: int) -> dict[str, Any]:
    return {
        "sha256": digest(folder / WEIGHTS),
        "parameters": sum(each.numel() for each in model.parameters()),
        "steps": run.step,
        "tokens": run.tokens,
        "minutes": round(run.seconds / 60, 1),
        "threads": threads,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "date": date.today().isoformat(),
        "losses": [round(loss, 4) for loss in run.losses],
    }


def digest(weights: Path) -> str:
    return hashlib.sha256(weights.read_bytes()).hexdigest()


def write_tokenizer(tokenizer: "PreTrainedTokenizerFast", out: Path) -> None:
    """Not by `save_pretrained`, which writes the name of a class that only one major version of transformers knows."""
    tokenizer.backend_tokenizer.save(str(out / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "eos_token": END,
        "mask_token": MASK,
        "padding_side": "right",
        "clean_up_tokenization_spaces": False,
        "model_max_length": CONTEXT,
    }
    (out / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    template = "chat_template.jinja"  # written by hand: conversations as lines, as the training texts have them
    (out / template).write_text((FOLDER / template).read_text(encoding="utf-8"), encoding="utf-8")
