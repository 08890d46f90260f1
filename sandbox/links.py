"""Whether a tree leads anywhere else: asked before a library opens files below it by itself."""

from __future__ import annotations

from sandbox.limits import TREE_ENTRIES
from sandbox.root import OpenFolder
from sandbox.tree import Budget, Deadline, Descent, why_not_entered


def find_leads(
    folder: OpenFolder,
    *,
    levels: int,
    entries: int = TREE_ENTRIES,
    deadline: Deadline | None = None,
) -> str | None:
    """What in the tree, down to so many levels, is neither a file nor a folder that is there.

    The answer is in words with the path, None where all is plain. A library that follows paths
    cannot be handed a tree with links, mounts, FIFOs or devices in it.
    """
    descent = Descent(folder)
    budget = Budget(entries, deadline)
    try:
        stack = [("", iter(budget.list(descent.fd, "", frozenset())))]
        while stack:
            prefix, nodes = stack[-1]
            node = next(nodes, None)
            if node is None:
                stack.pop()
                if stack:
                    descent.leave()
                continue
            path = prefix + node.name
            if node.kind == "folder":
                if len(stack) >= levels:
                    continue
                try:
                    descent.enter(node.name)
                except OSError as exc:
                    return f"{path}: {why_not_entered(exc)}"
                stack.append((path + "/", iter(budget.list(descent.fd, path, frozenset()))))
            elif node.kind != "file":
                return f"{path} is a {node.kind}"
        return budget.cut
    finally:
        descent.close()
