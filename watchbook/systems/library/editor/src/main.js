// The editor of a page. Without a script the page shows its text and links to the Markdown view, which is a plain form.
import { Editor } from "@tiptap/core";
import { DOMParser as Parser, Fragment } from "@tiptap/pm/model";
import { Selection, TextSelection } from "@tiptap/pm/state";
import { extensions } from "./blocks.js";
import { Handles } from "./handles.js";
import { Keys } from "./keys.js";
import { askLink, Links } from "./links.js";
import { Menus, pageLink } from "./menus.js";
import { ask, form, place, text, typing } from "./page.js";
import { asTable, cleanPaste, isMarkdown, withoutStyles } from "./paste.js";
import { changes, moved } from "./rebase.js";
import { Saving } from "./save.js";
import { stored } from "./stored.js";
import { toolbar } from "./toolbar.js";
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
    editor.on("transaction", ({ transaction, appendedTransactions }) => {
      for (const one of [transaction, ...appendedTransactions]) this.sinceSent?.push(...one.mapping.maps);
    });
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
    const places = moved(changes(mark, withLastLine(parsed(this.editor, told.content), mark)), mark, since, state.doc);
    if (!places) return false;
    const tr = state.tr.setMeta("addToHistory", false).setMeta("theirs", true);
    for (const [start, end, fragment] of places.reverse()) tr.replaceWith(start, end, fragment);
    // What others wrote at the cursor comes behind it: the word that is being typed stays one.
    if (state.selection instanceof TextSelection) {
      const [anchor, head] = [state.selection.anchor, state.selection.head].map((at) => tr.doc.resolve(tr.mapping.map(at, -1)));
      tr.setSelection(TextSelection.between(anchor, head));
    }
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

// As if it had been copied as HTML: what is pasted into a line or a list goes on there.
const pasteMarkdown = (editor, words) => {
  const body = new FormData();
  body.set("markdown", words);
  ask(place.convert, body)
    .then((given) => (typing(editor).run(), editor.view.pasteHTML(given.html)))
    .catch(() => typing(editor).insertContent(words).run());
};

// The address of a page of this server, copied from the browser: a link with its title.
const OWN_PAGE = /^\/library\/pages\/([0-9a-f-]{36})\/(#\S*)?$/;
const ownPage = (words) => (words.trim().startsWith(`${location.origin}/`) ? OWN_PAGE.exec(words.trim().slice(location.origin.length)) : null);
const pastePage = (editor, [path, id]) => {
  const plain = [{ type: "text", text: location.origin + path, marks: [{ type: "link", attrs: { href: path } }] }];
  ask(`${place.targets}?q=${id}`)
    .then(([page]) => (page ? pageLink({ ...page, url: path }) : plain))
    .catch(() => plain)
    .then((content) => typing(editor).insertContent(content).run());
};

const write = () => {
  const uploads = new Uploads();
  let isShift = false;
  const leave = async (address) => {
    await saving.save(true);
    location.assign(address);
  };
  const editor = new Editor({
    element: { mount: text },
    injectCSS: false,
    extensions: [...extensions(text.dataset.placeholder), Menus(uploads), Handles, Keys, Links(leave), uploads.extension()],
    content: withoutStyles(form.elements.content.value),
    parseOptions: PARSE,
    editorProps: {
      attributes: Object.fromEntries([...text.attributes].filter((one) => one.name !== "contenteditable").map((one) => [one.name, one.value])),
      transformPastedHTML: cleanPaste,
      handleDOMEvents: {
        // On a slow machine the next key comes before the editor has learned where the last one put the cursor.
        keydown: (view, event) => {
          if (!event.isComposing && !view.composing) view.domObserver.flush();
          return false;
        },
      },
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
        if (isCode || isShift || !isPlain || !words) return false;
        const own = view.state.selection.empty && ownPage(words);
        const table = asTable(words);
        if (own) pastePage(editor, own);
        else if (table) view.pasteHTML(table);
        else if (isMarkdown(words)) pasteMarkdown(editor, words);
        else return false;
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
      const fresh = told.markdown;
      let [head, tail] = [0, 0];
      const most = Math.min(sent.length, fresh.length);
      while (head < most && sent[head] === fresh[head]) head += 1;
      while (tail < most - head && sent.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
      // Only what differs, so that the cursor stays.
      field.setRangeText(fresh.slice(head, fresh.length - tail), head, sent.length - tail, "preserve");
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
