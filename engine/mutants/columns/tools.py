"""Tool calls: streams against the whole-text parser, grammars against derivatives."""

from engine.mutants.columns.shared import Witness, is_accepted, tool_request
from engine.mutants.questions import TOOL_TEXTS, TOOLS
from oracles import derivatives, tool_text
from reference.tools import grammar, parse_tool_request
from reference.toolstream import ToolParser, collect


def tool_texts() -> Witness:
    """The whole-text parser of tool calls, for every two-way cut and for one character at a time."""
    for text in TOOL_TEXTS:
        expected = tool_text.answer(text, "r")
        for pieces in ([text], list(text), *([text[:cut], text[cut:]] for cut in range(1, len(text)))):
            parser = ToolParser("r")
            events = [event for piece in pieces for event in parser.push(piece)] + parser.finish()
            content, calls = collect(events)
            told = (content, [(call.id, call.name, call.arguments) for call in calls])
            if told != expected:
                return f"{pieces!r}: {told!r} where {expected!r} is the whole text's answer"
    return _tool_grammars()


def _tool_grammars() -> Witness:
    """By membership in the derivative oracle's reading: which calls each choice allows."""
    weather = b'<tool_call>{"name":"get_weather","arguments":{"city":"Rome"}}</tool_call>'
    ping = b'<tool_call>{"name":"ping","arguments":{}}</tool_call>'
    named = '{"type":"function","function":{"name":"ping"}}'
    expected = (
        (named, "", {ping: True, weather: False, ping + b"\n" + ping: False}),
        ('"required"', "", {ping: True, weather: True, ping + b"\n" + weather: True, ping + weather: False}),
        ('"required"', "", {b"\n".join([ping] * 4): True, b"\n".join([ping] * 5): False}),
        ('"required"', ',"parallel_tool_calls":false', {ping: True, ping + b"\n" + weather: False}),
        ('"auto"', "", {ping[len(b"<tool_call>") :]: True, ping: False}),
    )
    for choice, more, texts in expected:
        made = grammar(tool_request(choice, more))
        for text, member in texts.items():
            if made is None or derivatives.is_member(made.pattern, text) != member:
                return f"tool_choice {choice}{more}: {text!r} should be {'a member' if member else 'none'}"
    bad = TOOLS.replace('"type":"string"', '"type":"string","minLength":1') % ('"auto"', "")
    return "parameters outside the subset are accepted" if is_accepted(parse_tool_request, bad) else None
