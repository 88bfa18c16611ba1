from ..theory.leading_requirements import Requirement as Asked  # noqa: F401
from ..theory.leading_requirements import requirements as asked  # noqa: F401
