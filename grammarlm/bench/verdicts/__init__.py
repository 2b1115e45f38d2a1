"""Verdicts on labelled instances, token by token: MaskBench and the official test suite."""
