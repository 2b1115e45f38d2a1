"""Pools: methods that draw several answers to one prompt in the ordinary loop, and choose among them."""
