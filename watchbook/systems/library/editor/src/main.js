// The editor of a page. Without a script the page shows its text and links to the Markdown view, which is a plain form.
import { Editor } from "@tiptap/core";
import { DOMParser as Parser, Fragment } from "@tiptap/pm/model";
import { Selection } from "@tiptap/pm/state";
import { extensions } from "./blocks.js";
import { Handles } from "./handles.js";
import { Menus } from "./menus.js";
import { ask, form, place, text } from "./page.js";
import { cleanPaste, isMarkdown, withoutStyles } from "./paste.js";
import { Saving } from "./save.js";
import { stored } from "./stored.js";
import { askLink, toolbar } from "./toolbar.js";
import { Uploads } from "./upload.js";

const PARSE = { preserveWhitespace: true };

// A document that is not shown: its pictures are not asked for.
const parsed = (editor, html) => {
  const box = new DOMParser().parseFromString(withoutStyles(html), "text/html").body;
  return Parser.fromSchema(editor.schema).parse(box, PARSE);
};

class Source {
  field = "content";

  constructor(editor) {
    this.editor = editor;
    this.sinceSent = null;
    editor.on("transaction", ({ transaction }) => this.sinceSent?.push(...transaction.mapping.maps));
  }

  read() {
    return stored(this.editor);
  }

  // From here on what is typed is remembered, so that the answer can be put beside it.
  mark() {
    this.sinceSent = [];
    return this.editor.state.doc;
  }

  // Someone else changed title or text before: what was saved is put into what is shown, beside what was typed since.
  take(told, _sent, mark) {
    const since = this.sinceSent;
    this.sinceSent = null;
    const { state, view } = this.editor;
    const merged = withLastLine(parsed(this.editor, told.content), mark);
    const places = differing(mark, merged);
    const moved = places.map(([from, to, slice]) => {
      let [start, end] = [from, to];
      for (const map of since) [start, end] = [map.map(start, -1), map.map(end, 1)];
      return [start, end, slice, mark.slice(from, to)];
    });
    if (moved.some(([start, end, , before]) => !state.doc.slice(start, end).eq(before))) return false;
    const tr = state.tr.setMeta("addToHistory", false).setMeta("theirs", true);
    for (const [start, end, slice] of moved.reverse()) tr.replaceWith(start, end, slice);
    view.dispatch(tr);
    return true;
  }

  focus() {
    // Not by the editor's own command: it waits for the next frame, and the first letter would be lost.
    const { state, view } = this.editor;
    view.dispatch(state.tr.setSelection(Selection.atStart(state.doc)));
    view.focus();
  }
}

// The empty line that the editor keeps at the end is not saved.
const withLastLine = (doc, shown) => {
  const last = shown.lastChild;
  if (!last || last.type.name !== "paragraph" || last.content.size || doc.lastChild?.eq(last)) return doc;
  return doc.copy(doc.content.append(Fragment.from(last)));
};

// The outermost blocks that differ, as places in the old document with the new blocks. Equal ones are found from both ends.
const differing = (before, after) => {
  let head = 0;
  const most = Math.min(before.childCount, after.childCount);
  while (head < most && before.child(head).eq(after.child(head))) head += 1;
  let tail = 0;
  while (tail < most - head && before.child(before.childCount - 1 - tail).eq(after.child(after.childCount - 1 - tail))) tail += 1;
  const found = [];
  const rest = { old: before.childCount - tail, fresh: after.childCount - tail };
  let position = 0;
  for (let index = 0; index < head; index += 1) position += before.child(index).nodeSize;
  // As many blocks on both sides: each pair is a place of its own, so that typing in one leaves the others free.
  if (rest.old - head === rest.fresh - head) {
    for (let index = head; index < rest.old; index += 1) {
      const size = before.child(index).nodeSize;
      if (!before.child(index).eq(after.child(index))) found.push([position, position + size, [after.child(index)]]);
      position += size;
    }
    return found;
  }
  let end = position;
  for (let index = head; index < rest.old; index += 1) end += before.child(index).nodeSize;
  const fresh = [];
  for (let index = head; index < rest.fresh; index += 1) fresh.push(after.child(index));
  return [[position, end, fresh]];
};

const pasteMarkdown = (editor, words) => {
  const body = new FormData();
  body.set("markdown", words);
  ask(place.convert, body)
    .then((given) => editor.chain().focus().insertContent(given.html, { parseOptions: PARSE }).run())
    .catch(() => editor.chain().focus().insertContent(words).run());
};

const write = () => {
  const uploads = new Uploads();
  let isShift = false;
  const editor = new Editor({
    element: { mount: text },
    injectCSS: false,
    extensions: [...extensions(text.dataset.placeholder), Menus(uploads), Handles, uploads.extension()],
    content: withoutStyles(form.elements.content.value),
    parseOptions: PARSE,
    editorProps: {
      attributes: Object.fromEntries([...text.attributes].filter((one) => one.name !== "contenteditable").map((one) => [one.name, one.value])),
      transformPastedHTML: cleanPaste,
      handleKeyDown: (_view, event) => {
        isShift = event.shiftKey;
        if ((event.ctrlKey || event.metaKey) && event.key === "k") {
          event.preventDefault();
          askLink(editor);
          return true;
        }
        return false;
      },
      handlePaste: (view, event) => {
        const { clipboardData: given } = event;
        const isCode = view.state.selection.$from.parent.type.spec.code;
        const words = given?.getData("text/plain") || "";
        const isPlain = !given?.getData("text/html") || given.types.includes("vscode-editor-data");
        if (isCode || isShift || !isPlain || !isMarkdown(words)) return false;
        pasteMarkdown(editor, words);
        return true;
      },
      handleClick: (_view, _position, event) => {
        const address = event.target.closest?.("a[href]")?.getAttribute("href");
        if (!address || !(event.ctrlKey || event.metaKey)) return false;
        window.open(address, "_blank", "noopener");
        return true;
      },
      clipboardTextSerializer: (slice) => slice.content.textBetween(0, slice.content.size, "\n\n", (leaf) => (leaf.type.name === "hardBreak" ? "\n" : leaf.attrs.name ? `@${leaf.attrs.name}` : leaf.attrs.alt || "")),
    },
  });
  const saving = new Saving(new Source(editor));
  editor.on("update", ({ transaction }) => { if (!transaction.getMeta("theirs")) saving.changed(); });
  editor.on("blur", () => { if (saving.isDirty && !saving.isStopped) saving.later(300); });
  saving.listen();
  toolbar(editor, uploads);
  // For extensions of the browser, and for tests: the editor, and the text as it would be saved now.
  Object.assign(text, { editor, stored: () => stored(editor) });
  form.dataset.ready = String(Math.round(performance.now()));
};

// The Markdown view: a field, saved in the same way.
const writeMarkdown = () => {
  const field = form.elements.markdown;
  const source = {
    field: "markdown",
    read: () => field.value,
    take: (told, sent) => {
      if (field.value !== sent) return false;
      field.value = told.markdown;
      return true;
    },
    focus: () => field.focus(),
  };
  const saving = new Saving(source);
  field.addEventListener("input", () => saving.changed());
  field.addEventListener("blur", () => { if (saving.isDirty && !saving.isStopped) saving.later(300); });
  saving.listen();
  form.dataset.ready = String(Math.round(performance.now()));
};

if (form?.elements.markdown) writeMarkdown();
else if (form && text) write();
