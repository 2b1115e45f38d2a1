"""Speculative decoding: tokens that are cheap to propose, read by the model in one forward, and drawn as without them."""
