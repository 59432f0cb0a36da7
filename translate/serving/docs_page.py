"""The page /docs: the OpenAPI description as plain HTML, without scripts and files of other servers."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = """
body { max-width: 60rem; }
h1 { font-size: var(--title); }
section { overflow-x: auto; }
h2 { font-size: var(--large); }
"""

_SERVER = "http://127.0.0.1:5000/"  # in the examples of answers


def page(description: Mapping[str, Any], server: str) -> str:
    """Return an OpenAPI description as an HTML page.

    Args:
        description: with request bodies whose schemas are written out.
        server: address of the server, with a slash at the end.
    """
    info, answers = description["info"], description["components"]["schemas"]
    routes = (
        _route(path, method, operation, server, answers)
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    )
    return (
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="page/common.css">'
        '<link rel="icon" href="page/icon.svg" type="image/svg+xml">'
        f"<style>{_STYLE}</style><h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        f"<p>{escape(info.get('description', ''))} This server is <code>{escape(server)}</code>.</p>"
        '<p>For programs: <a href="openapi.json">openapi.json</a>. For people: <a href="./">the page</a>.</p>'
        + "".join(routes)
        + "</html>"
    )


def _route(
    path: str, method: str, operation: Mapping[str, Any], server: str, answers: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return the section of one route."""
    content = operation.get("requestBody", {}).get("content", {})
    schema = next(iter(content.values()))["schema"] if content else {}
    parts = [
        f'<section class="card"><h2><code>{method.upper()} {escape(path)}</code></h2>',
        f"<p><b>{escape(operation['summary'])}.</b> {escape(operation.get('description', ''))}</p>",
    ]
    if content:
        parts.append(f"<p>Body: {', '.join(f'<code>{escape(kind)}</code>' for kind in content)}</p>")
        parts += ["<table><tr><th>parameter<th>type<th>meaning", *_rows(schema), "</table>"]
    answer = _example(operation, answers)
    if answer is not None:
        command = _curl(f"{server.removesuffix('/')}{path}", schema, is_json="application/json" in content)
        shown = json.dumps(answer, ensure_ascii=False).replace(_SERVER, server)
        parts.append(f"<pre><code>$ {escape(command)}\n{escape(shown)}</code></pre>")
    statuses = ", ".join(sorted(operation["responses"]))
    return "".join([*parts, f'<p class="hint">Status: {escape(statuses)}</p></section>'])


def _rows(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, value in schema["properties"].items():
        kinds = [str(kind.get("type", "")) for kind in value.get("anyOf", [value])]
        note = "" if name in schema.get("required", ()) else " (optional)"
        meaning = escape(value.get("description", "") + note)
        yield f"<tr><td><code>{escape(name)}</code><td>{escape(' or '.join(kinds))}<td>{meaning}"


def _example(operation: Mapping[str, Any], answers: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the example of an answer, None if there is none."""
    schema = operation["responses"]["200"].get("content", {}).get("application/json", {}).get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    return answers[name].get("example") if name in answers else schema.get("example")


def _curl(url: str, schema: Mapping[str, Any], *, is_json: bool) -> str:
    """Return the command of an example."""
    needed = {name: schema["properties"][name] for name in schema.get("required", ())}
    if not needed:
        return f"curl {url}"
    if is_json:
        body = json.dumps({name: value["examples"][0] for name, value in needed.items()}, ensure_ascii=False)
        return f"curl {url} -H 'Content-Type: application/json' -d '{body}'"
    fields = (f"{name}={value['examples'][0]}" for name, value in needed.items())
    return f"curl {url} {' '.join(f'-F {field}' for field in fields)}"
