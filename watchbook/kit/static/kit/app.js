// Comfort only: every page works without it. Keys, dialogs, toasts, copying, the theme at once, failures of htmx in the page.
"use strict";

(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const isTyping = (node) => node.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

  // Dialogs: any element with data-dialog="id" opens it; the browser gives the focus back when it closes.
  const openDialog = (id) => {
    const dialog = document.getElementById(id);
    if (!dialog || dialog.open) return false;
    dialog.showModal();
    dialog.querySelector("[autofocus], input:not([type=hidden]), select, textarea")?.focus();
    return true;
  };
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-dialog]");
    if (opener && openDialog(opener.dataset.dialog)) event.preventDefault();
    if (event.target.closest("[data-close]")) event.target.closest("dialog")?.close();
    if (event.target.matches("dialog")) event.target.close();
    for (const menu of all("details:is(.menu, .drop)[open]")) if (!menu.contains(event.target)) menu.open = false;
  });

  // After a sign-out no service worker stays in this browser.
  if (document.body.hasAttribute("data-signed-out")) {
    navigator.serviceWorker?.getRegistrations().then((found) => found.forEach((each) => each.unregister()));
  }

  // data-copy="id" copies a field or an element. Without https a browser has no clipboard; then what is selected is copied.
  const copy = async (button) => {
    const source = document.getElementById(button.dataset.copy);
    source.select ? source.select() : getSelection().selectAllChildren(source);
    const words = source.value ?? source.textContent.trim();
    const isCopied = await navigator.clipboard?.writeText(words).then(() => true, () => false);
    if (isCopied || document.execCommand("copy")) button.textContent = button.dataset.done;
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
  });

  // On a narrow screen the tab that one is on may be beyond the edge.
  for (const bar of all(".tabs")) {
    const [whole, here] = [bar, bar.querySelector("[aria-current]")].map((node) => node?.getBoundingClientRect());
    if (here) bar.scrollLeft += here.left + here.width / 2 - whole.left - whole.width / 2;
  }

  // Keys. Letters never act while somebody types, and never together with Ctrl, Alt or Meta.
  const ITEMS = ".mail, .log-item, .rows > li, .hits > li, .gallery > li, .table tbody tr, .diff-list > li, [data-item]";
  let marked = null;
  const mark = (step) => {
    const items = all(ITEMS, document.getElementById("main") || document).filter((item) => item.checkVisibility());
    if (!items.length) return;
    const at = items.indexOf(marked);
    const next = items[Math.min(items.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
    marked?.classList.remove("is-marked");
    marked = next;
    marked.classList.add("is-marked");
    marked.querySelector("a[href], button")?.focus({ preventScroll: true });
    marked.scrollIntoView({ block: "nearest" });
    marked.dispatchEvent(new CustomEvent("item-marked", { bubbles: true }));
  };
  // A page gives a letter to a link or button with data-key; a visible one comes before one in a closed menu.
  const press = (key) => {
    const given = all(`[data-key="${CSS.escape(key)}"]`).filter((node) => !node.closest("[hidden]"));
    const found = given.find((node) => node.checkVisibility()) ?? given[0];
    found?.click();
    return Boolean(found);
  };
  let waitsForPlace = 0;
  const keys = {
    "/": () => all("[data-key-search], [type=search]").find((field) => field.checkVisibility())?.focus(),
    "?": () => openDialog("keys"),
    j: () => mark(1),
    k: () => mark(-1),
    x: () => (marked?.closest(".log-pick") ?? marked)?.querySelector("[type=checkbox]")?.click(),
    g: () => { waitsForPlace = Date.now(); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (event.key === "Escape") {
      const menu = document.querySelector("details:is(.menu, .drop, .filter-sheet)[open]");
      if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
      return;
    }
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    if (Date.now() - waitsForPlace < 1500) {
      waitsForPlace = 0;
      const place = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (place) { event.preventDefault(); location.assign(place.href); return; }
    }
    if (Object.hasOwn(keys, event.key)) { event.preventDefault(); keys[event.key](); }
    else if (/^[a-z]$/.test(event.key) && press(event.key)) event.preventDefault();
  });

  // Toasts: eight seconds, longer while the pointer or the focus is on them. Never for failures.
  const toast = ({ text, undo }) => {
    const place = document.querySelector(".toasts");
    if (!place || !text) return;
    const box = document.createElement("div");
    box.className = "toast";
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "icon");
    svg.setAttribute("aria-hidden", "true");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    use.setAttribute("href", place.dataset.icon);
    svg.append(use);
    const words = document.createElement("span");
    words.textContent = text;
    box.append(svg, words);
    if (undo) {
      const button = document.createElement("button");
      button.className = "btn btn--small";
      button.textContent = place.dataset.undo;
      button.addEventListener("click", () => {
        box.remove();
        window.htmx?.ajax("POST", undo, { target: "body", swap: "none" }).then(() => location.reload());
      });
      box.append(button);
    }
    place.append(box);
    const leave = () => (box.matches(":hover, :focus-within") ? setTimeout(leave, 2000) : box.remove());
    setTimeout(leave, 8000);
  };
  document.addEventListener("toast", (event) => toast(event.detail || {}));

  // Selecting rows: the bar says how many, and offers nothing while there are none.
  const drawBulk = (bulk) => {
    const every = bulk.querySelector("[data-all]");
    const words = bulk.querySelector("[data-count]");
    if (!every) return;
    words.dataset.none ??= words.textContent;
    const boxes = all("[type=checkbox]:not([data-all])", bulk);
    const chosen = boxes.filter((box) => box.checked).length;
    const { none, one, many } = words.dataset;
    words.textContent = chosen === 0 ? none : chosen === 1 ? one : many.replace("#", chosen);
    every.checked = chosen > 0 && chosen === boxes.length;
    every.indeterminate = chosen > 0 && !every.checked;
    for (const button of all(".bulk .btn", bulk)) button.hidden = chosen === 0 && !button.matches("[data-always]");
  };
  const drawEveryBulk = () => all("[data-bulk]").forEach(drawBulk);
  document.addEventListener("change", (event) => {
    const bulk = event.target.closest("[data-bulk]");
    if (!bulk) return;
    if (event.target.matches("[data-all]")) {
      for (const box of all("[type=checkbox]:not([data-all])", bulk)) box.checked = event.target.checked;
    }
    drawBulk(bulk);
  });
  for (const name of ["bulk:drawn", "htmx:afterSwap", "DOMContentLoaded"]) document.addEventListener(name, drawEveryBulk);
  drawEveryBulk();

  // The address of a filtered list holds only the filters that are used.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches(".filter-bar")) return;
    const unused = [...event.target.elements].filter((field) => field.name && !field.value);
    for (const field of unused) field.disabled = true;
    setTimeout(() => unused.forEach((field) => { field.disabled = false; }));
  });

  // The theme changes at once; the form tells the server, which writes it into the next page.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-theme-form]") || !event.submitter) return;
    event.preventDefault();
    const data = new FormData(form, event.submitter);
    document.documentElement.dataset.theme = data.get("theme");
    fetch(form.action, { method: "POST", body: data, redirect: "manual" }).catch(() => form.submit());
    all(`[value="${data.get("theme") === "dark" ? "light" : "dark"}"]`, form).forEach((button) => button.focus());
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-autosubmit]")) event.target.form?.requestSubmit();
  });

  // htmx: an ended session leads to the sign-in page instead of drawing it inside the page; a failure is said in the page.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const signIn = document.body.dataset.signIn;
    const address = event.detail.xhr.responseURL;
    if (signIn && address && new URL(address).pathname === signIn && location.pathname !== signIn) {
      event.detail.shouldSwap = false;
      location.reload();
    }
  });
  const fail = (event) => {
    const notice = document.getElementById("failure");
    if (!notice) return;
    notice.querySelector("[data-request-id]").textContent = event.detail.xhr?.getResponseHeader("X-Request-ID") || "–";
    notice.hidden = false;
    notice.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("htmx:responseError", fail);
  document.addEventListener("htmx:sendError", fail);
  document.addEventListener("htmx:afterRequest", (event) => {
    const notice = document.getElementById("failure");
    if (notice && event.detail.successful) notice.hidden = true;
  });
})();
