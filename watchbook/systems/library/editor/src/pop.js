// A list that opens at a place of the text: the keyboard chooses in it while the cursor stays where it is.
import { icon, made, words } from "./page.js";

let count = 0;

// Below a place of the text, above it where there is no room. The style object is not the style attribute: the policy of
// the site allows it.
export const put = (dom, rect) => {
  const height = dom.offsetHeight;
  const isAbove = rect.bottom + height > window.innerHeight && rect.top > height + 60;
  const top = isAbove ? rect.top - height - 6 : rect.bottom + 6;
  const left = Math.max(8, Math.min(rect.left, document.documentElement.clientWidth - dom.offsetWidth - 8));
  dom.style.top = `${top + window.scrollY}px`;
  dom.style.left = `${left + window.scrollX}px`;
};

export class Pop {
  constructor(owner, { label, role = "listbox" }) {
    this.owner = owner;
    this.role = role;
    this.dom = made("div", { class: "pop", role, "aria-label": label, id: `pop-${(count += 1)}` });
    this.dom.addEventListener("mousedown", (event) => event.preventDefault());
    this.items = [];
    this.at = 0;
  }

  get isOpen() {
    return this.dom.isConnected;
  }

  show(items, rect, foot = []) {
    this.items = items;
    this.at = 0;
    const rows = [];
    let group = "";
    for (const [place, item] of items.entries()) {
      if (item.group && item.group !== group) rows.push(made("p", { class: "pop-group" }, (group = item.group)));
      if (item.apart) rows.push(made("hr"));
      rows.push(this.#row(item, place));
    }
    if (foot.length) rows.push(this.#foot(foot));
    this.dom.replaceChildren(...rows);
    if (!this.isOpen) document.body.append(this.dom);
    put(this.dom, rect);
    this.#mark();
  }

  #row(item, place) {
    const name = this.role === "menu" ? "menuitem" : "option";
    const row = made("button", { type: "button", class: `pop-item${item.danger ? " pop-item--danger" : ""}`, role: name, tabindex: "-1", id: `${this.dom.id}-${place}` });
    if (item.icon) row.append(icon(item.icon));
    const words = made("span", {}, item.title);
    if (item.note) words.append(made("small", {}, item.note));
    row.append(words);
    if (item.key) row.append(made("kbd", {}, item.key));
    row.addEventListener("click", () => this.choose(place));
    return row;
  }

  #foot(parts) {
    const foot = made("p", { class: "pop-foot" });
    for (const [keys, words] of parts) {
      const part = made("span");
      for (const key of keys) part.append(made("kbd", {}, key), " ");
      part.append(words);
      foot.append(part);
    }
    return foot;
  }

  #mark() {
    for (const [place, row] of this.dom.querySelectorAll(".pop-item").entries()) {
      row.setAttribute("aria-selected", String(place === this.at));
      if (place === this.at) row.scrollIntoView({ block: "nearest" });
    }
    this.owner?.setAttribute("aria-activedescendant", `${this.dom.id}-${this.at}`);
    this.owner?.setAttribute("aria-controls", this.dom.id);
  }

  // True if the key was for the list.
  press(event) {
    if (!this.isOpen || !this.items.length) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      this.at = (this.at + step + this.items.length) % this.items.length;
      this.#mark();
      return true;
    }
    if (event.key !== "Enter" && event.key !== "Tab") return false;
    this.choose(this.at);
    return true;
  }

  choose(place) {
    const item = this.items[place];
    this.close();
    item?.run();
  }

  close() {
    this.dom.remove();
    this.owner?.removeAttribute("aria-activedescendant");
    this.owner?.removeAttribute("aria-controls");
  }
}

// A menu of a button: it takes the focus, Escape and a click elsewhere close it.
export const menuAt = (button, label, items, back) => {
  const menu = new Pop(null, { label, role: "menu" });
  const close = () => {
    menu.close();
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("keydown", onKey, true);
    document.removeEventListener("mousedown", onDown, true);
  };
  const onKey = (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      close();
      back();
    } else if (menu.press(event)) {
      event.preventDefault();
      event.stopPropagation();
      if (!menu.isOpen) close();
    } else if (event.key.length === 1) close();
  };
  const onDown = (event) => {
    if (!menu.dom.contains(event.target)) close();
  };
  button.setAttribute("aria-expanded", "true");
  menu.show(items.map((item) => ({ ...item, run: () => (close(), item.run()) })), button.getBoundingClientRect());
  document.addEventListener("keydown", onKey, true);
  document.addEventListener("mousedown", onDown, true);
};

// A field for one line at a place of the text. `apply` returns what is wrong with the line, or nothing.
export const fieldAt = (rect, { label, value, hint = "" }, apply, back) => {
  const form = made("form", { class: "pop pop--field", novalidate: "" });
  const field = made("input", { class: "input", value, placeholder: hint, autocomplete: "off", "aria-label": label });
  const wrong = made("p", { class: "pop-wrong", role: "alert" });
  const line = made("div", { class: "pop-line" });
  line.append(field, made("button", { class: "btn btn--small btn--primary" }, words.apply));
  form.append(made("p", { class: "pop-group" }, label), line, wrong);
  const close = () => {
    form.remove();
    document.removeEventListener("mousedown", onDown, true);
  };
  const onDown = (event) => {
    if (!form.contains(event.target)) close();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    wrong.textContent = apply(field.value.trim()) || "";
    if (!wrong.textContent) close();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    close();
    back();
  });
  document.addEventListener("mousedown", onDown, true);
  document.body.append(form);
  put(form, rect);
  field.select();
};
