"""Figures of what a store shows, drawn once: `plot` saves them for print, `report` puts them on its page.

Each module draws into a matplotlib figure (the extra "plot"). Marks that stand for a comparison carry its cell and
observable in the id of their group, so that a page can make them respond.
"""
