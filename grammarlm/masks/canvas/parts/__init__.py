"""Canvases over compositions: a schema before, between or after other grammars."""
