from ..commands.command import EXIT_CODES  # noqa: F401
from ..commands.verify import cores  # noqa: F401
