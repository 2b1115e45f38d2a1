"""Conversations: messages become a prompt by the tokenizer's chat template, and the answer a turn of an assistant."""
