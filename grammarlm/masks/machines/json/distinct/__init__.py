"""Arrays whose items must differ and may be objects or arrays: what the kernel does not compare is compared here."""
