"""Where a file of code defines the names that the links of pages ask for."""

import ast


def definitions(code: str) -> dict[str, int]:
    """The line of each class, function and constant of a file, and of each part of a class as ``Class.part``."""
    lines = {}
    for node in ast.parse(code).body:
        parts = [(f"{node.name}.", part) for part in node.body] if isinstance(node, ast.ClassDef) else []
        for prefix, part in [("", node), *parts]:
            lines.update({prefix + name: part.lineno for name in _names(part)})
    return lines


def _names(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
