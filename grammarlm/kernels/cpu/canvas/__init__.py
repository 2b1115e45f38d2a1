"""Lattices of canvases."""
