"""One step of a beam search over sorted items."""
