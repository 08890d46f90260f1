"""The agents that are tried, each with what it needs to talk to the stand-in model."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FOLDER_VARIABLE = "TOOLBOX_AGENTS"
"""A folder with the agents' programs, searched before PATH: `node_modules/.bin` of an install."""


@dataclass(frozen=True)
class Agent:
    """One agent: its program's name, the client name of `toolbox attach`, how it is run once."""

    program: str
    client: str
    prepare: Callable[[pathlib.Path, pathlib.Path, str], dict[str, str]]
    """(its home, the workspace, the model's URL) → environment, after writing its own settings."""
    arguments: tuple[str, ...]
    bare: Callable[[str], str]
    """A tool's text out of what the agent makes of it for the model."""

    def find(self) -> str | None:
        """The program's path, or None where it is not installed."""
        folder = os.environ.get(FOLDER_VARIABLE)
        return shutil.which(self.program, path=folder) if folder else shutil.which(self.program)


def _codex_bare(text: str) -> str:
    head, _, rest = text.partition("\nOutput:")
    assert head.startswith("Wall time: "), text[:200]
    return rest.removeprefix("\n")


def _gemini_bare(text: str) -> str:
    head, tail = "<untrusted_context>\n", "\n</untrusted_context>"
    if text.startswith(head):
        assert text.endswith(tail), text[-200:]
        return text[len(head) : -len(tail)]
    _, _, response = text.partition(" with response: ")
    (part,) = json.loads(response)
    (content,) = part["functionResponse"]["response"]["content"]
    return str(content["text"])


def _codex(home: pathlib.Path, workspace: pathlib.Path, url: str) -> dict[str, str]:
    settings = home / "codex"
    settings.mkdir()
    (settings / "config.toml").write_text(
        'model = "stand-in"\nmodel_provider = "stand-in"\n\n'
        '[model_providers.stand-in]\nname = "stand-in"\n'
        f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "STAND_IN_KEY"\n'
        "request_max_retries = 0\nstream_max_retries = 0\n\n"
        f"[projects.{json.dumps(str(workspace))}]\n"
        'trust_level = "trusted"\n'
    )
    return {"CODEX_HOME": str(settings), "STAND_IN_KEY": "none"}


def _gemini(home: pathlib.Path, workspace: pathlib.Path, url: str) -> dict[str, str]:
    settings = home / ".gemini"
    settings.mkdir()
    (settings / "settings.json").write_text(
        json.dumps(
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": False},
                "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
            }
        )
    )
    return {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def _opencode(home: pathlib.Path, workspace: pathlib.Path, url: str) -> dict[str, str]:
    settings = home / "config" / "opencode"
    settings.mkdir(parents=True)
    provider: dict[str, Any] = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "stand-in",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"one": {"name": "one", "tool_call": True}},
    }
    (settings / "opencode.json").write_text(
        json.dumps({"provider": {"stand-in": provider}, "autoupdate": False, "share": "disabled"})
    )
    return {
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }


AGENTS = (
    Agent(
        "codex",
        "codex",
        _codex,
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go"),
        _codex_bare,
    ),
    Agent(
        "gemini",
        "gemini",
        _gemini,
        ("--prompt", "go", "--yolo", "--skip-trust", "--model", "gemini-2.5-flash"),
        _gemini_bare,
    ),
    Agent(
        "opencode",
        "opencode",
        _opencode,
        ("run", "--auto", "--model", "stand-in/one", "go"),
        lambda text: text,
    ),
)
