"""Python types as schemas."""
