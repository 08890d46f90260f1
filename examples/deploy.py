"""Deploys a run and waits for it."""

import time

TIMEOUT_SECONDS = 300


def start(api, name):
    return api.post("/runs", {"name": name})["id"]


def wait(api, run):
    for _ in range(10):
        state = api.get(f"/runs/{run}")["status"]
        if state != "running":
            return state
        time.sleep(1)
    return "timeout"
