"""Canvases: scores of classes; tables, sets of stacks, searches and bounds in folders of their own."""
