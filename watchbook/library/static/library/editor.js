// The editor: a few commands on an editable element, saved by itself with the version it was made on.
"use strict";

(() => {
  const IDLE = 2500;
  const AGAIN = 5000;
  const KEPT = new Set("A B BLOCKQUOTE BR CODE DEL EM H1 H2 H3 H4 H5 H6 HR I LI OL P PRE S STRONG SUB SUP TABLE TBODY TD TH THEAD TR U UL".split(" "));
  const ATTRIBUTES = { A: ["href", "title"], TD: ["colspan", "rowspan"], TH: ["colspan", "rowspan"], OL: ["start"], CODE: ["class"] };
  const GONE = new Set("SCRIPT STYLE TEMPLATE IFRAME OBJECT HEAD TITLE META LINK".split(" "));

  const form = document.getElementById("editor");
  const text = document.getElementById("text");
  if (!form || !text) return;
  const title = document.querySelector(".title-input");
  const state = form.querySelector("[data-state]");
  const conflict = document.getElementById("conflict");
  const notSaved = document.getElementById("not-saved");
  const run = (name, value) => document.execCommand(name, false, value);
  run("defaultParagraphSeparator", "p");
  // The policy of the site forbids style attributes.
  run("styleWithCSS", false);

  // What is pasted keeps its structure and loses everything else; the server cleans once more.
  const plain = (node, doc, picture) => {
    if (node.nodeType === Node.TEXT_NODE) return doc.createTextNode(node.textContent);
    if (node.nodeType !== Node.ELEMENT_NODE || GONE.has(node.tagName)) return doc.createDocumentFragment();
    if (node.tagName === "IMG" || node.dataset.src) return picture(node, doc);
    const kept = KEPT.has(node.tagName) ? doc.createElement(node.tagName) : doc.createDocumentFragment();
    for (const name of ATTRIBUTES[node.tagName] || []) {
      if (node.hasAttribute(name)) kept.setAttribute(name, node.getAttribute(name));
    }
    for (const child of node.childNodes) kept.append(plain(child, doc, picture));
    return kept;
  };
  // Browsers put lists and tables into paragraphs, where no list or table may stand.
  const BLOCKS = "ul, ol, table, blockquote, pre, h1, h2, h3, h4, h5, h6, p, hr";
  const straight = (box) => {
    for (const block of box.querySelectorAll("p")) if (block.querySelector(BLOCKS)) block.replaceWith(...block.childNodes);
    return box.innerHTML;
  };
  const copied = (nodes, doc, picture) => {
    const box = doc.createElement("div");
    box.append(...[...nodes].map((node) => plain(node, doc, picture)));
    return straight(box);
  };
  const cleaned = (html, picture) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    return copied(page.body.childNodes, page, picture);
  };
  // A picture of another site is never asked for: here it is a token with its words, in what is saved it is a picture.
  const asToken = (node, doc) => {
    const token = doc.createElement("a");
    token.className = "far-image";
    token.contentEditable = "false";
    token.dataset.src = token.title = node.dataset.src || node.getAttribute("src") || "";
    token.textContent = node.getAttribute("alt") || node.textContent || token.title;
    return token;
  };
  const asPicture = (node, doc) => {
    const picture = doc.createElement("img");
    picture.setAttribute("src", node.dataset.src || node.getAttribute("src") || "");
    picture.setAttribute("alt", node.getAttribute("alt") || node.textContent);
    return picture;
  };
  const written = () => {
    const html = copied(text.childNodes, document.implementation.createHTMLDocument(""), asPicture);
    return html === "<br>" || html === "<p><br></p>" ? "" : html;
  };

  // Saving
  let isDirty = false;
  let isBusy = false;
  let isStopped = false;
  let isAsked = false;
  let timer = 0;
  const show = (tone, shape, words) => {
    state.className = `badge badge--${tone}`;
    const use = state.querySelector("use");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${shape}`));
    state.querySelector("span").textContent = words;
  };
  const later = (milliseconds) => {
    clearTimeout(timer);
    timer = setTimeout(() => save(true), milliseconds);
  };
  const changed = () => {
    if (!isDirty) show("warn", "s-hold", form.dataset.unsaved);
    isDirty = true;
    form.elements.content.value = written();
    if (!isStopped) later(IDLE);
  };
  // By itself, what follows is one version in the history; asked for, it stays one of its own, even if it is saved already.
  const save = async (byItself) => {
    if (!byItself) isAsked = true;
    if ((!isDirty && !isAsked) || isBusy || isStopped) return;
    const asked = isAsked;
    isBusy = true;
    isDirty = isAsked = false;
    const body = new FormData(form);
    if (!asked) body.set("auto", "1");
    body.set("content", written());
    body.set("title", title.value);
    let answer = null;
    try {
      answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" }, keepalive: body.get("content").length < 50000 });
    } catch {
      answer = null;
    }
    const told = answer && (await answer.json().catch(() => null));
    isBusy = false;
    if (answer?.ok && told) {
      form.elements.version.value = told.version;
      for (const place of document.querySelectorAll("[data-version-shown]")) place.textContent = told.version;
      for (const place of document.querySelectorAll("[data-saved-shown]")) place.innerHTML = told.when;
      for (const place of document.querySelectorAll("[data-by-shown]")) { place.textContent = told.by; place.hidden = !told.by; }
      for (const place of document.querySelectorAll("[data-words-shown]")) place.textContent = told.words;
      for (const place of document.querySelectorAll("[data-history]")) place.innerHTML = told.history;
      notSaved.hidden = true;
      if (isAsked) save();
      else if (isDirty) later(IDLE);
      else show("ok", "s-ok", told.saved);
      return;
    }
    isDirty = true;
    isAsked ||= asked;
    form.elements.content.value = written();
    refused(answer, told);
  };
  const refused = (answer, told) => {
    if (answer?.status === 409 && told?.error?.code === "version_conflict") {
      isStopped = true;
      const head = conflict.querySelector("[data-by]");
      if (told.error.by) head.textContent = head.dataset.by.replace("#", () => told.error.by);
      conflict.hidden = false;
      conflict.scrollIntoView({ block: "nearest" });
      show("warn", "s-hold", form.dataset.unsaved);
    } else if (told?.error && answer.status < 500) {
      // Wrong title, another release channel, a role that was taken away: the words say it, typing tries again.
      notSaved.querySelector("[data-words]").textContent = told.error.message;
      notSaved.hidden = false;
      show("warn", "s-hold", form.dataset.unsaved);
    } else {
      show("warn", "s-hold", form.dataset.lost);
      later(AGAIN);
    }
  };
  // The first line is a paragraph, too.
  text.addEventListener("focus", () => {
    if (text.childNodes.length) return;
    text.innerHTML = "<p><br></p>";
    getSelection().collapse(text.firstElementChild, 0);
  });
  text.addEventListener("input", changed);
  title.addEventListener("input", changed);
  title.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); text.focus(); }
  });
  form.addEventListener("submit", (event) => {
    form.elements.content.value = written();
    if (event.submitter?.hasAttribute("data-merge")) { isDirty = false; return; }
    event.preventDefault();
    save();
  });
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") save(true); });
  window.addEventListener("beforeunload", (event) => { if (isDirty || isBusy) event.preventDefault(); });
  text.addEventListener("blur", () => { if (isDirty && !isStopped) later(300); });

  // Commands
  const selected = () => {
    const selection = getSelection();
    const node = selection.rangeCount ? selection.anchorNode : null;
    return node && text.contains(node) ? (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement) : null;
  };
  const escaped = (words) => new Option(words).innerHTML.replaceAll('"', "&quot;");
  const isAddress = (words) => /^(https?:\/\/|mailto:)/i.test(words);
  const ask = (words, start) => (window.prompt(words, start) || "").trim();
  const commands = {
    link: () => {
      const known = selected()?.closest("a");
      const address = ask(form.dataset.askLink, known?.getAttribute("href") || "https://");
      if (!isAddress(address)) return;
      if (getSelection().isCollapsed && !known) run("insertHTML", `<a href="${escaped(address)}">${escaped(address)}</a>`);
      else run("createLink", address);
    },
    image: () => {
      const address = ask(form.dataset.askImage, "https://");
      if (!/^https?:\/\//i.test(address)) return;
      const alt = ask(form.dataset.askAlt, "") || address;
      run("insertHTML", cleaned(`<img data-src="${escaped(address)}" alt="${escaped(alt)}">`, asToken));
    },
    code: () => {
      const words = getSelection().toString();
      run("insertHTML", `<code>${escaped(words || "code")}</code>`);
    },
    quote: () => run("formatBlock", selected()?.closest("blockquote") ? "p" : "blockquote"),
    // By hand: the browser's own command tears a table apart when the cursor is in a list.
    table: () => {
      const row = (cell) => `<tr>${`<${cell}><br></${cell}>`.repeat(3)}</tr>`;
      const box = document.createElement("template");
      box.innerHTML = `<table><thead>${row("th")}</thead><tbody>${row("td")}${row("td")}</tbody></table><p><br></p>`;
      const cell = box.content.querySelector("th");
      let place = selected();
      while (place && place.parentElement !== text) place = place === text ? text.lastElementChild : place.parentElement;
      if (place) place.after(box.content);
      else text.append(box.content);
      getSelection().collapse(cell, 0);
    },
  };
  // The cursor stays in the text, after Save, too: the next letter would be lost, or be a shortcut of the page.
  form.querySelector(".toolbar").addEventListener("mousedown", (event) => { if (event.target.closest("button")) event.preventDefault(); });
  form.querySelector(".toolbar").addEventListener("click", (event) => {
    const button = event.target.closest("[data-command]");
    if (!button) return;
    if (!selected()) text.focus();
    const name = button.dataset.command;
    (commands[name] || (() => run(name)))();
    changed();
  });
  const block = form.querySelector("[data-block]");
  block.addEventListener("change", () => {
    text.focus();
    run("formatBlock", block.value);
    changed();
  });
  document.addEventListener("selectionchange", () => {
    const found = selected()?.closest("h1, h2, h3, pre, p, li");
    if (found) block.value = ["h1", "h2", "h3", "pre"].find((name) => name.toUpperCase() === found.tagName) || "p";
  });
  // In the title and beside the text, too, where the browser would offer to store the page as a file.
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey)) return;
    if (event.key === "s") { event.preventDefault(); save(); }
    if (event.key === "k" && text.contains(event.target)) { event.preventDefault(); commands.link(); changed(); }
  });
  text.addEventListener("paste", (event) => {
    const html = event.clipboardData.getData("text/html");
    if (!html) return;
    event.preventDefault();
    run("insertHTML", cleaned(html, asToken));
  });
  text.addEventListener("drop", (event) => event.preventDefault());
  text.addEventListener("click", (event) => {
    const address = event.target.closest("a")?.href || event.target.dataset?.src;
    if (address && (event.ctrlKey || event.metaKey)) window.open(address, "_blank", "noopener");
  });
})();
