"use strict";
(() => {
  // The index lies beside this script, wherever the site is served.
  const indexURL = new URL("index.json", document.currentScript.src);
  const form = document.getElementById("search");
  const query = document.getElementById("query");
  const results = document.getElementById("results");
  const menu = document.getElementById("menu");
  const nav = document.getElementById("nav");
  form.hidden = false;
  menu.hidden = false;

  menu.addEventListener("click", () => {
    menu.setAttribute("aria-expanded", String(nav.classList.toggle("open")));
  });
  nav.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });

  let loading;
  const load = () => loading ??= fetch(indexURL).then((r) => r.json()).catch(() => { loading = undefined; return []; });
  query.addEventListener("focus", load);

  // Every word must be somewhere on the page; a title counts more than a
  // heading, a heading more than the text.
  const find = (pages, text) => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const found = [];
    for (const page of pages) {
      const body = page.b.toLowerCase(), title = page.t.toLowerCase();
      let score = 0, heading;
      for (const word of words) {
        const of = page.h.find((h) => h.t.toLowerCase().includes(word));
        if (title.includes(word)) score += 20;
        else if (of) { score += 8; heading ??= of; }
        else if (body.includes(word)) score += 1 + Math.min(4, body.split(word).length / 5);
        else { score = 0; break; }
      }
      if (score) found.push({ page, score, heading, at: body.indexOf(words[0]), word: words[0] });
    }
    return found.sort((a, b) => b.score - a.score).slice(0, 12);
  };

  const show = async () => {
    const text = query.value;
    const pages = await load();
    if (text !== query.value) return;
    const items = find(pages, text).map(({ page, heading, at, word }) => {
      const item = document.createElement("li"), link = document.createElement("a"), line = document.createElement("small");
      link.href = new URL(page.u + (heading ? "#" + heading.a : ""), indexURL);
      link.append(page.t + (heading ? " › " + heading.t : ""), line);
      if (at >= 0) {
        const hit = document.createElement("mark");
        hit.textContent = page.b.slice(at, at + word.length);
        line.append("… " + page.b.slice(Math.max(0, at - 50), at), hit, page.b.slice(at + word.length, at + 90) + " …");
      }
      item.append(link);
      return item;
    });
    if (!items.length && text.trim()) {
      const item = document.createElement("li");
      item.textContent = "No page has all of these words.";
      items.push(item);
    }
    results.replaceChildren(...items);
    results.hidden = !items.length;
  };
  query.addEventListener("input", show);
  form.addEventListener("submit", (e) => { e.preventDefault(); results.querySelector("a")?.click(); });
  form.addEventListener("keydown", (e) => {
    const links = [...results.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (e.key === "Escape") { results.hidden = true; query.focus(); }
    else if (e.key === "ArrowDown") { e.preventDefault(); links[Math.min(at + 1, links.length - 1)]?.focus(); }
    else if (e.key === "ArrowUp") { e.preventDefault(); at <= 0 ? query.focus() : links[at - 1].focus(); }
  });
  document.addEventListener("click", (e) => { if (!form.contains(e.target)) results.hidden = true; });
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && document.activeElement !== query && !e.ctrlKey && !e.metaKey) { e.preventDefault(); query.focus(); }
  });

  for (const pre of document.querySelectorAll("pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(pre.querySelector("code").textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select and copy";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    pre.append(button);
  }
})();
