// What other programs put on the clipboard becomes the blocks of a page.
const inert = document.implementation.createHTMLDocument("");
const element = (tag) => inert.createElement(tag);
const unwrap = (node) => node.replaceWith(...node.childNodes);
const renamed = (node, tag) => {
  const fresh = element(tag);
  fresh.append(...node.childNodes);
  node.replaceWith(fresh);
  return fresh;
};

// The policy of the site does not apply styles and handlers, and reports each one: they are renamed before parsing.
const STYLE = /(<[a-z][^<>]*?[\s"'/])(style|on[a-z]+)(\s*=)/gi;
const sheetOf = (html) => [...html.matchAll(/<style[^>]*>([\s\S]*?)<\/style>/gi)].map((hit) => hit[1]).join("\n");
export const withoutStyles = (html) => {
  let text = html.replace(/<(style|script|xml|title)\b[\s\S]*?<\/\1\s*>/gi, "").replace(/<!--\[if[\s\S]*?<!\[endif\]-->/gi, "");
  text = text.replace(/<!\[(?:if|endif)[^>]*>/gi, "");
  // More than once: an element may have several, and a match takes all that stands before it.
  for (let last = ""; last !== text; ) [last, text] = [text, text.replace(STYLE, (_hit, before, name, after) => `${before}data-${name.toLowerCase() === "style" ? "style" : "gone"}${after}`)];
  return text;
};
const styleOf = (node, name) => {
  const found = new RegExp(`(?:^|;)\\s*${name}\\s*:\\s*([^;]+)`, "i").exec(node.getAttribute("data-style") || "");
  return found ? found[1].trim().toLowerCase() : "";
};

export const cleanPaste = (html) => {
  const sheet = sheetOf(html);
  const box = element("div");
  box.innerHTML = new DOMParser().parseFromString(withoutStyles(html), "text/html").body.innerHTML;
  dropForeign(box);
  officeLists(box);
  alignment(box, sheet);
  marks(box);
  nestedLists(box);
  tasks(box);
  callouts(box);
  code(box);
  pictures(box);
  flatten(box);
  for (const line of box.querySelectorAll("li > p:first-child:not(:has(~ p))")) unwrap(line);
  return box.innerHTML;
};

const dropForeign = (box) => {
  const gone = "clipboard-copy, .zeroclipboard-container, button, a.anchor, a.headerlink, svg, template, noscript, iframe, object, meta, link, col, colgroup, .sr-only";
  for (const node of box.querySelectorAll(gone)) node.remove();
  // Word's `o:p` holds nothing but a space.
  for (const node of [...box.querySelectorAll("*")].filter((one) => one.tagName.includes(":"))) unwrap(node);
  const walker = inert.createTreeWalker(box, NodeFilter.SHOW_COMMENT);
  const comments = [];
  while (walker.nextNode()) comments.push(walker.currentNode);
  for (const one of comments) one.remove();
};

// Word and WPS write lists as paragraphs with a level and a bullet of their own.
const officeLists = (box) => {
  let stack = [];
  let last = null;
  for (const line of [...box.querySelectorAll("p, h1, h2, h3, h4, h5, h6")]) {
    const level = /level(\d)/.exec(styleOf(line, "mso-list"));
    if (!level) {
      if (/MsoTitle/.test(line.className)) renamed(line, "h1");
      continue;
    }
    const mark = [...line.querySelectorAll("[data-style]")].find((one) => /ignore/.test(styleOf(one, "mso-list")));
    const bullet = (mark?.textContent || "").trim();
    mark?.remove();
    const depth = Number(level[1]);
    const kind = /^[([]?(\d+|[a-z]|[ivx]+|[一二三四五六七八九十]+)[.)\]、．]/i.test(bullet) ? "ol" : "ul";
    const isNew = !last || !follows(last, line);
    if (isNew) stack = [];
    while (stack.length > depth) stack.pop();
    while (stack.length < depth) {
      const list = element(kind);
      const start = kind === "ol" && stack.length === depth - 1 ? parseInt(bullet, 10) : 1;
      if (start > 1) list.setAttribute("start", start);
      if (stack.length) (stack.at(-1).lastElementChild || stack.at(-1).appendChild(element("li"))).append(list);
      else line.before(list);
      stack.push(list);
    }
    const item = element("li");
    if (/^[☐☒☑]/.test(bullet)) item.setAttribute("data-checked", bullet[0] !== "☐");
    item.append(...line.childNodes);
    stack.at(-1).append(item);
    last = stack[0];
    line.remove();
  }
};
const follows = (list, line) => {
  let next = list.nextSibling;
  while (next && next.nodeType === 3 && !next.textContent.trim()) next = next.nextSibling;
  return next === line;
};

// Excel and WPS say the alignment of a cell in a style, in a class of their sheet, or as an attribute.
const alignment = (box, sheet) => {
  const classes = new Map();
  for (const [, name, rules] of sheet.matchAll(/\.([\w-]+)\s*\{([^}]*)\}/g)) {
    const found = /text-align\s*:\s*(left|center|right)/i.exec(rules);
    if (found) classes.set(name, found[1].toLowerCase());
  }
  for (const cell of box.querySelectorAll("td, th")) {
    const inner = cell.children.length === 1 && cell.firstElementChild.tagName === "P" ? cell.firstElementChild : null;
    const said = styleOf(cell, "text-align") || (inner && styleOf(inner, "text-align")) || cell.getAttribute("align") || [...cell.classList].map((one) => classes.get(one)).find(Boolean);
    if (["left", "center", "right"].includes(said)) cell.setAttribute("align", said);
    else cell.removeAttribute("align");
  }
};

const isBold = (value) => value === "bold" || value === "bolder" || Number(value) >= 600;
const MONO = /mono|courier|consolas|menlo/;
const marks = (box) => {
  // Google Docs wraps everything in a `b` that says it is not bold.
  for (const node of box.querySelectorAll("b, strong")) if (/normal|^400$/.test(styleOf(node, "font-weight"))) unwrap(node);
  for (const node of box.querySelectorAll("i, em")) if (styleOf(node, "font-style") === "normal") unwrap(node);
  for (const node of box.querySelectorAll("span[data-style], font[data-style]")) {
    const inHeading = node.closest("h1, h2, h3, h4, h5, h6");
    const inLink = node.closest("a");
    const wanted = [];
    if (isBold(styleOf(node, "font-weight")) && !inHeading) wanted.push("strong");
    if (styleOf(node, "font-style") === "italic") wanted.push("em");
    const line = styleOf(node, "text-decoration") + styleOf(node, "text-decoration-line");
    if (/underline/.test(line) && !inLink) wanted.push("u");
    if (/line-through/.test(line)) wanted.push("s");
    if (/super/.test(styleOf(node, "vertical-align"))) wanted.push("sup");
    if (/^sub/.test(styleOf(node, "vertical-align"))) wanted.push("sub");
    if (MONO.test(styleOf(node, "font-family")) && !node.closest("pre, code")) wanted.push("code");
    for (const tag of wanted) {
      const mark = element(tag);
      mark.append(...node.childNodes);
      node.append(mark);
    }
    unwrap(node);
  }
};

// A list may stand in an item only: others put it beside.
const nestedLists = (box) => {
  for (const list of box.querySelectorAll(":is(ul, ol) > :is(ul, ol)")) {
    const before = list.previousElementSibling;
    if (before?.tagName === "LI") before.append(list);
    else {
      const item = element("li");
      list.before(item);
      item.append(list);
    }
  }
};

const tasks = (box) => {
  for (const item of box.querySelectorAll("li")) {
    const state = taskState(item);
    if (state === null) continue;
    item.setAttribute("data-type", "taskItem");
    item.setAttribute("data-checked", String(state));
    // The line through a done task is drawn by the page.
    if (state) for (const line of item.querySelectorAll("s, del, strike")) unwrap(line);
    if (item.parentElement.tagName !== "UL") renamed(item.parentElement, "ul");
    item.parentElement.setAttribute("data-type", "taskList");
  }
  // One kind of item a list: plain ones beside tasks become open tasks.
  for (const item of box.querySelectorAll('ul[data-type="taskList"] > li:not([data-type])')) {
    item.setAttribute("data-type", "taskItem");
    item.setAttribute("data-checked", "false");
  }
};
const taskState = (item) => {
  if (item.getAttribute("data-type") === "taskItem" || item.hasAttribute("data-checked")) return item.getAttribute("data-checked") === "true";
  const own = (selector) => [...item.querySelectorAll(selector)].find((one) => one.closest("li") === item);
  // GitHub and web pages: a check box. The attribute says it, not the box of this copy.
  const box = own('input[type="checkbox"]');
  if (box) {
    const state = box.hasAttribute("checked");
    box.remove();
    return state;
  }
  // Google Docs: a role, and a picture of a box.
  if (item.getAttribute("role") === "checkbox" || item.hasAttribute("aria-checked")) {
    own('img[aria-roledescription="checkbox"], img[alt="checked"], img[alt="unchecked"]')?.remove();
    return item.getAttribute("aria-checked") === "true";
  }
  // Notion: an element with a class, or the words themselves.
  const mark = own(".checkbox");
  if (mark) {
    const state = /checkbox-on|checked/.test(mark.className);
    mark.remove();
    return state;
  }
  const first = firstText(item);
  const typed = first && /^\s*\[([ xX]?)\]\s+/.exec(first.textContent);
  if (typed) {
    first.textContent = first.textContent.slice(typed[0].length);
    return typed[1].trim() !== "";
  }
  const drawn = first && /^\s*([☐☑☒])\s*/.exec(first.textContent);
  if (!drawn) return null;
  first.textContent = first.textContent.slice(drawn[0].length);
  return drawn[1] !== "☐";
};
const firstText = (node) => {
  const walker = inert.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (walker.currentNode.textContent.trim()) return walker.currentNode;
  return null;
};

const callouts = (box) => {
  for (const alert of box.querySelectorAll(".markdown-alert")) {
    alert.querySelector(".markdown-alert-title")?.remove();
    const kind = /markdown-alert-(note|tip|important|warning|caution)/.exec(alert.className)?.[1] || "note";
    renamed(alert, "blockquote").setAttribute("data-callout", kind);
  }
  for (const aside of box.querySelectorAll("aside")) {
    const first = firstText(aside);
    // Notion's callout begins with its sign.
    if (first) first.textContent = first.textContent.replace(/^\s*\p{Extended_Pictographic}\uFE0F?\s*/u, "");
    renamed(aside, "blockquote").setAttribute("data-callout", "note");
  }
};

const code = (box) => {
  for (const pre of box.querySelectorAll("pre")) {
    const from = [pre.parentElement.className, pre.className, pre.querySelector("code")?.className, pre.getAttribute("lang"), pre.querySelector("code")?.getAttribute("data-lang")].join(" ");
    const named = /(?:highlight-(?:source|text)-|language-|lang-|brush:\s*)([\w+#-]+)/.exec(from)?.[1];
    const language = { shell: "bash", sh: "bash", js: "javascript", ts: "typescript", py: "python", html: "xml", "html-basic": "xml" }[named] || named;
    for (const line of pre.querySelectorAll("br")) line.replaceWith("\n");
    const inner = element("code");
    inner.textContent = pre.textContent.replace(/\n$/, "");
    if (language) inner.className = `language-${language}`;
    pre.replaceChildren(inner);
    if (/highlight/.test(pre.parentElement.className)) unwrap(pre.parentElement);
  }
};

// A picture from another program is a file of that machine, or data that is too large for a text: its words stay.
const pictures = (box) => {
  for (const image of box.querySelectorAll("img")) {
    const address = image.getAttribute("src") || "";
    if (/^https?:\/\//i.test(address) || address.startsWith("/library/files/")) continue;
    const alt = (image.getAttribute("alt") || "").trim();
    image.replaceWith(alt);
  }
};

const BLOCK = "p, h1, h2, h3, h4, h5, h6, ul, ol, table, blockquote, pre, hr, figure, div, section, article";
const flatten = (box) => {
  for (const summary of box.querySelectorAll("summary, dt, dd, caption, legend, address")) renamed(summary, "p");
  // Innermost first: a box with blocks inside is only a box, a box with words is a paragraph.
  for (const holder of [...box.querySelectorAll("div, section, article, main, header, footer, nav, details, dl, center")].reverse()) {
    if (holder.closest("li, td, th, pre") || holder.querySelector(BLOCK)) unwrap(holder);
    else if (holder.textContent.trim() || holder.querySelector("img")) renamed(holder, "p");
    else holder.remove();
  }
  // Two breaks are the end of a paragraph.
  for (const line of box.querySelectorAll("p")) split(line);
  for (const line of box.querySelectorAll("p")) if (!line.textContent.trim() && !line.querySelector("img, br")) line.remove();
};
const split = (line) => {
  const breaks = [...line.children].filter((one) => one.tagName === "BR" && nextOf(one)?.tagName === "BR");
  for (const one of breaks) {
    if (!one.isConnected && one.parentNode !== line) continue;
    const before = element("p");
    while (line.firstChild !== one) before.append(line.firstChild);
    nextOf(one)?.remove();
    one.remove();
    line.before(before);
  }
};
const nextOf = (node) => {
  let next = node.nextSibling;
  while (next && next.nodeType === 3 && !next.textContent.trim()) next = next.nextSibling;
  return next;
};

// Plain text that is Markdown: two signs of it, or one that nothing else looks like.
const SURE = /^(#{1,6} \S|```|- \[[ xX]\] |\|.+\|\s*\n\|[\s:|-]+\|)/m;
const SIGNS = [/^[-*+] \S/m, /^\d+\. \S/m, /^> \S/m, /\*\*\S[^*]*\*\*/, /\[[^\]\n]+\]\((https?:|\/)[^)\s]+\)/, /`[^`\n]+`/, /\[\[[^\]\n]+\]\]/];
export const isMarkdown = (words) => SURE.test(words) || SIGNS.filter((sign) => sign.test(words)).length >= (/^[-*+] \S.*\n[-*+] \S/m.test(words) ? 1 : 2);

// Lines with equal numbers of tabs are the cells of a table: so terminals and databases write them.
export const asTable = (words) => {
  const rows = words.replace(/\r/g, "").replace(/\n+$/, "").split("\n").map((line) => line.split("\t"));
  if (rows.length < 2 || rows[0].length < 2 || rows.some((cells) => cells.length !== rows[0].length || !cells[0].trim())) return "";
  const table = element("table");
  for (const cells of rows) {
    const row = table.appendChild(element("tr"));
    for (const cell of cells) row.appendChild(element("td")).textContent = cell.trim();
  }
  return table.outerHTML;
};
