from ..commands.command import ProgressBar as Progress  # noqa: F401
