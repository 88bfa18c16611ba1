"""Studies that hold the theory against simulation, and their kept results; run one with `python -m validation.NAME`."""
