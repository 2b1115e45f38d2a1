"""Kernels over logits: masking, sums of what a mask allows, random numbers."""
