// The list of records: only the rows in sight exist.

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
