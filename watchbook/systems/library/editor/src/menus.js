// What opens while typing: "/" for blocks, "[[" for pages, "@" for people. Also as Chinese keyboards type them.
import { Extension } from "@tiptap/core";
import { Plugin, PluginKey } from "@tiptap/pm/state";
import { ask, place, typing, words } from "./page.js";
import { Pop } from "./pop.js";
import { insertTable } from "./toolbar.js";

const KINDS = [
  { name: "block", find: /(?:^|[\s\ufffc])([/、]([\p{L}\p{N} ]{0,20}))$/u },
  { name: "page", find: /((?:\[\[|【【)([^\]】\n]{0,80}))$/u },
  { name: "person", find: /(?:^|[\s(（，。])([@＠]([\p{L}\p{N}._+-]{0,60}))$/u },
];
const WAIT = 120;

export const blocks = (editor, upload) => {
  const chain = () => typing(editor);
  const listed = (id, group, icon, run, key = "") => ({ id, group: words.groups[group], icon, key, run, title: words.blocks[id][0], note: words.blocks[id][1], more: words.blocks[id][2] || "" });
  return [
    listed("text", "blocks", "file", () => chain().setParagraph().run()),
    listed("h1", "blocks", "heading", () => chain().setHeading({ level: 1 }).run(), "#"),
    listed("h2", "blocks", "heading", () => chain().setHeading({ level: 2 }).run(), "##"),
    listed("h3", "blocks", "heading", () => chain().setHeading({ level: 3 }).run(), "###"),
    listed("bullets", "blocks", "list", () => chain().toggleBulletList().run(), "-"),
    listed("numbers", "blocks", "numbered", () => chain().toggleOrderedList().run(), "1."),
    listed("tasks", "blocks", "task", () => chain().toggleTaskList().run(), "[]"),
    listed("table", "blocks", "table", () => insertTable(editor)),
    listed("quote", "blocks", "quote", () => chain().toggleBlockquote().run(), ">"),
    listed("note", "blocks", "callout", () => chain().setCallout("note").run(), "[!note]"),
    listed("tip", "blocks", "callout", () => chain().setCallout("tip").run(), "[!tip]"),
    listed("warning", "blocks", "callout", () => chain().setCallout("warning").run(), "[!warning]"),
    listed("code", "blocks", "code", () => chain().toggleCodeBlock().run(), "```"),
    listed("divider", "blocks", "divider", () => chain().setHorizontalRule().run(), "---"),
    listed("picture", "media", "image", () => upload.choose("image/*")),
    listed("file", "media", "attachment", () => upload.choose("")),
    listed("page", "media", "link", () => chain().insertContent("[[").run()),
    listed("person", "media", "user", () => chain().insertContent("@").run()),
  ];
};

const matching = (all, query) => {
  const wanted = query.trim().toLowerCase();
  return all.filter((one) => `${one.title} ${one.id} ${one.more}`.toLowerCase().includes(wanted));
};

const found = (state, hidden) => {
  const { $from, empty } = state.selection;
  if (!empty || !$from.parent.isTextblock || $from.parent.type.spec.code) return null;
  const before = $from.parent.textBetween(Math.max(0, $from.parentOffset - 100), $from.parentOffset, null, "\ufffc");
  for (const kind of KINDS) {
    const hit = kind.find.exec(before);
    if (!hit) continue;
    const from = $from.pos - hit[1].length;
    return from === hidden ? null : { kind: kind.name, from, to: $from.pos, query: hit[2] };
  }
  return null;
};

const replaced = (editor, now, content) => {
  const after = editor.state.doc.textBetween(now.to, Math.min(now.to + 2, editor.state.doc.content.size), "\n", "\n");
  const closing = now.kind === "page" && /^(\]\]|】】)/.test(after) ? 2 : 0;
  typing(editor).insertContentAt({ from: now.from, to: now.to + closing }, content).run();
};

export const pageLink = (page) => [{ type: "text", text: page.title, marks: [{ type: "link", attrs: { href: page.url, "data-page": page.id } }] }];
const mention = (person) => [{ type: "mention", attrs: { person: person.id, name: person.name } }, { type: "text", text: " " }];

