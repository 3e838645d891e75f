// Where we are: the address names a view; keys, clicks, and tables that sort by their heads.

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
