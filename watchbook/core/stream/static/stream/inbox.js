// The inbox: j and k open entries in the pane, the bar counts what is selected, rows follow what was marked.
// Without it every link and button is a plain page load.
"use strict";

(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const isWide = () => matchMedia("(min-width: 64rem)").matches;
  const ids = (text) => (text || "").split(",").filter(Boolean);
  const pane = () => document.getElementById("read");
  const rows = () => all(".mail");
  const linkOf = (row) => row.querySelector(".mail-line > a");

  // Only the newest request may write the pane, whether a key or a click sent it: j, j, j must not end on the slowest
  // response, nor may the entry that opens by itself replace the one that was clicked.
  let opening = 0;
  const open = (row) => {
    const link = linkOf(row);
    const turn = ++opening;
    history.replaceState(history.state, "", link.href);
    fetch(link.href, { headers: { "HX-Request": "true", "HX-Target": "read" }, credentials: "same-origin" })
      .then((response) => (response.ok && !response.redirected ? response.text() : Promise.reject(response)))
      .then((text) => {
        if (turn !== opening) return;
        const made = new DOMParser().parseFromString(text, "text/html").getElementById("read");
        pane().replaceWith(made);
        window.htmx?.process(made);
        showOpened();
      })
      .catch(() => { if (turn === opening) location.assign(link.href); });
  };

  const showOpened = () => {
    const article = pane();
    if (!article?.dataset.entry) return;
    for (const row of rows()) {
      const isOpen = ids(row.dataset.ids).includes(article.dataset.entry);
      isOpen ? row.setAttribute("aria-current", "true") : row.removeAttribute("aria-current");
    }
    const steps = article.querySelector("[data-steps]");
    if (steps) steps.hidden = rows().length < 2;
  };

  const step = (by) => {
    const list = rows();
    const at = list.findIndex((row) => row.hasAttribute("aria-current"));
    const next = list[Math.min(list.length - 1, Math.max(0, at + by))];
    if (next && list.indexOf(next) !== at) { open(next); next.scrollIntoView({ block: "nearest" }); }
  };

  // What is selected
  const showSelection = () => {
    const bar = document.getElementById("bulk");
    if (!bar) return;
    const boxes = all(".mail > [name=ids]");
    const count = boxes.filter((box) => box.checked).length;
    const words = bar.querySelector("[data-selected]");
    words.textContent = count ? `${count} ${words.dataset.some}` : words.dataset.none;
    bar.classList.toggle("panes-bar--on", count > 0);
    bar.querySelector("[data-bulk]").hidden = !count;
    const whole = bar.querySelector("[data-select-all]");
    whole.checked = count > 0 && count === boxes.length;
    whole.indeterminate = count > 0 && count < boxes.length;
  };
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-select-all]")) {
      for (const box of all(".mail > [name=ids]")) box.checked = event.target.checked;
    }
    if (event.target.matches("[data-select-all], .mail > [name=ids]")) showSelection();
  });

  // Saving opens another page, so that it is a plain submit.
  document.addEventListener("htmx:confirm", (event) => {
    const button = event.detail.triggeringEvent?.submitter;
    if (event.target.id === "bulk" && button?.value === "save") {
      event.preventDefault();
      const act = document.createElement("input");
      Object.assign(act, { type: "hidden", name: "act", value: "save" });
      event.target.append(act);
      event.target.submit();
    }
  });

  // The server says which entries changed and how many are unread now.
  document.addEventListener("marked", (event) => {
    const { ids: changed, read, unread } = event.detail;
    const set = new Set(changed.map(String));
    for (const row of rows()) {
      const own = ids(row.dataset.ids).filter((id) => set.has(id));
      if (!own.length) continue;
      const before = new Set(ids(row.dataset.unread));
      for (const id of own) read ? before.delete(id) : before.add(id);
      row.dataset.unread = [...before].join(",");
      row.classList.toggle("mail--new", before.size > 0);
      const word = row.querySelector("[data-word]");
      if (word) word.hidden = !before.size;
    }
    const article = pane();
    if (set.has(article?.dataset.entry)) {
      article.querySelector("[data-mark] [value=read]").hidden = read;
      article.querySelector("[data-mark] [value=unread]").hidden = !read;
    }
    for (const box of all(".mail > [name=ids]:checked")) box.checked = false;
    showSelection();
    for (const count of all("[data-unread-count]")) {
      count.textContent = unread.count;
      count.hidden = count.classList.contains("count") && unread.count === "0";
    }
    const words = document.getElementById("inbox-unread");
    if (words) words.textContent = unread.words;
  });

  document.addEventListener("item-marked", (event) => {
    if (event.target.matches(".mail") && isWide()) open(event.target);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-step]");
    if (button) step(Number(button.dataset.step));
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.target.id === "read") opening += 1;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "read") return;
    showOpened();
    if (!isWide()) { scrollTo(0, 0); document.getElementById("read-title")?.focus({ preventScroll: true }); }
  });

  showSelection();
  showOpened();
  const [first] = rows();
  if (isWide() && first && !pane()?.dataset.entry) {
    const here = location.href;
    open(first);
    history.replaceState(history.state, "", here);
  }
})();