// What is typed while the server answers moves the range.
const made = async (editor, now, title) => {
  const moved = ({ transaction }) => {
    now = { ...now, from: transaction.mapping.map(now.from), to: transaction.mapping.map(now.to, -1) };
  };
  editor.on("transaction", moved);
  const body = new FormData();
  body.set("title", title);
  body.set("type", "file");
  body.set("parent", place.parent);
  const answer = await ask(place.create, body).finally(() => editor.off("transaction", moved));
  const id = answer.url.split("/").at(-2);
  replaced(editor, now, pageLink({ id, title, url: answer.url }));
};

// Each item runs with the range that is in the text at that moment.
const shortcuts = (editor, query, upload) =>
  matching(blocks(editor, upload), query).map((one) => ({
    ...one,
    run: (now) => {
      typing(editor).deleteRange({ from: now.from, to: now.to }).run();
      one.run();
    },
  }));

const asked = {
  page: async (editor, query) => {
    const pages = await ask(`${place.targets}?q=${encodeURIComponent(query)}`);
    const rows = pages.map((page) => ({ group: words.groups.pages, icon: "file", title: page.title, note: page.path, run: (now) => replaced(editor, now, pageLink(page)) }));
    const title = query.trim();
    if (title && place.parent && !pages.some((page) => page.title === title)) {
      rows.push({ apart: rows.length > 0, icon: "plus", title: words.createPage.replace("#", () => title), run: (now) => made(editor, now, title) });
    }
    return rows;
  },
  person: async (editor, query) => {
    const people = await ask(`${place.people}?q=${encodeURIComponent(query)}`);
    return people.map((person) => ({ group: words.groups.people, icon: "user", title: person.name, note: person.email === person.name ? "" : person.email, run: (now) => replaced(editor, now, mention(person)) }));
  },
};

class Typed {
  constructor(editor, view, upload) {
    Object.assign(this, { editor, upload, now: null, shown: null, hidden: -1, count: 0, timer: 0, isChosen: false });
    this.pop = new Pop(view.dom, { label: words.insert });
  }

  update(view) {
    const now = view.hasFocus() ? found(view.state, this.hidden) : null;
    if (!now) {
      this.close();
      if (!found(view.state, -1)) this.hidden = -1;
      return;
    }
    if (this.now && this.now.kind === now.kind && this.now.query === now.query && this.now.from === now.from) return;
    this.now = now;
    this.isChosen = false;
    clearTimeout(this.timer);
    // Blocks are listed at once: Enter may be the next key, and it means the list of what was typed.
    if (now.kind === "block") this.show(view, now, shortcuts(this.editor, now.query, this.upload));
    else this.timer = setTimeout(() => this.ask(view, now), WAIT);
  }

  async ask(view, now) {
    const number = (this.count += 1);
    const items = await asked[now.kind](this.editor, now.query).catch(() => []);
    if (number === this.count && this.now === now && !view.isDestroyed) this.show(view, now, items);
  }

  show(view, now, items) {
    this.shown = now;
    const rows = items.map((item) => ({ ...item, run: () => this.run(item) }));
    if (!rows.length) this.pop.close();
    else this.pop.show(rows, view.coordsAtPos(now.from), [[["↑", "↓"], words.keys.choose], [["Enter"], words.keys.insert], [["Esc"], words.keys.close]]);
    if (!this.isChosen) return;
    this.isChosen = false;
    if (rows.length) this.pop.choose(0);
    else this.editor.commands.enter();
  }

  run(item) {
    const now = found(this.editor.state, -1);
    if (now) item.run(now);
  }

  press(event) {
    if (event.key === "Escape" && this.pop.isOpen) {
      this.hidden = this.now.from;
      this.close();
      return true;
    }
    // The list on the screen is older than the text: the key waits for the list that is on its way.
    if (this.pop.isOpen && this.shown !== this.now && (event.key === "Enter" || event.key === "Tab")) {
      this.isChosen = true;
      return true;
    }
    return this.pop.press(event);
  }

  close() {
    clearTimeout(this.timer);
    this.count += 1;
    this.now = null;
    this.isChosen = false;
    this.pop.close();
  }

  destroy() {
    this.close();
  }
}

export const Menus = (upload) =>
  Extension.create({
    name: "menus",
    priority: 1000,
    addProseMirrorPlugins() {
      let typed = null;
      const { editor } = this;
      return [
        new Plugin({
          key: new PluginKey("menus"),
          view: (view) => (typed = new Typed(editor, view, upload)),
          props: {
            handleKeyDown: (_view, event) => typed.press(event),
            handleDOMEvents: { blur: () => (typed.close(), false) },
          },
        }),
      ];
    },
  });
