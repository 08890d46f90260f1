"""What a worker process does: one call after another, each from a frame, each to a frame."""

from __future__ import annotations

import gc
import logging
import socket
import sys
from typing import Final

import msgspec

from sandbox.frames import FrameReader, send_frame
from sandbox.root import Root
from toolbox.dispatch import RECURSION_LEVELS, Call, run
from toolbox.output import Reply
from toolbox.store import DocumentStore

REQUEST_BYTES: Final = 64 * 1024 * 1024
"""A request frame: a 16 MiB message, whose inline text may grow when escapes are spelled out."""

REPLY_BYTES: Final = 512 * 1024 * 1024
"""A reply frame: a 20 MiB document pretty-printed without a cap grows several times."""


class Drop(msgspec.Struct, frozen=True, array_like=True, tag="drop"):
    """Forget what is kept of these files; read again those that were in use."""

    paths: tuple[str, ...]


class Run(msgspec.Struct, frozen=True, array_like=True, tag="run"):
    """Run one call and send its `Reply`."""

    call: Call


Request = Run | Drop

encode = msgspec.msgpack.Encoder().encode
decode_request: msgspec.msgpack.Decoder[Run | Drop] = msgspec.msgpack.Decoder(Run | Drop)
decode_reply: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


def encode_hello(
    *, layers: object = None, refused: str | None = None, recovered: object = None
) -> bytes:
    """A worker's first frame: which layers confine it, or why it refuses to start, and what the
    write worker rolled back."""
    return msgspec.json.encode({"layers": layers, "refused": refused, "recovered": recovered})


def preload() -> None:
    """Import everything a confined worker may need: later imports fail there."""
    from toolbox.preload import import_all

    import_all()
    gc.collect()
    gc.freeze()


def serve(channel: socket.socket, root: Root, kept_bytes: int) -> None:
    """Answer requests until the other side closes."""
    sys.setrecursionlimit(RECURSION_LEVELS)
    logging.captureWarnings(True)
    documents = DocumentStore(root, budget_bytes=kept_bytes)
    reader = FrameReader(channel, REQUEST_BYTES)
    while (frame := reader.next()) is not None:
        request = decode_request.decode(frame)
        if isinstance(request, Run):
            send_frame(channel, encode(run(request.call, root, documents)))
        else:
            for path in request.paths:
                documents.drop(path)
