// One record opened: the shrunk case, the path token by token, both masks, the command that shows it again.

const token = (one, tone) => h("span", { class: "chip" + (tone ? " " + tone : ""), title: `id ${one.id}` },
  one.text !== undefined ? visible(one.text) : one.hex !== undefined ? textOf(one.hex) : "special",
  h("small", {}, `${one.id}${one.hex !== undefined ? " · " + one.hex : ""}`));

// A set of tokens in any of its spellings: {count, tokens}, a list of ids or tokens, a count, a yes or no.
function tokenSet(set) {
  if (Array.isArray(set)) return { count: set.length, tokens: set.map((one) => (typeof one === "object" ? one : { id: one })) };
  if (typeof set === "number") return { count: set, tokens: [] };
  if (set && typeof set === "object") return { count: set.count ?? (set.tokens || []).length, tokens: set.tokens || [] };
  return null;
}

function tokens(title, given, tone, marks) {
  if (given === undefined || given === null) return null;
  if (typeof given !== "object" && typeof given !== "number") return h("div", {}, h("h3", {}, title), h("p", {}, String(given)));
  const set = tokenSet(given);
  if (!set.count && tone) return null;
  return h("div", {}, h("h3", {}, `${title} (${grouped(set.count)})`),
    h("div", { class: "chips" }, set.tokens.map((one) => token(one, tone || (marks && marks.get(one.id)))),
      set.count > set.tokens.length ? h("span", { class: "quiet small" }, `… ${grouped(set.count - set.tokens.length)} more`) : null));
}

function masks(witness) {
  const marks = new Map();
  const mark = (set, tone) => { for (const one of (tokenSet(set) || { tokens: [] }).tokens) marks.set(one.id, tone); };
  mark(witness.unsound, "bad"); mark(witness.missing, "lost");
  const both = [tokens("The engine allowed", witness.allowed, "", marks), tokens("The exact mask", witness.expected, "", marks)].filter(Boolean);
  return [both.length ? h("div", { class: "compare" }, both) : null,
    tokens("Unsound: only the engine allows", witness.unsound, "bad"), tokens("Missing: only the exact mask allows", witness.missing, "lost")];
}

// JSON text on several lines without reading it as numbers: every character outside of strings stays as it is.
function indented(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  let out = "", depth = 0, quoted = false;
  for (let place = 0; place < text.length; place++) {
    const char = text[place];
    if (quoted) { out += char; if (char === "\\") out += text[++place] ?? ""; else if (char === '"') quoted = false; continue; }
    if (/\s/.test(char)) continue;
    if (char === '"') quoted = true;
    if (char === "{" || char === "[") { depth++; out += char + (/[\]}]/.test(text[place + 1] || "") ? "" : "\n" + "  ".repeat(depth)); continue; }
    if (char === "}" || char === "]") { depth = Math.max(0, depth - 1); out += (/[[{]/.test(text[place - 1] || "") ? "" : "\n" + "  ".repeat(depth)) + char; continue; }
    out += char === "," ? ",\n" + "  ".repeat(depth) : char === ":" ? ": " : char;
  }
  return out;
}

function facts(pairs) {
  const kept = pairs.filter(([, content]) => content !== "" && content !== undefined && content !== null);
  return kept.length ? h("dl", { class: "facts" }, kept.flatMap(([name, content]) => [h("dt", {}, name), h("dd", {}, content)])) : null;
}

function wide(pairs) {
  const kept = pairs.filter(([, content]) => content !== "" && content !== undefined);
  return h("dl", { class: "wide" }, kept.map(([name, content]) => h("div", {}, h("dt", {}, name), h("dd", {}, content))));
}

const plain = (content) => (typeof content === "number" ? grouped(content) : typeof content === "string" ? visible(content) : JSON.stringify(content));
const block = (title, text) => (text ? [h("h3", {}, title), h("pre", {}, text)] : null);
const folded = (title, text) => (text ? h("details", {}, h("summary", {}, title), h("pre", {}, text)) : null);

function pathOf(witness) {
  if (!Array.isArray(witness.path)) return null;
  const steps = witness.path.map((one) => h("li", {}, token(one)));
  if (witness.token) steps.push(h("li", {}, token(witness.token, "bad")));
  const text = witness.path.map((one) => (one.hex !== undefined ? one.hex : "")).join("");
  return [h("h3", {}, witness.token ? "Path, and the token at fault" : "Path"),
    steps.length ? h("ol", { class: "path" }, steps) : h("p", { class: "quiet" }, "at the start, before any token"),
    text ? h("p", { class: "quiet small" }, "written so far: ", h("code", {}, textOf(text))) : null];
}

