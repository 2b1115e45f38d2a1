"""Decoding methods: registry.py lists them; a blend changes logits, a search follows several texts."""
