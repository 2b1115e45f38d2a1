"""Formats learned from chat templates."""
