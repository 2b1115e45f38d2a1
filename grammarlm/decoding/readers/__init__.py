"""Ids in, logits out: models of every kind behind one interface."""
