"""Readers of other kinds of models, and models read in other ways, over the interface of `decoding/readers/reader.py`."""
