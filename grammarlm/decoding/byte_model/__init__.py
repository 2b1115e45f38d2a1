"""A model of tokens as a model of bytes: spellings.py knows how a text may be spelled, token_rows.py reads the model after each."""
