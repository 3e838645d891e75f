(() => {
  const DEAD = -1, EXAMPLES = 40;
  const at = (id) => document.getElementById(id);
  const masks = new Map();
  let data, tokens, accepting, look = null, drawing = null;

  // ---- the automaton and the vocabulary ---------------------------------------------------------------------
  const step = (state, byte) => (state === DEAD ? DEAD : data.table[state][data.classes[byte]]);

  function walk(bytes) {
    const states = [0];
    for (const byte of bytes) states.push(step(states[states.length - 1], byte));
    return states;
  }

  // The exact mask: every byte of every token walked; special and empty tokens never, EOS exactly when accepting.
  function allowed(state) {
    if (!masks.has(state)) {
      const eos = new Set(data.eos), found = [];
      tokens.forEach((bytes, id) => {
        if (eos.has(id)) { if (accepting.has(state)) found.push(id); return; }
        if (!bytes || !bytes.length) return;
        let here = state;
        for (let place = 0; place < bytes.length && here !== DEAD; place++) here = step(here, bytes[place]);
        if (here !== DEAD) found.push(id);
      });
      masks.set(state, found);
    }
    return masks.get(state);
  }

  // ---- text to bytes and back -------------------------------------------------------------------------------
  function parse(text) {
    const bytes = [];
    const plain = (part) => bytes.push(...new TextEncoder().encode(part));
    let from = 0;
    for (let place = text.indexOf("\\"); place >= 0; place = text.indexOf("\\", from)) {
      plain(text.slice(from, place));
      const escape = /^\\(?:x([0-9a-fA-F]{2})|([nrt\\]))/.exec(text.slice(place));
      if (!escape) return { bytes, problem: `${text.slice(place, place + 2)} at position ${place} is no escape; write \\xHH, \\n, \\r, \\t or \\\\` };
      bytes.push(escape[1] ? parseInt(escape[1], 16) : { n: 10, r: 13, t: 9, "\\": 92 }[escape[2]]);
      from = place + escape[0].length;
    }
    plain(text.slice(from));
    return { bytes, problem: "" };
  }

  function written(bytes) {
    const escaped = (list) => Array.from(list, (byte) => "\\x" + byte.toString(16).padStart(2, "0")).join("");
    let text;
    try { text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes)); }
    catch { return Array.from(bytes, (byte) => (byte > 0x20 && byte < 0x7f && byte !== 92 ? String.fromCharCode(byte) : escaped([byte]))).join(""); }
    return text.replace(/[\\\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (char) => ({ "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" })[char] || escaped(new TextEncoder().encode(char)));
  }

  const byteText = (byte) => (byte === 32 ? "␣" : byte > 32 && byte < 127 ? String.fromCharCode(byte) : "\\x" + byte.toString(16).padStart(2, "0"));

  // ---- what is shown ----------------------------------------------------------------------------------------
  function render() {
    const { bytes, problem } = parse(at("text").value), states = walk(bytes);
    const place = look === null ? bytes.length : Math.min(look, bytes.length);
    at("problem").textContent = problem;
    at("bytes").replaceChildren(...states.map((state, index) => h("li", { class: state === DEAD ? "dead" : accepting.has(state) ? "member" : "" },
      h("button", { type: "button", "aria-current": String(index === place), onclick: () => { look = index; render(); } },
        index === 0 ? "start" : byteText(bytes[index - 1]), h("small", {}, state === DEAD ? "dead" : `state ${state}`)))));
    at("here").replaceChildren(...(states[place] === DEAD ? dead(states, bytes) : live(states[place], bytes.slice(0, place))));
    highlight(states.slice(0, place + 1));
    history.replaceState(null, "", "#after=" + encodeURIComponent(at("text").value));
  }

  function dead(states, bytes) {
    const first = states.indexOf(DEAD);
    return [h("div", { class: "card" }, h("div", { class: "status" }, h("span", { class: "badge refuted" }, "✗ dead"), "nothing can follow"),
      h("p", {}, `After ${first - 1} byte${first === 2 ? "" : "s"} the output was still alive; `, h("code", {}, byteText(bytes[first - 1])), " is not allowed in state ", h("b", {}, states[first - 1]), "."),
      h("button", { type: "button", onclick: () => { at("text").value = written(bytes.slice(0, first - 1)); look = null; render(); } }, "Go back there"))];
  }

  function live(state, prefix) {
    const member = accepting.has(state), forced = data.forced[state];
    const edges = data.edges.filter((edge) => edge[0] === state);
    return [h("div", { class: "card" }, h("div", { class: "status" }, h("span", { class: "badge " + (member ? "proven" : "tested") }, member ? "✓ member" : "● viable prefix"), ` state ${state}`),
      h("p", { class: "quiet" }, member ? "The output may end here: EOS is allowed." : "The output is not whole yet: EOS is not allowed."),
      forced ? h("p", {}, "Whatever comes, it goes on with ", h("code", {}, visible(forced))) : null,
      h("h3", {}, edges.length ? "Next bytes" : "No byte may follow"),
      h("dl", { class: "next" }, edges.flatMap(([, target, label]) => [h("dt", {}, visible(label)), h("dd", { class: "quiet" }, `→ ${target}${accepting.has(target) ? " ◎" : ""}`)]))),
    tokensCard(state, prefix)];
  }

  function tokensCard(state, prefix) {
    const ids = allowed(state), eos = new Set(data.eos), total = tokens.length;
    const chip = (id) => (eos.has(id) ? h("span", { class: "chip" }, "EOS", h("small", {}, id))
      : h("button", { type: "button", title: "append", onclick: () => { at("text").value = written([...prefix, ...tokens[id]]); look = null; render(); at("text").focus(); } },
        h("span", { class: "chip" }, textOf(data.token_bytes[id]), h("small", {}, id))));
    const ranked = [...ids.filter((id) => eos.has(id)), ...ids.filter((id) => !eos.has(id))];
    const chips = h("div", { class: "chips" }), more = h("button", { type: "button", onclick: () => add(10 * EXAMPLES) }, "more");
    const add = (count) => {
      const from = chips.querySelectorAll(".chip").length;
      more.before(...ranked.slice(from, from + count).map(chip));
      more.hidden = from + count >= ranked.length;
    };
    chips.append(more);
    add(EXAMPLES);
    return h("div", { class: "card" }, h("div", {}, h("span", { class: "big", id: "allowed" }, grouped(ids.length)), h("span", { class: "quiet" }, ` of ${grouped(total)} tokens allowed`)),
      h("div", { class: "meter", "aria-hidden": "true" }, h("i", { style: `width:${(100 * ids.length) / total}%` })),
      chips,
      ids.length ? null : h("p", {}, "Stuck: no token of this vocabulary can follow, though bytes could."));
  }

  function highlight(states) {
    if (!drawing || !data.whole) return;
    drawing.querySelectorAll(".here, .past, .live").forEach((one) => one.classList.remove("here", "past", "live"));
    const find = (id) => drawing.querySelector(`[id="${id}"]`);
    states.forEach((state) => find("s" + state)?.classList.add("past"));
    const last = states[states.length - 1];
    find("s" + last)?.classList.add("here");
    data.edges.forEach(([source], number) => { if (source === last) find("e" + number)?.classList.add("live"); });
  }

  async function start() {
    rememberTheme(at("theme"));
    data = await unpack("data");
    accepting = new Set(data.accepting);
    tokens = data.token_bytes.map((hex) => (hex === null ? null : bytesOf(hex)));
    if (data.picture) { drawing = picture(data.picture); at("picture").append(drawing); }
    const after = /^#after=(.*)$/.exec(location.hash);
    try { at("text").value = after ? decodeURIComponent(after[1]) : ""; } catch { at("text").value = ""; }
    at("text").addEventListener("input", () => { look = null; render(); });
    at("undo").addEventListener("click", () => { at("text").value = written(parse(at("text").value).bytes.slice(0, -1)); look = null; render(); });
    at("reset").addEventListener("click", () => { at("text").value = ""; look = null; render(); at("text").focus(); });
    render();
    document.documentElement.dataset.ready = "true";
  }
  start();
})();
