// Moving blocks: a grip beside the block under the pointer, and Alt+Shift+Up or Down. Also anchors of headings and the outline.
import { Extension } from "@tiptap/core";
import { closeHistory } from "@tiptap/pm/history";
import { NodeSelection, Plugin, PluginKey, TextSelection } from "@tiptap/pm/state";
import { Decoration, DecorationSet } from "@tiptap/pm/view";
import { icon, made, typing, words } from "./page.js";
import { menuAt } from "./pop.js";
import { anchors } from "./stored.js";

const MOVED = new Set(["listItem", "taskItem"]);

// The list item around the cursor, or the block of the page.
const movable = ($at) => {
  for (let depth = $at.depth; depth > 0; depth -= 1) if (MOVED.has($at.node(depth).type.name) || depth === 1) return depth;
  return 0;
};

export const moveBlock = (state, dispatch, step) => {
  const $at = state.selection.$from;
  const depth = state.selection instanceof NodeSelection && $at.depth === 0 ? 0 : movable($at);
  const from = depth ? $at.before(depth) : $at.pos;
  const node = state.doc.nodeAt(from);
  if (!node) return false;
  const $before = state.doc.resolve(from);
  const index = $before.index();
  const other = index + step;
  if (other < 0 || other >= $before.parent.childCount) return false;
  const sibling = $before.parent.child(other);
  const target = step < 0 ? from - sibling.nodeSize : from + sibling.nodeSize;
  if (dispatch) {
    const offset = state.selection.from - from;
    // One step of its own for Undo, not one with the words that were typed before.
    const tr = closeHistory(state.tr).delete(from, from + node.nodeSize).insert(target, node);
    if (state.selection instanceof NodeSelection) tr.setSelection(NodeSelection.create(tr.doc, target));
    else tr.setSelection(TextSelection.near(tr.doc.resolve(target + offset)));
    dispatch(tr.scrollIntoView());
  }
  return true;
};

// The block around the cursor, or the selected one.
const blockAround = ({ doc, selection }) => {
  const $at = selection.$from;
  const depth = selection instanceof NodeSelection && $at.depth === 0 ? 0 : movable($at);
  const from = depth ? $at.before(depth) : $at.pos;
  const node = doc.nodeAt(from);
  return node && { from, node };
};

// What can be done with a block: at its grip, and in the toolbar for phones and keyboards.
export const blockMenu = (editor) => {
  const { view } = editor;
  const change = (make) => () => {
    const block = blockAround(view.state);
    if (block) view.dispatch(make(closeHistory(view.state.tr), block));
    typing(editor).run();
  };
  const move = (step) => () => {
    moveBlock(view.state, view.dispatch, step);
    typing(editor).run();
  };
  return [
    { title: words.moveUp, icon: "up", key: "Alt+Shift+↑", run: move(-1) },
    { title: words.moveDown, icon: "down", key: "Alt+Shift+↓", run: move(1) },
    { title: words.duplicate, icon: "copy", run: change((tr, { from, node }) => tr.insert(from + node.nodeSize, node)) },
    { title: words.remove, icon: "trash", danger: true, apart: true, run: change((tr, { from, node }) => tr.delete(from, from + node.nodeSize)) },
  ];
};

