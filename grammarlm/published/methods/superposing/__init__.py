"""Superposed decoding: several drafts by the forwards of one."""
