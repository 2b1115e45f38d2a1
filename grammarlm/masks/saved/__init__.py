"""Constraints and matchers as bytes, and back."""
