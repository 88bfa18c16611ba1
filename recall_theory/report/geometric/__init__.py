"""How the answers of `recall-theory geometric` look."""
