"""How the embedded models were made: `python -m training.train NAME`. Not a part of the package.

train.py, recipes.py   the command; steps and losses of each model    corpus/        the text, generated while it is learned
losses.py              what a batch teaches                           batching.py, checkpoint.py, optimizers.py
tokenizer.py           the tokenizer of all of them                   evaluate.py    exact match, early exits
export.py              weights into the package, or siblings/         gguf.py        the causal model for llama.cpp
siblings/              what drafts for the causal model: a smaller model, heads, a layer over its states
"""
