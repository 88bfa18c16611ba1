"""What the commands print: an `Answer` a command, laid out for people, as JSON or as CSV."""
