"""Tool calls: requests, errors, grammars, renderings, streams; the cases are made in engine/golden_tools.py."""

from engine.golden.document import Golden, digest
from engine.golden.pitfalls import flags_of
from engine.golden_tools import build, inputs

ABOUT = {
    "requests": "A chat request's body and what its tool fields mean.",
    "errors": "Bodies that are refused: status, param, code, and a word that the message must hold.",
    "grammars": "A body and the pattern and trigger that its choice of tools makes, with members and others.",
    "renderings": "A body and the turns that tell the model of tools, calls and results.",
    "streams": "A text in pieces and the events after each, the events at the end, the message and why it ended.",
}


def files() -> list[Golden]:
    """One file a kind of case."""
    made = digest(*inputs())
    return [
        Golden(
            f"tools/{kind}.json",
            f"golden-tool-{kind}.schema.json",
            ABOUT[kind],
            flags_of(cases),
            tuple(cases),
            made,
        )
        for kind, cases in build().items()
    ]
