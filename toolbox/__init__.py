"""Questions about JSON and YAML, diffs and strict patches, confined to one workspace."""

from __future__ import annotations

from toolbox.version import __version__

TYPE_CHECKING = False  # typing's own would import typing
if TYPE_CHECKING:
    from typing import Any

    from toolbox.api import AsyncClient, Client, NoDaemon, Reply, Toolbox

__all__ = ["AsyncClient", "Client", "NoDaemon", "Reply", "Toolbox", "__version__"]


def __getattr__(name: str) -> Any:
    """The Python API, imported when it is first asked for: the command line starts without it."""
    if name in __all__:
        from toolbox import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
