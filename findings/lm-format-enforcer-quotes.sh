#!/usr/bin/env bash
# LM Format Enforcer ends a value of a JSON enum at its first quotation mark.
#
# Guess: with a schema whose text is one of several, as for a choice among translations, the result is JSON with one of
#        them; a quotation mark in it is escaped, as it is in texts without an enum.
# Miss:  the values are followed letter by letter as they are. At a quotation mark the text ends: of `Er sagte "Ja".`,
#        after `Er sagte ` nothing but the closing quotation mark is allowed, so the result is JSON with a text that the
#        schema does not have. A line end comes out as it is, which no JSON parser reads, and is not allowed as `\n`.
#        The same holds for `const`. Nothing is reported: each step has an allowed token. llguidance escapes both.
. "$(dirname "$0")/environment.sh" lm-format-enforcer==0.11.3 llguidance==1.9.1 numpy==2.4.6
python - 2>warnings.log <<'PYTHON' || { cat warnings.log >&2; exit 1; }
import json

from finding import expect
from llguidance import LLMatcher, LLTokenizer
from lmformatenforcer import JsonSchemaParser, TokenEnforcer, TokenEnforcerTokenizerData

TOKENS = [chr(code) for code in range(32, 127)] + ["\n"]
END = len(TOKENS)
TOKENIZER = TokenEnforcerTokenizerData(
    [(i, token, False) for i, token in enumerate(TOKENS)], lambda ids: "".join(TOKENS[i] for i in ids), END, False, END + 1
)  # fmt: skip


def schema(**text):
    return {"type": "object", "properties": {"text": {"type": "string", **text}}, "required": ["text"]}


def allowed(text_schema, written):
    """Return the characters that may follow what was written, None for the end."""
    enforcer = TokenEnforcer(TOKENIZER, JsonSchemaParser(text_schema))
    ids = [TOKENS.index(character) for character in written]
    for n in range(len(ids) + 1):
        tokens = enforcer.get_allowed_tokens(ids[:n]).allowed_tokens
    return [TOKENS[i] if i != END else None for i in tokens]


def accepted(text_schema, text):
    """Return whether a JSON text can be written, by LM Format Enforcer and by llguidance."""
    enforced = all(character in allowed(text_schema, text[:n]) for n, character in enumerate(text))
    matcher = LLMatcher(LLTokenizer("byte"), LLMatcher.grammar_from_json_schema(json.dumps(text_schema)))
    guided = all(matcher.consume_token(byte) for byte in text.encode()) and matcher.is_accepting()
    return enforced and None in allowed(text_schema, text), guided


for keyword, values in (("enum", ['Er sagte "Ja".', "Nein."]), ("const", 'Er sagte "Ja".')):
    quoted = schema(**{keyword: values})
    print("schema:", keyword, values)
    expect("a value without quotation marks", accepted(quoted, '{"text": "Nein."}'), (keyword == "enum",) * 2)
    expect("escaped quotation marks", accepted(quoted, json.dumps({"text": 'Er sagte "Ja".'})), (False, True))
    expect("what may follow `Er sagte `", allowed(quoted, '{"text": "Er sagte '), ['"'])
    expect("the text cut there", accepted(quoted, '{"text": "Er sagte "}'), (True, False))
expect("escaped ones without an enum", accepted(schema(), json.dumps({"text": 'Er sagte "Ja".'})), (True, True))
lines = schema(enum=["eins\nzwei"])
expect("a line end as it is", accepted(lines, '{"text": "eins\nzwei"}'), (True, False))
expect("an escaped line end", accepted(lines, json.dumps({"text": "eins\nzwei"})), (False, True))
PYTHON
