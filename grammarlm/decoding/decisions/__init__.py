"""Decisions: how probable the model finds each of a few answers, without writing one."""
