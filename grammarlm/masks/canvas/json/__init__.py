"""The view of JSON Schema: the JSON machine's own steps, unrolled over bytes, with frames as the stack."""
