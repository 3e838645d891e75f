(() => {
  const COLUMNS = ["verdict", "subject", "case", "check", "kind", "message"];
  const FILTERS = ["verdict", "command", "subject", "check", "kind"];
  const MARKS = { proven: "✓", tested: "●", refuted: "✗", refused: "⊘", undecided: "?", skipped: "–" };
  const RANK = { refuted: 0, undecided: 1, skipped: 2, refused: 3, tested: 4, proven: 5 };
  const CHUNK = 500;
  const at = (id) => document.getElementById(id);
  const views = Object.fromEntries([...document.querySelectorAll("section.view")].map((section) => [section.id, section]));
  for (const section of Object.values(views)) section.removeAttribute("id"); // the address names a view, not a place to scroll to
  const state = { filters: { verdict: "refuted" }, q: "", sort: "", down: false, shown: [], cursor: 0, open: -1 };
  const chunks = new Map();
  let index, byId, drawn = false;

  // ---- data -------------------------------------------------------------------------------------------------
  const value = (name, row) => index[name].values[index[name].codes[row]];

  function more(row) {
    const chunk = Math.floor(row / CHUNK);
    if (!chunks.has(chunk)) chunks.set(chunk, unpack("chunk-" + chunk));
    return chunks.get(chunk).then((rows) => rows[row % CHUNK]);
  }

  function matching() {
    const total = index.id.length, kept = new Uint8Array(total).fill(1);
    for (const name of FILTERS) {
      const wanted = state.filters[name];
      if (wanted === undefined || wanted === "") continue;
      const code = index[name].values.indexOf(wanted === "(none)" ? "" : wanted), codes = index[name].codes;
      for (let row = 0; row < total; row++) if (codes[row] !== code) kept[row] = 0;
    }
    for (const word of state.q.toLowerCase().split(/\s+/).filter(Boolean)) {
      const hits = ["case", "message", "subject", "check", "kind", "run"].map((name) => [index[name].codes, index[name].lower.map((text) => text.includes(word))]);
      for (let row = 0; row < total; row++) {
        if (kept[row] && !hits.some(([codes, hit]) => hit[codes[row]]) && !index.id[row].startsWith(word)) kept[row] = 0;
      }
    }
    const rows = [];
    for (let row = 0; row < total; row++) if (kept[row]) rows.push(row);
    return state.sort ? sorted(rows) : rows;
  }

  function sorted(rows) {
    const { values, codes } = index[state.sort];
    const order = values.map((text, code) => [state.sort === "verdict" ? RANK[text] : text.toLowerCase(), code]);
    order.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
    const rank = new Uint32Array(values.length);
    order.forEach(([, code], place) => { rank[code] = place; });
    const sign = state.down ? -1 : 1;
    return rows.sort((a, b) => sign * (rank[codes[a]] - rank[codes[b]]) || a - b);
  }

  // ---- the list: only the rows in sight exist ---------------------------------------------------------------
  const body = at("rows"), filler = h("div", { "aria-hidden": "true" });
  body.append(filler);
  const height = () => (matchMedia("(max-width: 760px)").matches ? 64 : 36);

  function refresh(keep) {
    state.shown = matching();
    if (!keep) { state.cursor = 0; body.scrollTop = 0; }
    at("count").textContent = `${grouped(state.shown.length)} of ${grouped(index.id.length)}`;
    at("grid").setAttribute("aria-rowcount", state.shown.length + 1);
    for (const name of COLUMNS) {
      const head = document.querySelector(`.grid-head .col-${name}`);
      head.setAttribute("aria-sort", state.sort !== name ? "none" : state.down ? "descending" : "ascending");
    }
    for (const name of FILTERS) at("by-" + name).value = state.filters[name] || "";
    at("search").value = state.q;
    paint();
  }

  function paint() {
    const tall = height(), first = Math.max(0, Math.floor(body.scrollTop / tall) - 8);
    const last = Math.min(state.shown.length, Math.ceil((body.scrollTop + body.clientHeight) / tall) + 8);
    filler.style.height = state.shown.length * tall + "px";
    const rows = [];
    for (let place = first; place < last; place++) rows.push(rowElement(place, tall));
    body.replaceChildren(filler, ...rows);
    if (!state.shown.length) body.append(h("p", { class: "empty" }, index.id.length ? "No record matches." : "No record yet."));
  }

  function rowElement(place, tall) {
    const row = state.shown[place], verdict = value("verdict", row), cursor = place === state.cursor;
    const cell = (name, ...content) => h("div", { role: "gridcell", class: "col-" + name }, ...content);
    return h("div", {
      role: "row", class: "row" + (cursor ? " cursor" : ""), style: `top:${place * tall}px`, "aria-rowindex": place + 2,
      "aria-selected": row === state.open ? "true" : "false", "data-id": index.id[row],
      onclick: () => { state.cursor = place; openRow(row); },
    },
    cell("verdict", h("span", { class: "badge " + verdict }, MARKS[verdict], h("span", { class: "word" }, verdict))),
    cell("subject", value("subject", row)), cell("case", visible(value("case", row))), cell("check", value("check", row)),
    cell("kind", value("kind", row)), cell("message", visible(value("message", row))));
  }

  function move(by) {
    state.cursor = Math.max(0, Math.min(state.shown.length - 1, state.cursor + by));
    const tall = height(), top = state.cursor * tall;
    if (top < body.scrollTop) body.scrollTop = top;
    if (top + tall > body.scrollTop + body.clientHeight) body.scrollTop = top + tall - body.clientHeight;
    paint();
    if (state.open >= 0 && state.shown.length) openRow(state.shown[state.cursor], true);
  }

  const openRow = (row, replace) => go("finding=" + encodeURIComponent(index.id[row]), replace);

  function fillSelects() {
    for (const name of FILTERS) {
      const counts = new Map();
      for (const code of index[name].codes) counts.set(code, (counts.get(code) || 0) + 1);
      const options = index[name].values.map((text, code) => [text, counts.get(code)]);
      options.sort((a, b) => (name === "verdict" ? RANK[a[0]] - RANK[b[0]] : a[0] < b[0] ? -1 : 1));
      at("by-" + name).replaceChildren(h("option", { value: "" }, `any ${name}`),
        ...options.map(([text, count]) => h("option", { value: text || "(none)" }, `${text || "(none)"} (${grouped(count)})`)));
    }
  }

  // ---- one finding ------------------------------------------------------------------------------------------
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

  // ---- languages --------------------------------------------------------------------------------------------
  async function showLanguage(name) {
    const place = index.languages.indexOf(name), panel = at("language");
    at("language-list").hidden = true; panel.hidden = false;
    const back = h("a", { class: "back", href: "#languages" }, "← all languages");
    if (place < 0) { panel.replaceChildren(back, h("p", {}, `No language ${name} here.`)); return; }
    const data = await unpack("lang-" + place), detail = data.detail || {};
    const card = (title, ...content) => h("div", { class: "card" }, title ? h("h3", {}, title) : null, content);
    const drawn = data.picture ? framed(picture(data.picture), data.caption) : null;
    panel.replaceChildren(...[h("div", {}, back, h("h2", {}, visible(name)), h("p", { class: "quiet" }, visible(detail.why || ""))),
      card("", wide([["kind", detail.kind], ["dialect", detail.dialect], ["states", detail.states !== undefined ? plain(detail.states) : ""],
        ["live edges", detail.live !== undefined ? plain(detail.live) : ""], ["byte classes on them", detail.edges ? plain(detail.edges.length) : ""],
        ["accepting", detail.accepting ? plain(detail.accepting.length) : ""]])),
      drawn || data.problem ? card("Automaton", drawn || h("p", {}, data.problem)) : null,
      data.chart ? card(`Mask density: tokens allowed in each state, of ${plain(detail.tokens || 0)} (${detail.vocabulary || ""})`, h("div", { class: "chart" }, picture(data.chart))) : null,
      card("Obligations", obligations(data.obligations)),
      detail.pattern || detail.source ? card("", detail.source !== detail.pattern ? block("Source", indented(visible(detail.source || ""))) : null, block("Pattern", visible(detail.pattern || ""))) : null,
      detail.edges ? edgesOf(detail) : null].filter(Boolean));
    if (drawn) drawn.settle();
  }

  // A picture in a frame: as wide as the frame when it stays readable, else in its own size, from the start state on.
  function framed(svg, caption) {
    const frame = h("div", { class: "picture", tabindex: "0", role: "group", "aria-label": "automaton" }, svg);
    const button = h("button", { type: "button", onclick: () => { frame.classList.toggle("fitted"); label(); } });
    const label = () => { button.textContent = frame.classList.contains("fitted") ? "own size" : "fit width"; };
    const whole = h("div", {}, h("p", { class: "quiet small" }, caption, " · double ring: accepting · shaded: one byte only · dashed: a stretch ", button), frame);
    whole.settle = () => {
      const own = svg.viewBox.baseVal.width * 4 / 3;
      button.hidden = own <= frame.clientWidth;
      frame.classList.toggle("fitted", own > frame.clientWidth && own < 1.9 * frame.clientWidth);
      label();
      const start = svg.querySelector(".start");
      if (!start) return;
      const inner = start.getBoundingClientRect(), outer = frame.getBoundingClientRect();
      frame.scrollTo(inner.left - outer.left - 70, inner.top - outer.top - frame.clientHeight / 2);
    };
    return whole;
  }

  function obligations(rows) {
    if (!rows.length) return h("p", { class: "quiet" }, "None on record.");
    const domain = (row) => Object.entries(row.domain || {}).map(([name, content]) => `${plain(content)} ${name}`).join(", ");
    return h("div", { class: "scroller" }, h("table", {}, h("thead", {}, h("tr", {}, ["obligation", "verdict", "method", "domain", "seconds"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, row.check), h("td", {}, h("span", { class: "badge " + row.verdict }, MARKS[row.verdict], " ", row.verdict)),
        h("td", {}, row.method, row.message ? h("small", {}, visible(row.message)) : null), h("td", { class: "quiet" }, domain(row)), h("td", { class: "num" }, row.seconds.toFixed(2)))))));
  }

  function edgesOf(detail) {
    const accepting = new Set(detail.accepting || []), forced = detail.forced || {}, from = new Map();
    for (const [source, target, label] of detail.edges) from.set(source, [...(from.get(source) || []), `${visible(label)} → ${target}`]);
    const list = h("div", { class: "edges" });
    const fold = h("details", {}, h("summary", {}, `Every state, with its live byte classes (${plain(detail.states)})`), list);
    fold.addEventListener("toggle", () => {
      if (list.childElementCount) return;
      for (let one = 0; one < detail.states; one++) {
        list.append(h("p", {}, h("b", {}, `${one}${accepting.has(one) ? " ◎" : ""}  `), (from.get(one) || []).join("   "), forced[one] ? h("span", { class: "quiet" }, `   forced ${visible(forced[one])}`) : null));
      }
    });
    return h("div", { class: "card" }, fold);
  }

  // ---- where we are: the address ----------------------------------------------------------------------------
  function filterHash() {
    const wanted = Object.entries(state.filters).filter(([, text]) => text);
    if (state.q) wanted.push(["q", state.q]);
    if (state.sort) wanted.push(["sort", (state.down ? "-" : "") + state.sort]);
    return "findings" + (wanted.length ? "?" + wanted.map(([name, text]) => `${name}=${encodeURIComponent(text)}`).join("&") : "?");
  }

  function go(hash, replace) {
    if (replace) { history.replaceState(null, "", "#" + hash); route(); }
    else if (location.hash === "#" + hash) route();
    else location.hash = hash;
  }

  function show(section) {
    for (const name in views) views[name].classList.toggle("shown", name === section);
    for (const link of document.querySelectorAll("nav.tabs a")) {
      if (link.hash === "#" + section) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
  }

  function route() {
    const hash = location.hash.slice(1), [head, tail] = [hash.split(/[?=]/)[0], hash.slice(hash.search(/[?=]/) + 1)];
    const wanted = hash.search(/[?=]/) < 0 ? "" : tail;
    if (head === "finding") { show("findings"); showFinding(decoded(wanted)); return; }
    views.findings.classList.remove("open"); state.open = -1;
    if (head === "findings") { show("findings"); readFilters(hash.includes("?") ? wanted : null); return; }
    if (head === "language") { show("languages"); showLanguage(decoded(wanted)); scrollTo(0, 0); return; }
    at("language-list").hidden = false; at("language").hidden = true;
    scrollTo(0, 0);
    show(head in views ? head : "overview");
  }

  function decoded(text) { try { return decodeURIComponent(text); } catch { return text; } }

  function readFilters(query) {
    if (query !== null) {
      const asked = new Map(query.split("&").filter(Boolean).map((pair) => { const cut = pair.indexOf("="); return [pair.slice(0, cut), decoded(pair.slice(cut + 1))]; }));
      state.filters = Object.fromEntries(FILTERS.filter((name) => asked.has(name)).map((name) => [name, asked.get(name)]));
      state.q = asked.get("q") || "";
      const sort = asked.get("sort") || "";
      state.down = sort.startsWith("-"); state.sort = COLUMNS.includes(sort.replace("-", "")) ? sort.replace("-", "") : "";
    }
    refresh(false);
  }

  // ---- tables that sort -------------------------------------------------------------------------------------
  function sortable(table) {
    table.querySelectorAll("thead th").forEach((head, column) => {
      const label = [...head.childNodes];
      const button = h("button", { class: "sort", type: "button" }, ...label);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => { const text = row.cells[column].textContent.trim(), number = parseFloat(text.replace(/[,×]/g, "")); return Number.isNaN(number) ? text.toLowerCase() : number; };
        const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
        rows.sort((a, b) => (typeof a[0] === typeof b[0] ? (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) : typeof a[0] === "number" ? -1 : 1) * (down ? -1 : 1));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }

  // ---- keys and clicks --------------------------------------------------------------------------------------
  function keys(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape" && !at("help").open) { if (typing) body.focus(); else if (state.open >= 0 || views.findings.classList.contains("open")) closeFinding(); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const inList = views.findings.classList.contains("shown");
    const page = Math.max(1, Math.floor(body.clientHeight / height()) - 1);
    const steps = { j: 1, k: -1, ...(event.target === body ? { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 } : {}) };
    if (event.key === "/") { event.preventDefault(); if (!inList) go(filterHash()); setTimeout(() => at("search").focus()); }
    else if (event.key === "?") at("help").showModal();
    else if (/^[1-9]$/.test(event.key) && Object.keys(views)[event.key - 1]) go(Object.keys(views)[event.key - 1]);
    else if (inList && event.key in steps) { event.preventDefault(); move(steps[event.key]); }
    else if (inList && event.key === "Enter" && event.target === body && state.shown.length) openRow(state.shown[state.cursor]);
  }

  function listen() {
    let waiting = 0;
    const typed = () => { state.q = at("search").value; history.replaceState(null, "", "#" + filterHash()); if (views.findings.classList.contains("open")) route(); else refresh(false); };
    at("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(typed, 60); });
    at("search").addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" && event.key !== "Enter") return;
      event.preventDefault(); clearTimeout(waiting); typed(); body.focus();
    });
    for (const name of FILTERS) at("by-" + name).addEventListener("change", () => { state.filters[name] = at("by-" + name).value; go(filterHash()); });
    at("clear").addEventListener("click", () => { state.filters = {}; state.q = ""; state.sort = ""; go(filterHash()); });
    for (const name of COLUMNS) {
      document.querySelector(`.grid-head .col-${name} button`).addEventListener("click", () => { state.down = state.sort === name && !state.down; state.sort = name; go(filterHash()); });
    }
    body.addEventListener("scroll", () => requestAnimationFrame(paint), { passive: true });
    addEventListener("resize", () => requestAnimationFrame(paint));
    addEventListener("keydown", keys);
    addEventListener("hashchange", route);
    at("keys").addEventListener("click", () => at("help").showModal());
    at("close-help").addEventListener("click", () => at("help").close());
    document.querySelectorAll("table.sortable").forEach(sortable);
  }

  async function start() {
    rememberTheme(at("theme"));
    index = await unpack("data-rows");
    for (const name of ["case", "message", "subject", "check", "kind", "run"]) index[name].lower = index[name].values.map((text) => text.toLowerCase());
    byId = new Map(index.id.map((id, row) => [id, row]));
    document.documentElement.classList.add("scripted");
    fillSelects();
    listen();
    refresh(false);
    route();
    document.documentElement.dataset.ready = "true";
  }
  start();
})();
