#!/usr/bin/env bash
# The serializers of Fluent mark nothing in a text, so that a part of a translation, or none of it, is read back.
#
# Guess: a TextElement with "{", or with a line that begins with "[", "*" or ".", is written as a literal, such as {"["}, or
#        refused, as the syntax has no other way to say it.
# Miss:  fluent.syntax and @fluent/syntax write the bare text. "Press" with a second line "[Enter] to go on" is the message
#        "Press" for every reader; with ".NET is needed" as the second line, or with "Set {1, 2", there is no message at
#        all. Nothing is said. Spaces at both ends go, too. A program that builds messages from translations has to make
#        literals of these characters itself, or to read what it wrote and compare.
. "$(dirname "$0")/environment.sh" fluent.syntax==0.19.0
npm install --silent --no-audit --no-fund @fluent/syntax@0.19.0
cat >texts.json <<'JSON'
["Press\nEnter", "Press\n[Enter] to go on", "It\n.NET is needed", "Rooms\n* with a bath", "Set {1, 2", " a ", "[Enter]"]
JSON
cat >write.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import { Identifier, Message, Pattern, Resource, TextElement, serialize } from '@fluent/syntax'

const written = JSON.parse(readFileSync('texts.json', 'utf8')).map((text) =>
  serialize(new Resource([new Message(new Identifier('key'), new Pattern([new TextElement(text)]))]), {}))
console.log(JSON.stringify(written))
JAVASCRIPT
node write.mjs >written.json
python - <<'PYTHON'
import json

from finding import expect
from fluent.syntax import ast, parse, serialize

def written(text):
    pattern = ast.Pattern([ast.TextElement(text)])
    return serialize(ast.Resource([ast.Message(ast.Identifier("key"), pattern)]))

def read(resource):
    """Return the text of the message, or None if there is no message."""
    message = parse(resource).body[0]
    return message.value.elements[0].value if isinstance(message, ast.Message) else None

TEXTS = json.load(open("texts.json"))
resources = [written(text) for text in TEXTS]
expect("JavaScript writes the same", json.load(open("written.json")), resources)
stated = ["Press\nEnter", "Press", None, "Rooms", None, "a", "[Enter]"]
for text, resource, back in zip(TEXTS, resources, stated, strict=True):
    expect(repr(text), read(resource), back)
PYTHON
