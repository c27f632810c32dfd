// Saving: every few seconds with the version it was made on, on Ctrl+S, when the window is left.
import { form, title } from "./page.js";

const IDLE = 2500;
const AGAIN = 5000;

// `source` reads and shows the text: the editor, or the field of the Markdown view.
export class Saving {
  constructor(source) {
    Object.assign(this, { source, isDirty: false, isBusy: false, isStopped: false, isAsked: false, timer: 0, running: null });
    this.state = form.querySelector("[data-state]");
    this.conflict = document.getElementById("conflict");
    this.notSaved = document.getElementById("not-saved");
  }

  show(tone, shape, words) {
    this.state.className = `badge badge--${tone}`;
    const use = this.state.querySelector("use");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${shape}`));
    this.state.querySelector("span").textContent = words;
  }

  later(milliseconds) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(true), milliseconds);
  }

  changed() {
    if (!this.isDirty) this.show("warn", "s-hold", form.dataset.unsaved);
    this.isDirty = true;
    if (!this.isStopped) this.later(IDLE);
  }

  // By itself, what follows is one version in the history; asked for, it stays one of its own, even if it is saved already.
  save(byItself) {
    if (!byItself) this.isAsked = true;
    if ((!this.isDirty && !this.isAsked) || this.isBusy || this.isStopped) return this.running || Promise.resolve();
    this.running = this.#send().finally(() => (this.running = null));
    return this.running;
  }

  async #send() {
    const asked = this.isAsked;
    this.isBusy = true;
    this.isDirty = this.isAsked = false;
    const body = new FormData(form);
    if (!asked) body.set("auto", "1");
    const sent = this.source.read();
    body.set(this.source.field, sent);
    body.set("title", title.value);
    const mark = this.source.mark?.();
    let answer = null;
    try {
      answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" }, keepalive: sent.length < 50000 });
    } catch {
      answer = null;
    }
    const told = answer && (await answer.json().catch(() => null));
    this.isBusy = false;
    if (answer?.ok && told) this.#saved(told, sent, body.get("title"), mark);
    else {
      this.isDirty = true;
      this.isAsked ||= asked;
      this.fill();
      this.#refused(answer, told);
    }
  }

  #saved(told, sent, sentTitle, mark) {
    const isMerged = told.content !== undefined;
    const isNamed = title.value === sentTitle || told.title === sentTitle;
    const isShown = !isMerged || (isNamed && this.source.take(told, sent, mark));
    // What is on the screen follows from this version only if it shows what others wrote. Else the next save is on the old one.
    if (isShown) form.elements.version.value = told.version;
    if (isMerged && isShown && title.value === sentTitle) title.value = told.title;
    for (const place of document.querySelectorAll("[data-version-shown]")) place.textContent = told.version;
    for (const place of document.querySelectorAll("[data-saved-shown]")) place.innerHTML = told.when;
    for (const place of document.querySelectorAll("[data-by-shown]")) { place.textContent = told.by; place.hidden = !told.by; }
    for (const place of document.querySelectorAll("[data-words-shown]")) place.textContent = told.words;
    for (const place of document.querySelectorAll("[data-history]")) place.innerHTML = told.history;
    this.notSaved.hidden = true;
    if (this.isAsked) this.save();
    else if (this.isDirty) this.later(IDLE);
    else this.show("ok", "s-ok", told.saved);
  }

  #refused(answer, told) {
    if (answer?.status === 409 && told?.error?.code === "version_conflict") {
      this.isStopped = true;
      const head = this.conflict.querySelector("[data-by]");
      if (told.error.by) head.textContent = head.dataset.by.replace("#", () => told.error.by);
      this.conflict.hidden = false;
      this.conflict.scrollIntoView({ block: "nearest" });
      this.show("warn", "s-hold", form.dataset.unsaved);
    } else if (told?.error && answer.status < 500) {
      // Wrong title, another release channel, a role that was taken away: the words say it, typing tries again.
      this.notSaved.querySelector("[data-words]").textContent = told.error.message;
      this.notSaved.hidden = false;
      this.show("warn", "s-hold", form.dataset.unsaved);
    } else {
      this.show("warn", "s-hold", form.dataset.lost);
      this.later(AGAIN);
    }
  }

  // For the buttons that send the form itself.
  fill() {
    form.elements[this.source.field].value = this.source.read();
  }

  listen() {
    title.addEventListener("input", () => this.changed());
    title.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); this.source.focus(); }
    });
    form.addEventListener("submit", (event) => {
      this.fill();
      if (event.submitter?.hasAttribute("data-merge")) { this.isDirty = false; return; }
      event.preventDefault();
      this.save();
    });
    document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") this.save(true); });
    window.addEventListener("beforeunload", (event) => { if (this.isDirty || this.isBusy) event.preventDefault(); });
    // In the title and beside the text, too, where the browser would offer to store the page as a file.
    document.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); this.save(); }
    });
    for (const link of form.querySelectorAll("[data-view]")) {
      link.addEventListener("click", async (event) => {
        event.preventDefault();
        await this.save(true);
        location.assign(link.href);
      });
    }
  }
}
