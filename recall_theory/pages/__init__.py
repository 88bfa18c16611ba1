"""Pages for a browser: the calculator, and the report of a store. Each is one file that needs no network."""
