// The buttons above the text: what they do, what they show, and how the keyboard reaches them.
import { closeHistory } from "@tiptap/pm/history";
import { TextSelection } from "@tiptap/pm/state";
import { blockMenu } from "./handles.js";
import { askLink } from "./links.js";
import { form, text, typing, words } from "./page.js";
import { menuAt } from "./pop.js";

// Not inside a list item: a table there can hardly be left, and Markdown has none.
export const insertTable = (editor) => {
  const { $from } = editor.state.selection;
  const chain = typing(editor);
  if (editor.isActive("listItem") || editor.isActive("taskItem")) {
    const after = $from.after(1);
    chain.insertContentAt(after, { type: "paragraph" }).setTextSelection(after + 1);
  }
  chain.insertTable({ rows: 3, cols: 3, withHeaderRow: true }).run();
};

// The row of the cursor: its place, and its table.
const rowAround = ({ selection: { $from } }) => {
  for (let depth = $from.depth; depth > 0; depth -= 1) {
    if ($from.node(depth).type.name !== "tableRow") continue;
    return { row: $from.node(depth), from: $from.before(depth), table: $from.node(depth - 1), index: $from.index(depth - 1), offset: $from.pos - $from.before(depth) };
  }
  return null;
};

const moveRow = (editor, step) => {
  const { state, view } = editor;
  const { row, from, table, index, offset } = rowAround(state) || {};
  if (!row || !table.maybeChild(index + step)) return;
  const target = step < 0 ? from - table.child(index - 1).nodeSize : from + table.child(index + 1).nodeSize;
  const tr = closeHistory(state.tr).delete(from, from + row.nodeSize).insert(target, row);
  view.dispatch(tr.setSelection(TextSelection.near(tr.doc.resolve(target + offset))));
};

const copyRow = (editor) => {
  const { row, from, offset } = rowAround(editor.state) || {};
  if (!row) return;
  const target = from + row.nodeSize;
  const tr = closeHistory(editor.state.tr).insert(target, row);
  editor.view.dispatch(tr.setSelection(TextSelection.near(tr.doc.resolve(target + offset))));
};

const menus = (editor) => {
  const run = (name, ...given) => () => typing(editor)[name](...given).run();
  const t = words.table;
  return {
    block: blockMenu(editor),
    row: [
      { title: t.rowAbove, icon: "row-above", run: run("addRowBefore") },
      { title: t.rowBelow, icon: "row-below", run: run("addRowAfter") },
      { title: t.copyRow, icon: "copy", run: () => (copyRow(editor), typing(editor).run()) },
      { title: words.moveUp, icon: "up", run: () => (moveRow(editor, -1), typing(editor).run()) },
      { title: words.moveDown, icon: "down", run: () => (moveRow(editor, 1), typing(editor).run()) },
      { title: t.headRow, icon: "table", run: run("toggleHeaderRow") },
      { title: t.deleteRow, icon: "trash", danger: true, apart: true, run: run("deleteRow") },
    ],
    column: [
      { title: t.columnBefore, icon: "column-before", run: run("addColumnBefore") },
      { title: t.columnAfter, icon: "column-after", run: run("addColumnAfter") },
      { title: t.left, icon: "align-left", run: run("setCellAttribute", "align", "left") },
      { title: t.centre, icon: "align-wide", run: run("setCellAttribute", "align", "center") },
      { title: t.right, icon: "align-right", run: run("setCellAttribute", "align", "right") },
      { title: t.merge, icon: "merge", run: run("mergeOrSplit") },
      { title: t.deleteColumn, icon: "trash", danger: true, apart: true, run: run("deleteColumn") },
      { title: t.deleteTable, icon: "trash", danger: true, run: run("deleteTable") },
    ],
  };
};

export const toolbar = (editor, upload) => {
  const bar = form.querySelector(".toolbar");
  const chain = () => typing(editor);
  const commands = {
    bold: () => chain().toggleBold().run(),
    italic: () => chain().toggleItalic().run(),
    strike: () => chain().toggleStrike().run(),
    code: () => chain().toggleCode().run(),
    link: () => askLink(editor),
    bulletList: () => chain().toggleBulletList().run(),
    orderedList: () => chain().toggleOrderedList().run(),
    taskList: () => chain().toggleTaskList().run(),
    blockquote: () => chain().toggleBlockquote().run(),
    callout: () => chain().setCallout("note").run(),
    table: () => insertTable(editor),
    upload: () => upload.choose(""),
    undo: () => chain().undo().run(),
    redo: () => chain().redo().run(),
  };
  // The cursor stays in the text, after Save, too: the next letter would be lost, or be a shortcut of the page.
  bar.addEventListener("mousedown", (event) => {
    if (event.target.closest("button")) event.preventDefault();
  });
  bar.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-command], button[data-menu]");
    if (!button) return;
    if (button.dataset.menu) menuAt(button, button.getAttribute("aria-label") || button.textContent.trim(), menus(editor)[button.dataset.menu], () => typing(editor).run());
    else commands[button.dataset.command]?.();
  });
  const block = bar.querySelector("[data-block]");
  block.addEventListener("change", () => {
    const level = Number(/^h(\d)$/.exec(block.value)?.[1]);
    if (level) chain().setHeading({ level }).run();
    else if (block.value === "pre") chain().setCodeBlock().run();
    else chain().setParagraph().run();
  });
  const show = () => {
    for (const button of bar.querySelectorAll("[data-pressed]")) button.setAttribute("aria-pressed", String(editor.isActive(button.dataset.command)));
    for (const part of bar.querySelectorAll("[data-when]")) part.hidden = !editor.isActive(part.dataset.when);
    const can = editor.can();
    bar.querySelector('[data-command="undo"]').disabled = !can.undo();
    bar.querySelector('[data-command="redo"]').disabled = !can.redo();
    block.value = editor.isActive("codeBlock") ? "pre" : editor.isActive("heading") ? `h${Math.min(3, editor.getAttributes("heading").level)}` : "p";
  };
  editor.on("transaction", show);
  show();
  byKeyboard(bar, editor);
};

// One stop for Tab; the arrows walk inside, Escape goes back to the text, Alt+F10 comes from there.
const byKeyboard = (bar, editor) => {
  const stops = () => [...bar.querySelectorAll("select, button, a[href]")].filter((one) => !one.disabled && one.checkVisibility());
  bar.addEventListener("keydown", (event) => {
    if (event.key === "Escape") typing(editor).run();
    const all = stops();
    const at = all.indexOf(document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (next === undefined || (document.activeElement.tagName === "SELECT" && event.key !== "ArrowRight" && event.key !== "ArrowLeft")) return;
    event.preventDefault();
    all[(next + all.length) % all.length].focus();
  });
  text.addEventListener("keydown", (event) => {
    if (event.altKey && event.key === "F10") {
      event.preventDefault();
      stops()[0].focus();
    }
  });
};
