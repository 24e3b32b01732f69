"""The border around code of plugins: its exceptions become errors that name the plugin."""

from __future__ import annotations

from perfcore.errors import PerfError, PluginError
from perfcore.plugins.installed import PluginInfo, brief


class guard:  # noqa: N801  (reads as a statement)
    """Turns a plugin's unexpected exception into a PluginError that names plugin, version and phase. A plugin that
    wants to exit the process has failed, too; an interrupt by the user goes through."""

    def __init__(self, info: PluginInfo, phase: str) -> None:
        self.info = info
        self.phase = phase

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception | SystemExit) and not isinstance(error, PerfError):
            raise PluginError(
                brief(error),
                plugin=str(self.info),
                phase=self.phase,
                hint="run again with --debug for the traceback",
            ) from error
