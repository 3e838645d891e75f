#!/usr/bin/env node
// A complete reader of the golden files in plain JavaScript (Node 18 or newer, no packages).
//
//     node docs/readers/golden_reader.mjs fixtures/golden [vocabulary.json]
//
// Everything that a file allows to be computed anew from its own data is computed and compared: masks from the
// automaton and the vocabulary, packed bits, PCG32 streams. What only an engine can answer is read and counted.
// `vocabulary.json` is a JSON list of base64 strings or null (the port protocol's form) with EOS ids from the file.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

const [folder, vocabularyFile] = process.argv.slice(2);
const counts = { files: 0, cases: 0, recomputed: 0, read: 0, skipped: 0 };
const MASK = (1n << 64n) - 1n;
const MULTIPLIER = 6364136223846793005n;
let vocabulary = null;

function fail(message) {
  console.error(message);
  process.exit(1);
}

function demand(condition, message) {
  if (!condition) fail(message);
}

function filesBelow(path) {
  return readdirSync(path, { withFileTypes: true })
    .flatMap((entry) => {
      const inside = join(path, entry.name);
      return entry.isDirectory() ? filesBelow(inside) : entry.name.endsWith(".json") ? [inside] : [];
    })
    .sort();
}

const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));
const unhex = (text) => (text === null ? null : Buffer.from(text, "hex"));

function toy() {
  const document = readJson(join(dirname(folder), "toy_vocabulary.json"));
  return { tokens: document.tokens.map(unhex), eos: document.eos };
}

// SHA-256 over a heading, V, lengths (-1 for none), all bytes, and the EOS ids; integers little-endian.
function vocabularyDigest(tokens, eos) {
  const head = Buffer.alloc(8);
  head.writeBigUInt64LE(BigInt(tokens.length));
  const lengths = Buffer.alloc(4 * tokens.length);
  tokens.forEach((token, id) => lengths.writeInt32LE(token === null ? -1 : token.length, 4 * id));
  const ends = Buffer.alloc(4 * eos.length);
  [...eos].sort((a, b) => a - b).forEach((id, place) => ends.writeUInt32LE(id, 4 * place));
  const hash = createHash("sha256").update("maskproof vocabulary 1\n").update(head).update(lengths);
  for (const token of tokens) if (token !== null) hash.update(token);
  return hash.update(ends).digest("hex");
}

function step(automaton, state, data) {
  for (const byte of data) {
    if (state === -1) return -1;
    state = automaton.table[state][automaton.classes[byte]];
  }
  return state;
}

function allowed(automaton, state, tokens, eos) {
  const ids = [];
  tokens.forEach((data, id) => {
    if (eos.includes(id)) {
      if (automaton.accept.includes(state)) ids.push(id);
    } else if (data !== null && data.length > 0 && step(automaton, state, data) !== -1) {
      ids.push(id);
    }
  });
  return ids;
}

function packed(ids, size) {
  const bytes = Buffer.alloc(Math.ceil(size / 8));
  for (const id of ids) bytes[id >> 3] |= 1 << (id & 7);
  return bytes;
}

const same = (left, right) => left.length === right.length && left.every((value, place) => value === right[place]);

function checkPaths(item, tokens, eos) {
  for (const path of item.paths) {
    let done = false;
    path.steps.forEach((entry, number) => {
      const place = `${item.id}, path ${path.seed}, step ${number}`;
      const state = step(item.automaton, 0, unhex(entry.prefix));
      const ids = done ? [] : allowed(item.automaton, state, tokens, eos);
      demand(same(ids, entry.allowed), `${place}: allowed ${ids}`);
      demand(packed(ids, tokens.length).toString("hex") === entry.mask, `${place}: packed mask`);
      demand(item.automaton.accept.includes(state) === entry.complete, `${place}: complete`);
      done = "token" in entry && eos.includes(entry.token);
    });
  }
}

function checkStream(item) {
  const increment = (2n * BigInt(item.sequence) + 1n) & MASK;
  let state = ((increment + BigInt(item.seed)) * MULTIPLIER + increment) & MASK;
  for (const word of item.words) {
    const shifted = (((state >> 18n) ^ state) >> 27n) & 0xffffffffn;
    const turn = state >> 59n;
    const output = ((shifted >> turn) | (shifted << (32n - turn))) & 0xffffffffn;
    demand(output.toString(16).padStart(8, "0") === word, `${item.id}: ${word}`);
    state = (state * MULTIPLIER + increment) & MASK;
  }
}

function checkStates(item) {
  if (!vocabularyFile) return "skipped";
  const tokens = readJson(vocabularyFile).map((text) => (text === null ? null : Buffer.from(text, "base64")));
  demand(vocabularyDigest(tokens, vocabulary.eos) === vocabulary.digest, "this is another vocabulary");
  const languages = readJson(join(folder, "constrain", "languages.json")).cases;
  const { automaton } = languages.find((language) => language.id === item.id);
  for (const state of item.states) {
    const ids = allowed(automaton, step(automaton, 0, unhex(state.path)), tokens, vocabulary.eos);
    demand(ids.length === state.count, `${item.id} after ${state.path}: ${ids.length} allowed`);
    const sha256 = createHash("sha256").update(packed(ids, tokens.length)).digest("hex");
    demand(sha256 === state.sha256, `${item.id} after ${state.path}: digest`);
  }
  return "recomputed";
}

function readCase(item) {
  if (item.kind === "vocabulary") {
    vocabulary = item;
    if (!("tokens" in item)) return "read";
    demand(vocabularyDigest(item.tokens.map(unhex), item.eos) === item.digest, "digest of the vocabulary");
    return "recomputed";
  }
  if ("paths" in item) {
    const { tokens, eos } = "tokens" in (vocabulary ?? {})
      ? { tokens: vocabulary.tokens.map(unhex), eos: vocabulary.eos }
      : toy();
    checkPaths(item, tokens, eos);
    return "recomputed";
  }
  if ("words" in item) {
    checkStream(item);
    return "recomputed";
  }
  return "states" in item ? checkStates(item) : "read";
}

if (!folder) fail("usage: golden_reader.mjs FOLDER [vocabulary.json]");
for (const path of filesBelow(folder)) {
  const document = readJson(path);
  demand(document.format === 1, `${path}: format ${document.format} is not known here`);
  demand(document.count === document.cases.length, `${path}: count is wrong`);
  counts.files += 1;
  vocabulary = null;
  for (const item of document.cases) {
    counts.cases += 1;
    demand(item.flags.every((flag) => flag in document.flags), `${path}: ${item.id}: unknown flag`);
    counts[readCase(item)] += 1;
  }
}
console.log(
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(" · "),
);
