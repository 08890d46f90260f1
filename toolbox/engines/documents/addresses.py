"""Where a `msgspec.Raw` stands in the buffer it was cut from."""

from __future__ import annotations

import ctypes
from typing import Any

_get = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)(
    ("PyObject_GetBuffer", ctypes.pythonapi)
)
_release = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyBuffer_Release", ctypes.pythonapi))

_view = (ctypes.c_size_t * 16)()
"""Room for one Py_buffer (80 bytes), whose first member is the address."""
_view_at = ctypes.addressof(_view)


def address(buffer: Any) -> int:
    """The address of an object's bytes (bytes, Raw), through the buffer protocol."""
    _get(buffer, _view_at, 0)
    found = _view[0]
    _release(_view_at)
    return found
