// Around the pages of a space: dialogs that are filled when they open, selecting rows.
"use strict";

(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const part = async (address) => {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    return answer.text();
  };

  // New folder, new file: one dialog, told what it makes and where.
  const openNew = (kind, parent) => {
    const dialog = document.getElementById("new-page");
    if (!dialog) return;
    const form = dialog.querySelector("form");
    form.elements.node_type.value = kind;
    form.elements.parent.value = parent;
    form.elements.title.value = "";
    for (const words of all("[data-folder]", dialog)) words.textContent = words.dataset[kind];
    for (const part of all("[data-only-file]", dialog)) part.hidden = kind !== "file";
    dialog.showModal();
    form.elements.title.focus();
  };

  // Move to…: asked of the server for exactly the pages that are to be moved.
  const openMove = async (ids) => {
    const dialog = document.getElementById("move-dialog");
    const space = document.getElementById("tree")?.dataset.space;
    if (!dialog || !space || !ids.length) return;
    const asked = new URLSearchParams(ids.map((id) => ["page", id]));
    asked.set("part", "dialog");
    dialog.innerHTML = await part(`/library/spaces/${space}/targets/?${asked}`);
    if (!dialog.open) dialog.showModal();
    dialog.querySelector("[data-find]").focus();
  };

  const targetsAddress = (form, more) => {
    const asked = new URLSearchParams(all("[name=page]", form).map((field) => ["page", field.value]));
    asked.set("part", "list");
    const to = form.elements.to?.value;
    if (to) asked.set("to", to);
    for (const [name, value] of Object.entries(more)) asked.set(name, value);
    return `${form.dataset.targets}?${asked}`;
  };
  const toggle = async (opener) => {
    const item = opener.closest("li");
    const known = item.querySelector(":scope > ul");
    const isOpen = opener.getAttribute("aria-expanded") === "true";
    const use = opener.querySelector("use");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, isOpen ? "#right" : "#down"));
    opener.setAttribute("aria-expanded", String(!isOpen));
    if (known) { known.hidden = isOpen; return; }
    const box = document.createElement("template");
    box.innerHTML = await part(targetsAddress(opener.form, { below: opener.dataset.below }));
    item.append(box.content.querySelector("ul"));
  };

  document.addEventListener("click", (event) => {
    const maker = event.target.closest("[data-new]");
    if (maker) openNew(maker.dataset.new, maker.dataset.parent);
    const mover = event.target.closest("[data-move]");
    if (mover) {
      event.preventDefault();
      const ids = mover.dataset.move ? [mover.dataset.move] : all("[name=page]:checked", mover.form).map((box) => box.value);
      mover.closest("details")?.removeAttribute("open");
      openMove(ids);
    }
    const opener = event.target.closest("[data-below]");
    if (opener) { event.preventDefault(); toggle(opener); }
    for (const menu of all("details.menu-box[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const menu of all("details.menu-box[open]")) { menu.open = false; menu.querySelector("summary").focus(); }
    // In a list of places the right arrow opens, the left one closes; up and down are the browser's own.
    const radio = event.target.closest?.(".targets [type=radio]");
    if (radio && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
      event.preventDefault();
      const opener = radio.closest("label").querySelector("[data-below]");
      if (opener && (opener.getAttribute("aria-expanded") === "true") !== (event.key === "ArrowRight")) toggle(opener);
    }
    if (event.target.matches?.("[data-find]") && event.key === "ArrowDown") {
      event.preventDefault();
      const first = event.target.form.querySelector(".targets [type=radio]:not(:disabled)");
      first?.focus();
      first?.click();
    }
    if (event.target.matches?.("[data-find]") && event.key === "Enter") event.preventDefault();
  });

  let waiting = 0;
  document.addEventListener("input", (event) => {
    const field = event.target;
    if (!field.matches("[data-find]")) return;
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      field.form.querySelector("[data-list]").innerHTML = await part(targetsAddress(field.form, { q: field.value }));
    }, 200);
  });
  document.addEventListener("change", async (event) => {
    const field = event.target;
    if (field.matches("[data-to]")) {
      field.form.elements.to.value = field.value;
      field.form.querySelector("[data-list]").innerHTML = await part(targetsAddress(field.form, {}));
    }
    if (field.matches(".targets [type=radio]")) {
      const button = field.form.querySelector("[data-named]");
      if (button) button.textContent = button.dataset.named.replace("#", () => field.dataset.title);
    }
  });

  document.addEventListener("library:drawn", () => document.dispatchEvent(new Event("bulk:drawn")));
})();
