"""Every closed form of the library, with its provenance, and the registry that holds them."""
