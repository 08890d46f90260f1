"""Daemons for attacks are those of the daemon's own tests."""

from tests.daemon.conftest import serve, workspace

__all__ = ["serve", "workspace"]
