"""Commands that are still written for the base that was; each goes as its successor in `commands` is there."""
