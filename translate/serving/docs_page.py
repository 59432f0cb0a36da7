"""The page /docs: the OpenAPI description as plain HTML, without scripts and external files."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
code { font-family: ui-monospace, monospace; } pre { overflow-x: auto; }
"""


def page(description: Mapping[str, Any]) -> str:
    """Return an OpenAPI description as an HTML page.

    Args:
        description: with request bodies whose schemas are written out.
    """
    info = description["info"]
    routes = (
        _route(path, method, operation)
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    )
    return (
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info.get('description', ''))}</p>"
        '<p>For programs: <a href="openapi.json">openapi.json</a></p>' + "".join(routes) + "</html>"
    )


def _route(path: str, method: str, operation: Mapping[str, Any]) -> str:
    """Return the section of one route."""
    content = operation.get("requestBody", {}).get("content", {})
    parts = [
        f"<section><h2><code>{method.upper()} {escape(path)}</code></h2>",
        f"<p><b>{escape(operation['summary'])}.</b> {escape(operation.get('description', ''))}</p>",
    ]
    if content:
        schema = next(iter(content.values()))["schema"]
        parts.append(f"<p>Body: {', '.join(f'<code>{escape(kind)}</code>' for kind in content)}</p>")
        parts += ["<table><tr><th>parameter<th>type<th>meaning", *_rows(schema), "</table>"]
        if "application/json" in content:
            parts.append(f"<pre><code>{escape(_curl(path, schema))}</code></pre>")
    statuses = ", ".join(sorted(operation["responses"]))
    return "".join([*parts, f"<p>Status: {escape(statuses)}</p></section>"])


def _rows(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, value in schema["properties"].items():
        kinds = [str(kind.get("type", "")) for kind in value.get("anyOf", [value])]
        note = "" if name in schema.get("required", ()) else " (optional)"
        kind = " or ".join(kind for kind in kinds if kind != "null")
        meaning = escape(value.get("description", "") + note)
        yield f"<tr><td><code>{escape(name)}</code><td>{escape(kind)}<td>{meaning}"


def _curl(path: str, schema: Mapping[str, Any]) -> str:
    """Return an example."""
    required = {name: value for name, value in schema["properties"].items() if name in schema["required"]}
    body = json.dumps({name: value["examples"][0] for name, value in required.items()}, ensure_ascii=False)
    return f"curl -X POST http://localhost:5000{path} -H 'Content-Type: application/json' -d '{body}'"
