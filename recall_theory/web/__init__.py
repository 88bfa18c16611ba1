"""HTML pages: the one that `recall-theory explore` serves, and the report of a store."""
