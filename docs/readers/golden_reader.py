#!/usr/bin/env python3
"""A complete reader of the golden files in plain Python; nothing is imported from the suite.

    python3 docs/readers/golden_reader.py fixtures/golden [vocabulary.json]

Everything that a file allows to be computed anew from its own data is computed and compared: masks from the
automaton and the vocabulary, packed bits, PCG32 streams. What only an engine can answer is read and counted.
`vocabulary.json` is a JSON list of base64 strings or null (the port protocol's form) with EOS ids from the file.
"""

import base64
import hashlib
import json
import sys
from pathlib import Path


def main(folder, vocabulary_file=None):
    """Read every file; exit 0 when all that can be recomputed agrees."""
    counts, vocabulary = {"files": 0, "cases": 0, "recomputed": 0, "read": 0, "skipped": 0}, None
    for path in sorted(Path(folder).rglob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        assert document["format"] == 1, f"{path}: format {document['format']} is not known here"
        assert document["count"] == len(document["cases"]), f"{path}: count is wrong"
        counts["files"], vocabulary = counts["files"] + 1, None
        for case in document["cases"]:
            counts["cases"] += 1
            assert all(flag in document["flags"] for flag in case["flags"]), (
                f"{path}: {case['id']}: unknown flag"
            )
            if case.get("kind") == "vocabulary":
                vocabulary = case
                if "tokens" in case:
                    assert vocabulary_digest(hexed(case["tokens"]), case["eos"]) == case["digest"], "digest"
                counts["recomputed" if "tokens" in case else "read"] += 1
            elif "paths" in case:
                tokens, eos = (
                    (hexed(vocabulary["tokens"]), vocabulary["eos"])
                    if vocabulary and "tokens" in vocabulary
                    else toy(folder)
                )
                check_paths(case, tokens, eos)
                counts["recomputed"] += 1
            elif "words" in case:
                check_stream(case)
                counts["recomputed"] += 1
            elif "states" in case:
                counts[check_states(case, vocabulary, vocabulary_file, folder)] += 1
            else:
                counts["read"] += 1
    print(" · ".join(f"{count} {name}" for name, count in counts.items()))


def hexed(tokens):
    """Token bytes by id, None for a special token."""
    return [None if token is None else bytes.fromhex(token) for token in tokens]


def own(vocabulary):
    """The vocabulary that the file brings, if it does."""
    return (hexed(vocabulary["tokens"]), vocabulary["eos"]) if vocabulary and "tokens" in vocabulary else None


def toy(folder):
    """The vocabulary of files that name none."""
    document = json.loads((Path(folder).parent / "toy_vocabulary.json").read_text(encoding="utf-8"))
    return hexed(document["tokens"]), document["eos"]


def vocabulary_digest(tokens, eos):
    """SHA-256 over a heading, V, lengths (−1 for none), all bytes, and the EOS ids; integers little-endian."""
    total = hashlib.sha256(b"maskproof vocabulary 1\n")
    total.update(len(tokens).to_bytes(8, "little"))
    for token in tokens:
        total.update((-1 if token is None else len(token)).to_bytes(4, "little", signed=True))
    for token in tokens:
        total.update(token or b"")
    for token in sorted(eos):
        total.update(token.to_bytes(4, "little"))
    return total.hexdigest()


def step(automaton, state, data):
    """The state after these bytes, −1 as soon as nothing can follow."""
    for byte in data:
        if state == -1:
            return -1
        state = automaton["table"][state][automaton["classes"][byte]]
    return state


def allowed(automaton, state, tokens, eos):
    """The ids that may come next: tokens whose bytes all live, EOS where the state accepts."""
    found = []
    for token, data in enumerate(tokens):
        if token in eos:
            if state in automaton["accept"]:
                found.append(token)
        elif data and step(automaton, state, data) != -1:
            found.append(token)
    return found


def packed(ids, size):
    """Bit i % 8 of byte i // 8 is token i."""
    data = bytearray(-(-size // 8))
    for token in ids:
        data[token // 8] |= 1 << token % 8
    return bytes(data)


def check_paths(case, tokens, eos):
    """Every step of every path, from the automaton of the same case."""
    for path in case["paths"]:
        done = False
        for number, entry in enumerate(path["steps"]):
            place = f"{case['id']}, path {path['seed']}, step {number}"
            state = step(case["automaton"], 0, bytes.fromhex(entry["prefix"]))
            ids = [] if done else allowed(case["automaton"], state, tokens, eos)
            assert ids == entry["allowed"], f"{place}: allowed {ids}"
            assert packed(ids, len(tokens)).hex() == entry["mask"], f"{place}: packed mask"
            assert (state in case["automaton"]["accept"]) == entry["complete"], f"{place}: complete"
            done = entry.get("token") in eos


def check_stream(case):
    """PCG-XSH-RR 64/32."""
    mask = 2**64 - 1
    increment = (2 * int(case["sequence"]) + 1) & mask
    state = ((increment + int(case["seed"])) * 6364136223846793005 + increment) & mask
    for word in case["words"]:
        shifted, turn = (((state >> 18) ^ state) >> 27) & 0xFFFFFFFF, state >> 59
        assert f"{((shifted >> turn) | (shifted << (32 - turn))) & 0xFFFFFFFF:08x}" == word, case["id"]
        state = (state * 6364136223846793005 + increment) & mask


def check_states(case, vocabulary, vocabulary_file, folder):
    """The digests over a vocabulary that is not shipped, when there is a file of it."""
    if vocabulary_file is None:
        return "skipped"
    tokens = [
        None if text is None else base64.b64decode(text)
        for text in json.loads(Path(vocabulary_file).read_text())
    ]
    assert vocabulary_digest(tokens, vocabulary["eos"]) == vocabulary["digest"], "this is another vocabulary"
    languages = json.loads((Path(folder) / "constrain" / "languages.json").read_text(encoding="utf-8"))[
        "cases"
    ]
    automaton = next(language["automaton"] for language in languages if language["id"] == case["id"])
    for state in case["states"]:
        ids = allowed(automaton, step(automaton, 0, bytes.fromhex(state["path"])), tokens, vocabulary["eos"])
        assert len(ids) == state["count"], f"{case['id']} after {state['path']}: {len(ids)} allowed"
        assert hashlib.sha256(packed(ids, len(tokens))).hexdigest() == state["sha256"], (
            f"{case['id']}: digest"
        )
    return "recomputed"


if __name__ == "__main__":
    main(*sys.argv[1:])
