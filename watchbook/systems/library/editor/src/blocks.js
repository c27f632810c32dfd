// The blocks of a page: what the cleaner on the server allows, and how the editor shows it.
import { InputRule, mergeAttributes, Node, wrappingInputRule } from "@tiptap/core";
import { CodeBlockLowlight } from "@tiptap/extension-code-block-lowlight";
import { ListItem, TaskItem, TaskList } from "@tiptap/extension-list";
import { Subscript } from "@tiptap/extension-subscript";
import { Superscript } from "@tiptap/extension-superscript";
import { Table, TableCell, TableHeader, TableRow } from "@tiptap/extension-table";
import { Placeholder } from "@tiptap/extensions";
import { NodeSelection } from "@tiptap/pm/state";
import { StarterKit } from "@tiptap/starter-kit";
import { icon, made, typing, words } from "./page.js";
import { highlighter, LANGUAGES } from "./languages.js";
import { fieldAt } from "./pop.js";

const CALLOUTS = ["note", "tip", "important", "warning", "caution"];
const ADDRESS = /^(https?:|mailto:|tel:|obsidian:|zotero:|\/(?!\/)|#)/i;

// A picture of another site is never asked for: it is a token with its words. Ours are shown.
export const isOurs = (address) => address.startsWith("/") && !address.startsWith("//");
const shown = ({ src, alt }) => {
  if (isOurs(src)) return made("img", { src, alt, draggable: "false" });
  const token = made("span", { class: "far-image", title: src }, alt || src || words.picture);
  token.dataset.src = src;
  return token;
};
const pictureAttributes = () => ({
  src: { default: "", parseHTML: (element) => element.getAttribute("src") || "" },
  alt: { default: "", parseHTML: (element) => element.getAttribute("alt") || "" },
  title: { default: null, parseHTML: (element) => element.getAttribute("title") },
});
const imgOf = ({ src, alt, title }) => ["img", { src, alt, ...(title ? { title } : {}) }];

const Picture = Node.create({
  name: "picture",
  group: "inline",
  inline: true,
  draggable: true,
  addAttributes: pictureAttributes,
  parseHTML: () => [{ tag: "img[src]" }],
  renderHTML: ({ node }) => imgOf(node.attrs),
  addNodeView: () => ({ node }) => ({ dom: shown(node.attrs) }),
});

// A picture with a caption. The caption is the content of the node.
const Figure = Node.create({
  name: "figure",
  group: "block",
  content: "inline*",
  draggable: true,
  isolating: true,
  addAttributes() {
    const at = (name) => (element) => element.querySelector("img")?.getAttribute(name);
    return {
      src: { default: "", parseHTML: (element) => at("src")(element) || "" },
      alt: { default: "", parseHTML: (element) => at("alt")(element) || "" },
      title: { default: null, parseHTML: at("title") },
    };
  },
  parseHTML: () => [
    {
      tag: "figure",
      getAttrs: (element) => (element.querySelector("img[src]") ? null : false),
      contentElement: (element) => element.querySelector("figcaption") || document.createElement("figcaption"),
    },
  ],
  renderHTML: ({ node }) => ["figure", imgOf(node.attrs), ["figcaption", 0]],
  addNodeView:
    () =>
    ({ node, editor, getPos }) => {
      const dom = made("figure", { class: "picture" });
      const caption = made("figcaption", { "data-placeholder": words.caption });
      const holder = made("div", { contenteditable: "false", class: "picture-holder" });
      const bar = made("div", { class: "bubble", role: "toolbar", "aria-label": words.picture });
      const alt = made("button", { type: "button", class: "btn btn--quiet btn--small" });
      alt.append(icon("alt"), words.alt);
      const remove = made("button", { type: "button", class: "btn btn--quiet btn--icon btn--small", "aria-label": words.removePicture });
      remove.append(icon("trash"));
      bar.append(alt, remove);
      let current = node;
      const draw = () => {
        holder.replaceChildren(shown(current.attrs), bar);
        caption.classList.toggle("is-empty", current.content.size === 0);
      };
      const describe = (given) => {
        editor.view.dispatch(editor.state.tr.setNodeMarkup(getPos(), undefined, { ...current.attrs, alt: given }));
        typing(editor).run();
      };
      alt.addEventListener("click", () => {
        fieldAt(alt.getBoundingClientRect(), { label: words.askAlt, value: current.attrs.alt }, describe, () => typing(editor).run());
      });
      // The picture itself is selected: Backspace removes it, and it can be copied.
      holder.addEventListener("click", (event) => {
        if (!bar.contains(event.target)) editor.view.dispatch(editor.state.tr.setSelection(NodeSelection.create(editor.state.doc, getPos())));
      });
      remove.addEventListener("click", () => {
        editor.view.dispatch(editor.state.tr.delete(getPos(), getPos() + current.nodeSize));
        typing(editor).run();
      });
      dom.append(holder, caption);
      draw();
      return {
        dom,
        contentDOM: caption,
        update: (next) => {
          if (next.type !== current.type) return false;
          const isSame = next.attrs.src === current.attrs.src && next.attrs.alt === current.attrs.alt;
          current = next;
          if (isSame) caption.classList.toggle("is-empty", next.content.size === 0);
          else draw();
          return true;
        },
        stopEvent: (event) => bar.contains(event.target),
        ignoreMutation: (change) => !caption.contains(change.target),
        selectNode: () => dom.classList.add("is-picked"),
        deselectNode: () => dom.classList.remove("is-picked"),
      };
    },
  addKeyboardShortcuts() {
    // Enter in a caption leaves it: a caption is one line.
    return {
      Enter: ({ editor }) => {
        const { $from } = editor.state.selection;
        if ($from.parent.type.name !== "figure") return false;
        const after = $from.after();
        return editor.chain().insertContentAt(after, { type: "paragraph" }).setTextSelection(after + 1).run();
      },
    };
  },
});

const Callout = Node.create({
  name: "callout",
  group: "block",
  content: "block+",
  defining: true,
  addAttributes: () => ({
    kind: {
      default: "note",
      parseHTML: (element) => element.getAttribute("data-callout"),
      renderHTML: ({ kind }) => ({ "data-callout": kind }),
    },
  }),
  parseHTML: () => [{ tag: "blockquote[data-callout]", priority: 60 }],
  renderHTML: ({ HTMLAttributes }) => ["blockquote", HTMLAttributes, 0],
  addInputRules() {
    const kinds = CALLOUTS.join("|");
    return [
      wrappingInputRule({
        find: new RegExp(`^\\s*(?:>\\s?)?\\[!(${kinds})\\]\\s$`, "i"),
        type: this.type,
        getAttributes: (match) => ({ kind: match[1].toLowerCase() }),
      }),
    ];
  },
  addCommands() {
    return {
      setCallout:
        (kind) =>
        ({ commands, editor }) =>
          editor.isActive("callout") ? commands.updateAttributes("callout", { kind }) : commands.wrapIn("callout", { kind }),
    };
  },
});

const Mention = Node.create({
  name: "mention",
  group: "inline",
  inline: true,
  atom: true,
  addAttributes: () => ({
    person: { default: "", parseHTML: (element) => element.getAttribute("data-person") },
    name: { default: "", parseHTML: (element) => element.textContent.replace(/^@/, "") },
  }),
  parseHTML: () => [{ tag: "a[data-person]", priority: 1001 }],
  renderHTML: ({ node }) => ["a", { "data-person": node.attrs.person, class: "mention" }, `@${node.attrs.name}`],
  renderText: ({ node }) => `@${node.attrs.name}`,
});

// Items keep their paragraph when it was stored; new ones are saved without, so that Markdown lists stay tight.
const isLoose = {
  default: false,
  keepOnSplit: true,
  rendered: true,
  parseHTML: (element) => [...element.children].some((child) => child.tagName === "P"),
  renderHTML: ({ loose }) => (loose ? { "data-loose": "" } : {}),
};
const Item = ListItem.extend({
  addAttributes() {
    return { ...this.parent?.(), loose: isLoose };
  },
});
const Task = TaskItem.extend({
  parseHTML: () => [{ tag: 'li[data-type="taskItem"]', priority: 60 }],
  renderHTML: ({ HTMLAttributes }) => ["li", mergeAttributes({ "data-type": "taskItem" }, HTMLAttributes), 0],
  addKeyboardShortcuts() {
    // Of the innermost task only: those around it have boxes of their own.
    const toggle = ({ editor: { state, view } }) => {
      const { $from } = state.selection;
      for (let depth = $from.depth; depth > 0; depth -= 1) {
        const { type, attrs } = $from.node(depth);
        if (type !== this.type) continue;
        view.dispatch(state.tr.setNodeMarkup($from.before(depth), undefined, { ...attrs, checked: !attrs.checked }));
        return true;
      }
      return false;
    };
    return { ...this.parent?.(), "Mod-Enter": toggle };
  },
  addInputRules() {
    return [
      wrappingInputRule({
        find: /^\s*[[【]([ x])?[\]】]\s$/i,
        type: this.type,
        getAttributes: (match) => ({ checked: match[1]?.toLowerCase() === "x" }),
      }),
      // "- [ ] ": the dash has made a list already.
      new InputRule({
        find: /^[[【]([ x])?[\]】]\s$/i,
        handler: ({ range, match, chain, state }) => {
          if (state.doc.resolve(range.from).node(-1)?.type.name !== "listItem") return null;
          const checked = match[1]?.toLowerCase() === "x";
          chain().deleteRange(range).toggleTaskList().updateAttributes("taskItem", { checked }).run();
          return undefined;
        },
      }),
    ].reverse();
  },
});

const align = {
  default: null,
  parseHTML: (element) => (["left", "center", "right"].includes(element.getAttribute("align")) ? element.getAttribute("align") : null),
  renderHTML: ({ align: side }) => (side ? { align: side } : {}),
};
const cellAttributes = () => ({
  colspan: { default: 1, parseHTML: (element) => Number(element.getAttribute("colspan")) || 1 },
  rowspan: { default: 1, parseHTML: (element) => Number(element.getAttribute("rowspan")) || 1 },
  colwidth: { default: null, rendered: false },
  align,
});
const PlainTable = Table.extend({
  renderHTML: () => ["div", { class: "table-wrap" }, ["table", ["tbody", 0]]],
  addKeyboardShortcuts() {
    // Out of the table, into the empty line below it or into a new one.
    const leave = ({ editor }) => {
      const { $from } = editor.state.selection;
      for (let depth = $from.depth; depth > 0; depth -= 1) {
        if ($from.node(depth).type !== this.type) continue;
        const after = $from.after(depth);
        const next = editor.state.doc.resolve(after).nodeAfter;
        const isEmpty = next?.type.name === "paragraph" && !next.content.size;
        const chain = isEmpty ? editor.chain() : editor.chain().insertContentAt(after, { type: "paragraph" });
        return chain.setTextSelection(after + 1).scrollIntoView().run();
      }
      return false;
    };
    return { ...this.parent?.(), "Mod-Enter": leave };
  },
});

const Code = CodeBlockLowlight.extend({
  addNodeView:
    () =>
    ({ node, editor, getPos }) => {
      const dom = made("div", { class: "code" });
      const head = made("div", { class: "code-head", contenteditable: "false" });
      const choice = made("select", { class: "select", "aria-label": words.language });
      const copy = made("button", { type: "button", class: "btn btn--quiet btn--small" });
      copy.append(icon("copy"), words.copy);
      const pre = made("pre");
      const code = made("code", { spellcheck: "false" });
      pre.append(code);
      head.append(choice, copy);
      dom.append(head, pre);
      let current = node;
      const draw = () => {
        const language = current.attrs.language || "";
        const known = LANGUAGES.some(([name]) => name === language);
        const all = known ? LANGUAGES : [...LANGUAGES, [language, language]];
        choice.replaceChildren(...all.map(([name, title]) => new Option(title || words.plainText, name, false, name === language)));
      };
      choice.addEventListener("change", () => {
        const change = editor.state.tr.setNodeMarkup(getPos(), undefined, { language: choice.value || null });
        editor.view.dispatch(change);
        typing(editor).run();
      });
      copy.addEventListener("click", () => navigator.clipboard?.writeText(current.textContent));
      draw();
      return {
        dom,
        contentDOM: code,
        update: (next) => {
          if (next.type !== current.type) return false;
          const isSame = next.attrs.language === current.attrs.language;
          current = next;
          if (!isSame) draw();
          return true;
        },
        stopEvent: (event) => head.contains(event.target),
        ignoreMutation: (change) => !code.contains(change.target),
      };
    },
}).configure({ lowlight: highlighter, enableTabIndentation: true, tabSize: 4 });

export const extensions = (placeholder) => [
  StarterKit.configure({
    codeBlock: false,
    listItem: false,
    dropcursor: { color: false, class: "drop-line", width: 2 },
    link: { openOnClick: false, autolink: true, linkOnPaste: true, isAllowedUri: (address) => ADDRESS.test(address), HTMLAttributes: { target: null, rel: null } },
  }).extend({
    addExtensions() {
      return this.parent().map((one) => (one.name === "link" ? withIds(one) : one));
    },
  }),
  Item,
  TaskList,
  Task.configure({ nested: true, a11y: { checkboxLabel: () => words.done } }),
  PlainTable.configure({ resizable: false }),
  TableRow,
  TableHeader.extend({ addAttributes: cellAttributes }),
  TableCell.extend({ addAttributes: cellAttributes }),
  Code,
  Subscript,
  Superscript,
  Picture,
  Figure,
  Callout,
  Mention,
  Placeholder.configure({ placeholder }),
];

// Links to pages and files keep the id of their target. What is typed behind a link is not part of it.
const withIds = (link) =>
  link.extend({
    inclusive: () => false,
    addAttributes() {
      const id = (name) => ({
        default: null,
        parseHTML: (element) => element.getAttribute(name),
        renderHTML: (attributes) => (attributes[name] ? { [name]: attributes[name] } : {}),
      });
      return { ...this.parent?.(), "data-page": id("data-page"), "data-file": id("data-file") };
    },
  });
