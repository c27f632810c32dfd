// Pictures and files by paste, drop and choice: a card with the progress stands in the text until the server has them.
import { Extension } from "@tiptap/core";
import { Plugin, PluginKey } from "@tiptap/pm/state";
import { Decoration, DecorationSet } from "@tiptap/pm/view";
import { csrf, icon, made, place, words } from "./page.js";

const key = new PluginKey("uploads");
const size = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

// On which side text that is inserted there comes: the card moves with the words before it.
const widget = (at, { id, card }, side = 1) => Decoration.widget(at, card, { id, card, side, stopEvent: () => true, ignoreSelection: true });

export class Uploads {
  constructor() {
    this.count = 0;
    this.input = made("input", { type: "file", hidden: "", multiple: "" });
    this.input.addEventListener("change", () => {
      this.start([...this.input.files]);
      this.input.value = "";
    });
    document.body.append(this.input);
  }

  choose(accept) {
    if (accept) this.input.setAttribute("accept", accept);
    else this.input.removeAttribute("accept");
    this.input.click();
  }

  start(files, at = this.editor.state.selection.to) {
    for (const file of files) this.#send(file, at);
    return files.length > 0;
  }

  #send(file, at) {
    const id = (this.count += 1);
    const card = made("div", { class: "upload", role: "status", contenteditable: "false" });
    const name = made("strong", {}, file.name || words.picture);
    const bar = made("progress", { class: "bar", max: file.size || 1, value: 0, "aria-label": file.name });
    const line = made("p", {}, words.uploading);
    const stop = made("button", { type: "button", class: "btn btn--quiet btn--icon btn--small", "aria-label": words.cancel });
    const holder = made("div");
    holder.append(name, bar, line);
    stop.append(icon("close"));
    card.append(icon("image"), holder, stop);
    const { view } = this.editor;
    view.dispatch(view.state.tr.setMeta(key, { add: { id, at, card } }));
    const request = new XMLHttpRequest();
    const finish = () => view.dispatch(view.state.tr.setMeta(key, { remove: id }));
    stop.addEventListener("click", () => (request.abort(), finish()));
    request.upload.addEventListener("progress", (event) => {
      bar.value = event.loaded;
      line.textContent = `${size(event.loaded)} / ${size(event.total)}`;
    });
    request.addEventListener("loadend", () => {
      if (request.status === 0 && request.statusText === "" && !card.isConnected) return;
      const given = readJson(request.responseText);
      if (request.status === 201 && given?.url) {
        this.#put(id, given);
        finish();
      } else {
        card.classList.add("upload--bad");
        card.setAttribute("role", "alert");
        name.textContent = words.notUploaded.replace("#", () => file.name);
        line.textContent = given?.error?.message || words.failed;
        bar.remove();
      }
    });
    const body = new FormData();
    body.set("csrfmiddlewaretoken", csrf());
    body.set("file", file, file.name || "picture.png");
    request.open("POST", place.files);
    request.setRequestHeader("Accept", "application/json");
    request.send(body);
  }

  // The card has moved with the text around it.
  #put(id, given) {
    const { state, view } = this.editor;
    const [mark] = key.getState(state).find(undefined, undefined, (spec) => spec.id === id);
    if (!mark) return;
    const { schema, tr } = state;
    if (given.type.startsWith("image/") && given.width) {
      const figure = schema.nodes.figure.create({ src: given.url, alt: "" });
      const $at = tr.doc.resolve(mark.from);
      // The line of a file that was chosen before this one and is still on its way stays.
      const isFirst = !key.getState(state).find(mark.from, mark.from, (spec) => spec.id < id).length;
      const isEmptyLine = isFirst && $at.parent.type.name === "paragraph" && $at.parent.content.size === 0;
      const spot = isEmptyLine ? $at.before() : $at.depth ? $at.after(1) : mark.from;
      if (isEmptyLine) tr.replaceWith(spot, $at.after(), figure);
      else tr.insert(spot, figure);
      // Files that were chosen after this one come below it, whichever is uploaded first.
      tr.setMeta(key, { behind: { id, from: mark.from, at: spot + figure.nodeSize } });
    } else {
      const link = schema.marks.link.create({ href: given.url, "data-file": given.id });
      tr.insert(mark.from, schema.text(given.name, [link]));
    }
    view.dispatch(tr);
  }

  extension() {
    const owner = this;
    return Extension.create({
      name: "uploads",
      onCreate() {
        owner.editor = this.editor;
      },
      addProseMirrorPlugins: () => [
        new Plugin({
          key,
          state: {
            init: () => DecorationSet.empty,
            apply: (tr, before) => {
              const told = tr.getMeta(key);
              const later = told?.behind ? before.find(told.behind.from, told.behind.from, (spec) => spec.id > told.behind.id) : [];
              let set = before.remove([...later]).map(tr.mapping, tr.doc).add(tr.doc, later.map(({ spec }) => widget(told.behind.at, spec, -1)));
              if (told?.add) set = set.add(tr.doc, [widget(told.add.at, told.add)]);
              if (told?.remove) set = set.remove(set.find(undefined, undefined, (spec) => spec.id === told.remove));
              return set;
            },
          },
          props: {
            decorations: (state) => key.getState(state),
            handlePaste: (_view, event) => {
              const files = [...(event.clipboardData?.files || [])];
              // Word and Excel put a picture of the text beside the text.
              if (!files.length || event.clipboardData.getData("text/html").includes("<table")) return false;
              if (event.clipboardData.getData("text/plain").trim()) return false;
              return owner.start(files);
            },
            handleDrop: (view, event) => {
              const files = [...(event.dataTransfer?.files || [])];
              if (!files.length) return false;
              event.preventDefault();
              const at = view.posAtCoords({ left: event.clientX, top: event.clientY })?.pos;
              return owner.start(files, at);
            },
          },
        }),
      ],
    });
  }
}

const readJson = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};
