// The tree: opens without leaving the page, walks by keys, and takes pages by drag and drop.
"use strict";

(() => {
  const OPEN_AFTER = 600;
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const tree = () => document.getElementById("tree");
  if (!tree()) return;
  const token = () => JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];
  const rows = () => all(".tree-row", tree()).filter((row) => row.checkVisibility());
  const itemOf = (row) => row.closest("li[data-page]");
  const isOpen = (row) => row.getAttribute("aria-expanded") === "true";

  const part = async (address) => {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    const box = document.createElement("template");
    box.innerHTML = await answer.text();
    prepare(box.content);
    return box.content;
  };

  const setOpen = async (row, open) => {
    if (!row.hasAttribute("aria-expanded") || isOpen(row) === open) return;
    const item = itemOf(row);
    row.setAttribute("aria-expanded", String(open));
    row.querySelector("use").setAttribute("href", open ? tree().dataset.down : tree().dataset.right);
    let list = item.querySelector(":scope > ul");
    if (open && !list) {
      list = document.createElement("ul");
      list.append(await part(`/library/pages/${item.dataset.page}/tree/`));
      item.append(list);
    }
    if (list) list.hidden = !open;
  };

  document.addEventListener("click", async (event) => {
    const more = event.target.closest("[data-more]");
    if (more) {
      event.preventDefault();
      more.closest("li").replaceWith(await part(more.dataset.more));
      return;
    }
    const row = event.target.closest("#tree .tree-row[aria-expanded]");
    // The arrow opens and closes; the words lead to the page.
    if (row && event.clientX <= row.querySelector(".icon").getBoundingClientRect().right + 2 && event.detail) {
      event.preventDefault();
      setOpen(row, !isOpen(row));
    }
  });

  // Keys: arrows walk and open, Home and End, letters find, F2 renames. Enter is the link's own.
  let typed = "";
  let typedAt = 0;
  const byLetters = (key) => {
    typed = Date.now() - typedAt < 800 ? typed + key : key;
    typedAt = Date.now();
    return rows().find((row) => row.textContent.trim().toLowerCase().startsWith(typed.toLowerCase()));
  };
  const rename = (row) => {
    const item = itemOf(row);
    const title = document.querySelector(".title-input");
    if (row.hasAttribute("aria-current") && title) { title.focus(); title.select(); return; }
    const dialog = document.getElementById("rename-page");
    if (!dialog || !item) return;
    dialog.querySelector("form").action = `/library/pages/${item.dataset.page}/rename/`;
    const field = dialog.querySelector("[name=title]");
    field.value = row.textContent.trim();
    dialog.showModal();
    field.select();
  };
  document.addEventListener("keydown", (event) => {
    const row = event.target.closest?.("#tree .tree-row");
    if (!row || event.ctrlKey || event.altKey || event.metaKey) return;
    const list = rows();
    const at = list.indexOf(row);
    const above = itemOf(row)?.parentElement.closest("li[data-page]")?.querySelector(".tree-row");
    const steps = {
      ArrowDown: () => list[at + 1]?.focus(),
      ArrowUp: () => list[at - 1]?.focus(),
      Home: () => list[0].focus(),
      End: () => list.at(-1).focus(),
      ArrowRight: () => (row.hasAttribute("aria-expanded") ? (isOpen(row) ? list[at + 1]?.focus() : setOpen(row, true)) : null),
      ArrowLeft: () => (isOpen(row) ? setOpen(row, false) : above?.focus()),
      F2: () => rename(row),
    };
    const step = steps[event.key];
    if (step) { event.preventDefault(); event.stopPropagation(); step(); return; }
    if (event.key.length === 1 && /[\p{L}\p{N}]/u.test(event.key)) {
      const found = byLetters(event.key);
      // Letters belong to the tree while the focus is in it.
      event.stopPropagation();
      found?.focus();
    }
  }, true);

  // Drag and drop: the middle of a row is "into it", its edges are "before" and "behind". The server decides.
  let dragged = null;
  let hovered = null;
  let opensAt = 0;
  const MARKS = ["tree-row--drop", "tree-row--before", "tree-row--after"];
  const unmark = () => {
    hovered?.classList.remove(...MARKS);
    hovered = null;
    clearTimeout(opensAt);
  };
  const zone = (row, y) => {
    const box = row.getBoundingClientRect();
    const share = (y - box.top) / box.height;
    return share < 0.25 ? "before" : share > 0.75 ? "after" : "drop";
  };
  const kindOf = (item) => item?.dataset.kind || "top";
  const allows = (parent, child) => (parent === "file" ? child === "file" : parent === "folder" || child === "folder" || !tree().hasAttribute("data-folders"));
  const fits = (target, where) => {
    if (dragged.contains(target)) return false;
    const parent = where === "drop" ? target : target.parentElement.closest("li[data-page]");
    return allows(kindOf(parent), dragged.dataset.kind);
  };
  document.addEventListener("dragstart", (event) => {
    const row = event.target.closest?.("#tree[data-movable] li[data-page] > .tree-row");
    if (!row) return;
    dragged = itemOf(row);
    dragged.classList.add("is-dragged");
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", row.textContent.trim());
  });
  document.addEventListener("dragover", (event) => {
    const row = dragged && event.target.closest?.("#tree li[data-page] > .tree-row");
    if (!row) { unmark(); return; }
    const where = zone(row, event.clientY);
    if (row !== hovered) {
      unmark();
      hovered = row;
      opensAt = setTimeout(() => setOpen(row, true), OPEN_AFTER);
    }
    row.classList.remove(...MARKS);
    if (!fits(itemOf(row), where)) return;
    row.classList.add(`tree-row--${where}`);
    event.preventDefault();
    event.dataTransfer.dropEffect = "move";
  });
  document.addEventListener("drop", (event) => {
    const row = dragged && event.target.closest?.("#tree li[data-page] > .tree-row");
    if (!row) return;
    event.preventDefault();
    const target = itemOf(row);
    const where = zone(row, event.clientY);
    if (fits(target, where)) drop(dragged, target, where);
  });
  document.addEventListener("dragend", () => {
    dragged?.classList.remove("is-dragged");
    dragged = null;
    unmark();
  });

  const drop = async (item, target, where) => {
    const parent = where === "drop" ? target : target.parentElement.closest("li[data-page]");
    const body = new URLSearchParams({ parent: parent?.dataset.page || "" });
    if (where !== "drop") body.set(where, target.dataset.page);
    const answer = await fetch(`/library/pages/${item.dataset.page}/move/`, {
      method: "POST", body, headers: { Accept: "application/json", "X-CSRFToken": token() },
    }).catch(() => null);
    const told = answer && (await answer.json().catch(() => null));
    if (!answer?.ok || !told) { refuse(told?.error?.message || ""); return; }
    await refresh(where === "drop" ? target.dataset.page : "");
    document.body.dispatchEvent(new CustomEvent("toast", { detail: told, bubbles: true }));
  };
  const refuse = (words) => {
    const box = document.getElementById("refusal")?.content.cloneNode(true);
    if (!box) return;
    document.getElementById("refused-move")?.remove();
    box.querySelector("[data-words]").textContent = words;
    box.querySelector(".notice").id = "refused-move";
    document.querySelector(".space-main .page-head").after(box);
  };

  // After a move the tree, and the list where one is shown, are asked for again; what was open is opened again.
  const refresh = async (also) => {
    const opened = all("[aria-expanded=true]", tree()).map((row) => itemOf(row).dataset.page);
    if (also) opened.push(also);
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const places = document.getElementById("editor") ? ["tree"] : ["tree", "space"];
    for (const id of places) {
      const fresh = page.getElementById(id);
      if (fresh) document.getElementById(id).replaceWith(document.adoptNode(fresh));
    }
    prepare(tree());
    for (const id of opened) {
      const row = tree().querySelector(`li[data-page="${id}"] > .tree-row`);
      if (row) await setOpen(row, true);
    }
    document.dispatchEvent(new Event("library:drawn"));
  };

  const prepare = (root) => {
    for (const row of all("li[data-page] > .tree-row", root)) row.draggable = tree().hasAttribute("data-movable");
  };
  prepare(tree());
  tree().querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
})();
