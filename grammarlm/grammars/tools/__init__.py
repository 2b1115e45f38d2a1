"""Calls of tools: how a model family writes them."""
