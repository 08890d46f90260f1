#!/usr/bin/env python3
"""Writes `runs.json`: what a job API answers to «list the runs», page after page joined.

The same bytes every time: ids of nineteen digits, prices with trailing zeros, nulls and fields
that only some runs have, as such responses are.
"""

from __future__ import annotations

import random
import sys

NAMES = ("web", "web-canary", "api", "billing", "search", "mailer", "thumbs", "cron")
ERRORS = (
    "exit status 1", "out of memory", "image pull failed", "connection reset by peer",
    "deadline exceeded",
)  # fmt: skip


def run(k: int, rng: random.Random) -> str:
    status = rng.choices(("succeeded", "failed", "running"), (90, 8, 2))[0]
    name = f"{rng.choice(NAMES)}-{k % 97}"
    seconds = rng.randrange(1_000, 900_000) / 1_000
    fields = [
        f'"id":{7_203_685_477_580_000_000 + k * 1_009}',
        f'"name":"{name}"',
        f'"status":"{status}"',
        f'"created_at":"2026-03-{1 + k % 28:02}T{k % 24:02}:{k % 60:02}:00Z"',
        f'"seconds":{seconds:.3f}',
        f'"cost":{{"amount":{seconds * 0.00045:.4f},"currency":"EUR"}}',
        f'"labels":{{"team":"{rng.choice(("core", "growth", "data"))}","region":"eu-{1 + k % 3}"}}',
        f'"attempts":[{",".join(str(200 + rng.randrange(5)) for _ in range(1 + k % 3))}]',
    ]
    if status == "failed":
        retryable = str(k % 2 == 0).lower()
        error = f'{{"message":"{rng.choice(ERRORS)}","retryable":{retryable}}}'
        fields.append(f'"error":{error}')
    ended = f'"2026-03-{1 + k % 28:02}T{k % 24:02}:{k % 60:02}:59Z"'
    fields.append('"finished_at":' + ("null" if status == "running" else ended))
    return "{" + ",".join(fields) + "}"


def response(count: int) -> str:
    rng = random.Random(20260301)
    items = ",\n".join(run(k, rng) for k in range(count))
    return (f'{{"object":"list","total":{count},"has_more":false,"data":{{"items":[\n{items}\n]}},'
            f'"meta":{{"request_id":"req_9f3b","version":1.10}}}}\n')  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(response(int(sys.argv[1]) if len(sys.argv) > 1 else 6_000))
