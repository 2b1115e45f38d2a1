"""Texts that branch, for methods that follow several at once."""
