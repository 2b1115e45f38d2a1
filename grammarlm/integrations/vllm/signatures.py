"""What of vLLM is wrapped or overridden here, with its parameters: compared at start (serving/interfaces.py)."""

from __future__ import annotations

TESTED = ("0.32", "0.33")  # 0.32 by the real engine, 0.33 by its files
_V1, _V2 = "vllm.v1.sample.logits_processor", "vllm.v1.worker.gpu.sample.logits_processor"
_MANAGER, _TYPES = "vllm.v1.structured_output:StructuredOutputManager", "vllm.v1.structured_output.backend_types"

PLUGIN = {f"{_V1}:build_logitsprocs": "vllm_config device is_pin_memory is_pooling_model custom_logitsprocs"}

PROCESSOR_V1 = {
    f"{_V1}:LogitsProcessor.{name}": names
    for name, names in (
        ("__init__", "self vllm_config device is_pin_memory"),
        ("validate_params", "cls sampling_params"),
        ("is_argmax_invariant", "self"),
        ("update_state", "self batch_update"),
        ("apply", "self logits"),
    )
}

PROCESSOR_V2 = {
    f"{_V2}:LogitsProcessor.{name}": names
    for name, names in (
        ("__init__", "self vllm_config req_states"),
        ("validate_params", "cls sampling_params"),
        ("add_request", "self req_idx sampling_params"),
        ("apply", "self logits ctx"),
    )
}

BACKEND = {
    "vllm.sampling_params:SamplingParams._validate_structured_outputs": (
        "self model_config structured_outputs_config tokenizer"
    ),
    f"{_MANAGER}.__init__": "self vllm_config",
    f"{_MANAGER}.grammar_init": "self request",
    f"{_MANAGER}._create_grammar": "self request",
    f"{_MANAGER}.grammar_bitmask": "self requests structured_output_request_ids scheduled_spec_decode_tokens",
    f"{_TYPES}:StructuredOutputBackend.__init__": "self vllm_config tokenizer vocab_size",
    f"{_TYPES}:StructuredOutputBackend.compile_grammar": "self request_type grammar_spec stop_token_ids",
    f"{_TYPES}:StructuredOutputBackend.allocate_token_bitmask": "self max_num_seqs",
    f"{_TYPES}:StructuredOutputBackend.destroy": "self",
    f"{_TYPES}:StructuredOutputGrammar.accept_tokens": "self request_id tokens",
    f"{_TYPES}:StructuredOutputGrammar.validate_tokens": "self tokens",
    f"{_TYPES}:StructuredOutputGrammar.rollback": "self num_tokens",
    f"{_TYPES}:StructuredOutputGrammar.fill_bitmask": "self bitmask batch_index",
    f"{_TYPES}:StructuredOutputGrammar.is_terminated": "self",
    f"{_TYPES}:StructuredOutputGrammar.reset": "self",
    "vllm.v1.structured_output.request:get_structured_output_key": "params",
    "vllm.tokenizers:cached_tokenizer_from_config": "model_config kwargs",
}
