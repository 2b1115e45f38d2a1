"""Automata that live on a device, and the decoding loop around them."""
