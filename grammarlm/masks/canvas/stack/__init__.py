"""Machines with a stack: passes over (position, control) by sets of stacks."""
