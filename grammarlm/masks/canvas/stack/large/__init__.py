"""Rows of large grammars, without all stacks that are possible."""
