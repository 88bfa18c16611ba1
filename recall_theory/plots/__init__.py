"""Figures, one a file, drawn with matplotlib (the extra "plot") for print, for the report page and for the docs.

A function whose name ends in `_figure` returns a matplotlib `Figure`; `style.picture` calls it and makes the file.
"""
