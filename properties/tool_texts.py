"""Answers as a model may write them (fixtures/tool_texts.json), by id."""

import json

from fixtures import ROOT

CALL = '<tool_call>{"name":"get_weather","arguments":{"city":"Paris"}}</tool_call>'
PING = '<tool_call>{"name":"ping","arguments":{}}</tool_call>'

TEXTS: dict[str, str] = {
    entry["id"]: entry["text"]
    for entry in json.loads((ROOT / "tool_texts.json").read_text(encoding="utf-8"))["texts"]
}