class Grip {
  constructor(editor, view) {
    Object.assign(this, { editor, view, at: -1 });
    this.dom = made("div", { class: "block-tools", contenteditable: "false" });
    this.add = this.#button("plus", words.addBlock);
    this.move = this.#button("grip", words.moveBlock);
    this.move.setAttribute("draggable", "true");
    this.dom.append(this.add, this.move);
    view.dom.parentElement.append(this.dom);
    this.dom.hidden = true;
    this.onMove = (event) => this.#follow(event);
    view.dom.parentElement.addEventListener("mousemove", this.onMove);
    view.dom.parentElement.addEventListener("mouseleave", () => (this.dom.hidden = true));
    this.add.addEventListener("click", () => this.#insert());
    this.move.addEventListener("click", () => this.#menu());
    this.move.addEventListener("dragstart", (event) => this.#drag(event));
  }

  #button(name, label) {
    const button = made("button", { type: "button", class: "btn btn--quiet", "aria-label": label, title: label, tabindex: "-1" });
    button.append(icon(name));
    return button;
  }

  #follow(event) {
    if (this.dom.contains(event.target)) return;
    const box = this.view.dom.getBoundingClientRect();
    const hit = this.view.posAtCoords({ left: box.left + box.width / 2, top: event.clientY });
    if (!hit) return;
    const $at = this.view.state.doc.resolve(hit.inside >= 0 ? hit.inside : hit.pos);
    this.at = $at.depth ? $at.before(1) : $at.pos;
    const block = this.view.nodeDOM(this.at);
    if (!(block instanceof HTMLElement)) return;
    const place = block.getBoundingClientRect();
    this.dom.hidden = false;
    const outer = this.view.dom.parentElement.getBoundingClientRect();
    this.dom.style.top = `${place.top - outer.top + 2}px`;
    this.dom.style.left = `${Math.max(0, place.left - outer.left - 46)}px`;
  }

  #insert() {
    const node = this.view.state.doc.nodeAt(this.at);
    if (!node) return;
    const after = this.at + node.nodeSize;
    typing(this.editor).insertContentAt(after, { type: "paragraph" }).setTextSelection(after + 1).insertContent("/").run();
  }

  #select() {
    const { state } = this.view;
    if (!state.doc.nodeAt(this.at)) return false;
    this.view.dispatch(state.tr.setSelection(NodeSelection.create(state.doc, this.at)));
    return true;
  }

  #menu() {
    if (!this.#select()) return;
    menuAt(this.move, words.moveBlock, blockMenu(this.editor), () => typing(this.editor).run());
  }

  #drag(event) {
    if (!this.#select()) return;
    const slice = this.view.state.selection.content();
    const { dom, text } = this.view.serializeForClipboard(slice);
    event.dataTransfer.clearData();
    event.dataTransfer.setData("text/html", dom.innerHTML);
    event.dataTransfer.setData("text/plain", text);
    event.dataTransfer.effectAllowed = "copyMove";
    event.dataTransfer.setDragImage(this.view.nodeDOM(this.at), 0, 0);
    this.view.dragging = { slice, move: true };
  }

  update() {}

  destroy() {
    this.dom.remove();
  }
}

const outlineKey = new PluginKey("outline");

// The list beside the text follows the headings.
class Outline {
  constructor(view) {
    this.list = document.querySelector("[data-outline]");
    this.shown = "";
    this.update(view);
  }

  update(view) {
    if (!this.list) return;
    const found = outlineKey.getState(view.state).found;
    const state = JSON.stringify(found.map(({ id, level, text }) => [id, level, text]));
    if (state === this.shown) return;
    this.shown = state;
    const top = Math.min(...found.map((one) => one.level));
    this.list.replaceChildren(
      ...found.map((one) => {
        const item = made("li", one.level > top ? { class: "is-deep" } : {});
        item.append(made("a", { href: `#${one.id}` }, one.text || words.noTitle));
        return item;
      }),
    );
    this.list.closest("[data-outline-part]").hidden = found.length === 0;
  }
}

const outlined = (doc) => {
  const found = anchors(doc);
  const set = DecorationSet.create(doc, found.map((one) => Decoration.node(one.position, one.position + one.size, { id: one.id })));
  return { found, set };
};

export const Handles = Extension.create({
  name: "handles",
  addKeyboardShortcuts() {
    const move = (step) => () => moveBlock(this.editor.state, this.editor.view.dispatch, step);
    return { "Alt-Shift-ArrowUp": move(-1), "Alt-Shift-ArrowDown": move(1) };
  },
  addProseMirrorPlugins() {
    const { editor } = this;
    return [
      new Plugin({ view: (view) => new Grip(editor, view) }),
      new Plugin({
        key: outlineKey,
        state: { init: (_config, state) => outlined(state.doc), apply: (tr, before, _old, state) => (tr.docChanged ? outlined(state.doc) : before) },
        props: { decorations: (state) => outlineKey.getState(state).set },
        view: (view) => new Outline(view),
      }),
    ];
  },
});
