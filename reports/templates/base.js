"use strict";
// Shared by the pages: elements from data (text stays text), unpacking, visible bytes, light and dark.

function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

async function unpack(id) {
  const letters = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// A picture made by the report's own writer becomes nodes; nothing in it is run.
function picture(svg) {
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  return document.importNode(parsed, true);
}

// Text with what cannot be seen spelled out: spaces at the ends, controls, direction marks, separators.
function visible(text) {
  const named = { "\n": "⏎", "\t": "⇥" };
  const spelled = String(text).replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (char) => named[char] || (char < "\u0100" ? "\\x" : "\\u") + char.charCodeAt(0).toString(16).padStart(char < "\u0100" ? 2 : 4, "0"));
  return spelled.replace(/^ +| +$/g, (blanks) => "␣".repeat(blanks.length));
}

function bytesOf(hex) {
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) => parseInt(hex.substr(2 * at, 2), 16));
}

// Bytes as text where they are UTF-8, in hex where they are not.
function textOf(hex) {
  try { return visible(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytesOf(hex))); }
  catch { return hex.replace(/../g, "\\x$&"); }
}

function grouped(number) { return Number(number).toLocaleString("en-US"); }

function rememberTheme(button) {
  const read = () => { try { return localStorage.getItem("maskproof-theme"); } catch { return null; } };
  const set = (theme) => { if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme; };
  set(read());
  button.addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    const theme = dark ? "light" : "dark";
    set(theme);
    try { localStorage.setItem("maskproof-theme", theme); } catch { /* a page from disk may have no storage */ }
  });
}

async function copyText(text, button) {
  try { await navigator.clipboard.writeText(text); }
  catch {
    const area = h("textarea", { style: "position:fixed;opacity:0" });
    area.value = text; document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
  }
  const label = button.textContent; button.textContent = "Copied"; setTimeout(() => { button.textContent = label; }, 1200);
}