const USED = ["kind", "source", "dialect", "original", "path", "token", "allowed", "expected", "unsound", "missing", "complete", "log", "exchange", "vocabulary", "text", "hex"];
const rest = (object, used) => Object.entries(object || {}).filter(([name]) => !used.includes(name));

function witnessOf(witness) {
  const whole = witness.complete;
  const vocabulary = Array.isArray(witness.vocabulary) ? tokens("In a vocabulary of", witness.vocabulary) : null;
  const string = witness.hex !== undefined ? textOf(witness.hex) : witness.text !== undefined ? visible(witness.text) : "";
  return [block(`Shrunk case${witness.kind ? ": " + witness.kind : ""}${witness.dialect ? ", " + witness.dialect : ""}`, witness.source && indented(visible(witness.source))),
    pathOf(witness), masks(witness), block("String that shows it", string), vocabulary,
    facts([["vocabulary", typeof witness.vocabulary === "string" ? witness.vocabulary : ""],
      ["whole, says the engine", whole && String(whole.engine)], ["whole, exactly", whole && String(whole.exact)],
      ...rest(witness, USED).map(([name, content]) => [name, plain(content)])]),
    witness.original ? folded("Before shrinking", indented(visible(witness.original.source || ""))) : null,
    folded("Protocol", (witness.exchange || []).map((line) => [].concat(line).map(visible).join(" ")).join("\n")),
    folded("What the engine logged", witness.log && String(witness.log).split("\n").map(visible).join("\n"))];
}

async function showFinding(id) {
  const row = byId.get(id), panel = at("detail"), found = row !== undefined;
  if (found && !state.shown.includes(row)) { state.filters = {}; state.q = ""; refresh(true); }
  state.open = found ? row : -1;
  views.findings.classList.add("open");
  if (!found) { panel.replaceChildren(h("p", {}, `No record has the id ${id} here; it may be fixed, or in another run.`), closer()); paint(); return; }
  state.cursor = state.shown.indexOf(row);
  if (!drawn) { body.scrollTop = Math.max(0, state.cursor * height() - body.clientHeight / 2); drawn = true; }
  paint();
  const rest_ = await more(row);
  if (state.open !== row) return;
  const verdict = value("verdict", row), kind = value("kind", row), name = value("case", row), detail = rest_.detail || {};
  panel.replaceChildren(
    h("header", {}, h("span", { class: "badge " + verdict }, MARKS[verdict], " ", verdict), kind ? h("code", {}, kind) : null, h("span", { class: "spacer" }), closer()),
    h("div", { class: "title" }, `${value("subject", row)}${detail.version ? " " + detail.version : ""}`),
    h("p", { class: "quiet" }, h("code", {}, visible(name)), ` · ${value("check", row)} · ${value("command", row)}`),
    h("p", { class: "message" }, String(value("message", row)).split("\n").map(visible).join("\n")),
    ...[rest_.reproduce ? [h("h3", {}, "Show it again"), h("div", { class: "command" }, h("pre", {}, visible(rest_.reproduce)), copier(rest_.reproduce))] : null,
      witnessOf(rest_.witness || {}),
      h("h3", {}, "Judged"),
      facts([["method", rest_.method], ...Object.entries(rest_.domain || {}).map(([key, content]) => [key, plain(content)]),
        ["seconds", String(index.seconds[row])], ["run", value("run", row)],
        ["language", languageOf(name) ? h("a", { href: "#language=" + encodeURIComponent(languageOf(name)) }, "its automaton and obligations") : ""],
        ["link", h("a", { href: "#finding=" + index.id[row] }, index.id[row])]]),
      rest(detail, ["version"]).length ? folded("More", JSON.stringify(Object.fromEntries(rest(detail, ["version"])), null, 1).split("\n").map(visible).join("\n")) : null,
    ].flat(Infinity).filter(Boolean));
  panel.scrollTop = 0;
}

// A case may be a language in some form over some vocabulary: `city/regex@toy`.
const languageOf = (name) => [name, name.split("@")[0], name.split(/[/@]/)[0]].find((one) => index.languages.includes(one));
function copier(text) { const button = h("button", { type: "button", onclick: () => copyText(text, button) }, "Copy"); return button; }
const closer = () => h("button", { type: "button", id: "close-detail", "aria-label": "Close", onclick: closeFinding }, "✕");
function closeFinding() { state.open = -1; go(filterHash()); body.focus(); }
