"""Machines with a stack: a lattice of (position, control) whose stacks are shared nodes."""
