// Links in the text: a bubble at the one with the cursor, a field for its address, and the mark of broken ones.
import { Extension, getMarkRange } from "@tiptap/core";
import { Plugin, PluginKey } from "@tiptap/pm/state";
import { Decoration, DecorationSet } from "@tiptap/pm/view";
import { isOurs } from "./blocks.js";
import { icon, made, place, typing, words } from "./page.js";
import { fieldAt, put } from "./pop.js";

const ADDRESS = /^(https?:\/\/|(mailto|tel|obsidian|zotero):|\/(?!\/)|#)/i;
const HOST = /^[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)+(:\d+)?([/?#]\S*)?$/u;
const MAIL = /^[^\s@/]+@[^\s@/]+\.[^\s@/]+$/;

// What was typed as an address; empty if it is none.
const addressOf = (given) => {
  if (ADDRESS.test(given)) return given;
  if (MAIL.test(given)) return `mailto:${given}`;
  return HOST.test(given) ? `https://${given}` : "";
};

// The link around the cursor, or the one that is selected.
const linkAt = ({ doc, schema, selection: { $from, empty, from, to } }) => {
  const range = getMarkRange($from, schema.marks.link) || (empty ? null : getMarkRange(doc.resolve(from + 1), schema.marks.link));
  if (!range || range.to < to) return null;
  const { attrs } = doc.nodeAt(range.from).marks.find((mark) => mark.type.name === "link");
  return { ...range, attrs };
};

const setLink = (editor, address, line = address) => {
  const link = linkAt(editor.state);
  const { empty, from } = editor.state.selection;
  const chain = typing(editor);
  if (link) chain.setTextSelection({ from: link.from, to: link.to });
  if (!address) chain.unsetLink();
  else if (empty && !link) chain.insertContent({ type: "text", text: line, marks: [{ type: "link", attrs: { href: address } }] });
  else chain.setLink({ href: address, "data-page": null, "data-file": null });
  // The next letter would replace the words of the link.
  if (link) chain.setTextSelection(from);
  chain.run();
};

export const askLink = (editor) => {
  const { state, view } = editor;
  const link = linkAt(state);
  const apply = (line) => {
    const address = addressOf(line);
    if (line && !address) return words.badLink;
    setLink(editor, address, line);
    return "";
  };
  const given = { label: words.askLink, value: link?.attrs.href || "", hint: "https://" };
  fieldAt(view.coordsAtPos(link?.from ?? state.selection.from), given, apply, () => typing(editor).run());
};

const button = (name, label, run) => {
  const dom = made("button", { type: "button", class: "btn btn--quiet btn--icon btn--small", "aria-label": label, title: label });
  dom.append(icon(name));
  dom.addEventListener("click", run);
  return dom;
};

class Bubble {
  constructor(editor, leave) {
    this.leave = leave;
    this.dom = made("div", { class: "bubble bubble--link", role: "group", "aria-label": words.link });
    this.address = made("a", { class: "btn btn--quiet btn--small", rel: "noopener" });
    this.dom.append(
      this.address,
      button("edit", words.editLink, () => (this.hide(), askLink(editor))),
      button("close", words.removeLink, () => setLink(editor, "")),
    );
    // The cursor stays in the text.
    this.dom.addEventListener("mousedown", (event) => event.preventDefault());
    this.address.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || !this.isPage) return;
      event.preventDefault();
      this.open();
    });
  }

  update(view) {
    const { empty, from } = view.state.selection;
    const link = view.hasFocus() && empty ? linkAt(view.state) : null;
    // Behind its last letter only after a click: who writes on needs no bubble.
    if (!link || (from === link.to && !this.isClicked)) return this.hide();
    const { href, "data-file": file } = link.attrs;
    this.isPage = isOurs(href) && !file;
    this.address.setAttribute("href", href);
    this.address.target = this.isPage || href.startsWith("#") ? "" : "_blank";
    this.address.title = href;
    const shown = this.isPage ? words.openPage : href.replace(/^https?:\/\//, "");
    this.address.replaceChildren(icon(this.isPage ? "file" : "external"), made("span", {}, shown));
    if (!this.dom.isConnected) document.body.append(this.dom);
    put(this.dom, view.coordsAtPos(link.from));
  }

  // What was written is saved first; else the browser would ask whether to leave.
  open() {
    if (this.isPage) this.leave(this.address.href);
    else this.address.click();
  }

  hide() {
    this.dom.remove();
  }

  destroy() {
    this.hide();
  }
}

const broken = new Set((place.broken || "").split(" ").filter(Boolean));
const marked = (doc) => {
  const found = [];
  doc.descendants((node, position) => {
    const link = node.marks.find((mark) => mark.type.name === "link");
    if (broken.has(link?.attrs["data-page"])) found.push(Decoration.inline(position, position + node.nodeSize, { class: "broken-link", title: words.brokenLink }));
  });
  return DecorationSet.create(doc, found);
};

export const Links = (leave) =>
  Extension.create({
    name: "links",
    addProseMirrorPlugins() {
      const bubble = new Bubble(this.editor, leave);
      const key = new PluginKey("links");
      return [
        new Plugin({
          key,
          view: () => bubble,
          state: { init: (_config, state) => marked(state.doc), apply: (tr, before) => (tr.docChanged && broken.size ? marked(tr.doc) : before) },
          props: {
            decorations: (state) => key.getState(state),
            handleKeyDown: (_view, event) => {
              bubble.isClicked = false;
              if (event.key !== "Enter" || !event.altKey || !bubble.dom.isConnected) return false;
              bubble.open();
              return true;
            },
            handleDOMEvents: {
              mousedown: () => ((bubble.isClicked = true), false),
              blur: () => (bubble.hide(), false),
              focus: (view) => (setTimeout(() => bubble.update(view)), false),
            },
          },
        }),
      ];
    },
  });
