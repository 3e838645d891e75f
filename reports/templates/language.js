// One language opened: its automaton, density, obligations and edges.

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
