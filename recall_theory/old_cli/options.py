from ..commands.options import EXTRA, Declared, Extra, Needed, ParamType, option, setting_options  # noqa: F401
