from ..commands.command import AGREE, BAD_INPUT, DISAGREE, INCONCLUSIVE, INTERNAL_ERROR, INTERRUPTED  # noqa: F401
from ..commands.options import option_of  # noqa: F401
from ..commands.streams import BadInput, PipeClosed, shown  # noqa: F401
