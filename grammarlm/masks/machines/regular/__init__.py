"""The machine of regular languages: a state is a term, its successors are derivatives."""
