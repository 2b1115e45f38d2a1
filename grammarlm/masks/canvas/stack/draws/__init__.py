"""Exact samples of rows."""
