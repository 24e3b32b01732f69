"""Options of a plugin, declared once: the names that authors of plugins import."""

from perfcore.config.settings import OptionInfo, option

__all__ = ["OptionInfo", "option"]
