// Between the editor's document and the HTML that is stored.
import { DOMSerializer } from "@tiptap/pm/model";

// A document that is not shown: setting the address of a picture there asks no server for it.
const inert = document.implementation.createHTMLDocument("");

export const stored = (editor) => {
  const { schema, doc } = editor.state;
  const box = inert.createElement("div");
  box.append(DOMSerializer.fromSchema(schema).serializeFragment(doc.content, { document: inert }));
  for (const wrap of box.querySelectorAll(".table-wrap")) wrap.replaceWith(...wrap.childNodes);
  for (const table of box.querySelectorAll("table")) restoreHead(table);
  for (const cell of box.querySelectorAll("td, th")) unwrapOnly(cell);
  for (const item of box.querySelectorAll("li")) {
    if (item.hasAttribute("data-loose")) item.removeAttribute("data-loose");
    else unwrapFirst(item);
  }
  for (const caption of box.querySelectorAll("figcaption")) if (!caption.childNodes.length) caption.remove();
  dropAttributes(box);
  // The empty line at the end is there to write on.
  const last = box.lastElementChild;
  if (last?.tagName === "P" && !last.childNodes.length) last.remove();
  return box.innerHTML;
};

const restoreHead = (table) => {
  const body = table.querySelector("tbody");
  const rows = [...body.children];
  const isHead = (row) => row && row.children.length > 0 && [...row.children].every((cell) => cell.tagName === "TH");
  if (!isHead(rows[0])) return;
  const head = inert.createElement("thead");
  while (isHead(rows[0])) head.append(rows.shift());
  body.before(head);
  if (!rows.length) body.remove();
};

const unwrapOnly = (cell) => {
  const only = cell.children.length === 1 && cell.firstElementChild;
  if (only && only.tagName === "P") only.replaceWith(...only.childNodes);
};

// A paragraph alone, or with lists after it, is written without its tag: Markdown calls that a tight list.
const unwrapFirst = (item) => {
  const [first, ...rest] = item.children;
  if (first?.tagName === "P" && rest.every((child) => /^[UO]L$/.test(child.tagName))) first.replaceWith(...first.childNodes);
};

const ONES = ["colspan", "rowspan"];
const dropAttributes = (box) => {
  for (const cell of box.querySelectorAll("td, th")) {
    for (const name of ONES) if (cell.getAttribute(name) === "1") cell.removeAttribute(name);
  }
  for (const link of box.querySelectorAll("a")) for (const name of ["target", "rel", "class"]) link.removeAttribute(name);
  for (const list of box.querySelectorAll('ol[start="1"]')) list.removeAttribute("start");
};

// The anchor of a heading, the same as the server gives it.
export const anchors = (doc) => {
  const found = [];
  const taken = new Map();
  doc.descendants((node, position) => {
    if (node.type.name !== "heading") return !node.isTextblock;
    const base = slug(node.textContent);
    const number = (taken.get(base) || 0) + 1;
    taken.set(base, number);
    found.push({ position, size: node.nodeSize, level: node.attrs.level, text: node.textContent, id: number > 1 ? `${base}-${number}` : base });
    return false;
  });
  return found;
};

export const slug = (words) => {
  const kept = words.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").trim().replace(/\s+/g, "-").slice(0, 80);
  return `h-${kept || "section"}`;
};
