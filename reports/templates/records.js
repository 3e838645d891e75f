// The records: columns, filters, search, order; what a row shows only when opened is unpacked chunk by chunk.

const COLUMNS = ["verdict", "subject", "case", "check", "kind", "message"];
const FILTERS = ["verdict", "command", "subject", "check", "kind"];
const MARKS = { proven: "✓", tested: "●", refuted: "✗", refused: "⊘", undecided: "?", skipped: "–" };
const RANK = { refuted: 0, undecided: 1, skipped: 2, refused: 3, tested: 4, proven: 5 };
const at = (id) => document.getElementById(id);
const views = Object.fromEntries([...document.querySelectorAll("section.view")].map((section) => [section.id, section]));
for (const section of Object.values(views)) section.removeAttribute("id"); // the address names a view, not a place to scroll to
const state = { filters: { verdict: "refuted" }, q: "", sort: "", down: false, shown: [], cursor: 0, open: -1 };
const chunks = new Map();
let index, byId, drawn = false;

const value = (name, row) => index[name].values[index[name].codes[row]];

function more(row) {
  const chunk = Math.floor(row / index.chunk);
  if (!chunks.has(chunk)) chunks.set(chunk, unpack("chunk-" + chunk));
  return chunks.get(chunk).then((rows) => rows[row % index.chunk]);
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
