"""The real vLLM, in an environment of its own (make test-vllm). Without vLLM nothing here is collected."""
