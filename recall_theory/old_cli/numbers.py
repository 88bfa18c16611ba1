from ..numerics.number_syntax import parse_integer as integer  # noqa: F401
from ..numerics.number_syntax import parse_real as real  # noqa: F401
