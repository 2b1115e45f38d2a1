"""The embedded model as a GGUF file, for llama.cpp: python -m training.gguf FILE (needs the package gguf).

Also a vocabulary alone, without a model: llama.cpp loads it with vocab_only, and its grammars need no more.

llama.cpp turns pairs of neighbours where transformers turns halves, so the rows of the query and key matrices are written in
another order. Its tokenizer splits text by rules of its own; give it ids where they have to be transformers'.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from grammarlm.models.tiny import FOLDER

NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "input_layernorm.weight": "attn_norm.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight",
    "self_attn.q_proj.weight": "attn_q.weight",
    "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight",
    "self_attn.o_proj.weight": "attn_output.weight",
    "mlp.gate_proj.weight": "ffn_gate.weight",
    "mlp.up_proj.weight": "ffn_up.weight",
    "mlp.down_proj.weight": "ffn_down.weight",
}
NORMAL, CONTROL = 1, 3  # types of tokens


def write(path: str | Path, folder: Path = FOLDER) -> None:
    """Writes the model of a folder (a Llama with a byte-level BPE) in float32."""
    import gguf
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text())
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    heads, wide = config["num_attention_heads"], config["head_dim"]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("grammarlm tiny")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(wide)
    writer.add_value_length(wide)
    writer.add_rope_dimension_count(wide)
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])

    special = {token["id"] for token in tokenizer["added_tokens"]}
    by_id = {number: text for text, number in tokenizer["model"]["vocab"].items()}
    by_id |= {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]]
    _add_tokens(writer, [by_id[number] for number in range(config["vocab_size"])], special, merges)
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])

    for name, stored in load_file(folder / "model.safetensors").items():
        array = stored.astype(np.float32)
        layer, _, inner = name.removeprefix("model.layers.").partition(".")
        written = NAMES[name] if name in NAMES else f"blk.{layer}.{NAMES[inner]}"
        is_turned = written.endswith(("attn_q.weight", "attn_k.weight"))
        writer.add_tensor(written, in_pairs(array, len(array) // wide) if is_turned else array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_vocabulary(path: str | Path, tokens: list[str], controls: Collection[int], stop: int) -> None:
    """Writes tokens without a model; texts as byte-level BPE spells them, each another. It splits no text: there are no merges."""
    import gguf

    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("grammarlm vocabulary")
    writer.add_vocab_size(len(tokens))
    _add_tokens(writer, tokens, controls, ["a b"])  # llama.cpp wants a list, and the writer leaves an empty one out
    writer.add_eos_token_id(stop)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokens(writer: Any, tokens: list[str], controls: Collection[int], merges: list[str]) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([CONTROL if number in controls else NORMAL for number in range(len(tokens))])
    writer.add_token_merges(merges)
    writer.add_add_bos_token(False)


def in_pairs(matrix: np.ndarray, heads: int) -> np.ndarray:
    """Rows that are turned together stand beside each other, and not half a head apart."""
    return matrix.reshape(heads, 2, -1, matrix.shape[1]).swapaxes(1, 2).reshape(matrix.shape).copy()


if __name__ == "__main__":
    write(sys.argv[1])
