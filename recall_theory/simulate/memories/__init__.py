"""Memories other than the attention layer, built and read out."""
