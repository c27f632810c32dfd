// What the page gives to the editor: the form, its words in the reader's language, its addresses, its icons.
export const form = document.getElementById("editor");
export const text = document.getElementById("text");
export const title = document.querySelector(".title-input");
const told = document.getElementById("editor-words");
export const words = told ? JSON.parse(told.textContent) : {};
export const place = form ? form.dataset : {};

const SVG = "http://www.w3.org/2000/svg";
// The sprite of the page, and ours.
const OWN = new Set("bold italic strike undo redo heading numbered task callout divider comment comment-add reply upload attachment grip copy merge row-above row-below outline backlink align-left align-wide alt column-before column-after sub sup underline".split(" "));

export const icon = (name) => {
  const drawn = document.createElementNS(SVG, "svg");
  drawn.setAttribute("class", "icon");
  drawn.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${OWN.has(name) ? place.icons : place.sprite}#${name}`);
  drawn.append(use);
  return drawn;
};

export const made = (tag, attributes = {}, content = "") => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (content) element.textContent = content;
  return element;
};

// A command on the text, with the cursor in it at once. The editor's own command waits for the next frame: keys that
// come before it are lost, or are undone by it.
export const typing = (editor) => {
  if (!editor.view.hasFocus()) editor.view.focus();
  return editor.chain().scrollIntoView();
};

export const csrf = () => form.elements.csrfmiddlewaretoken.value;

export const ask = async (address, body) => {
  const options = { headers: { Accept: "application/json" } };
  if (body) {
    body.set("csrfmiddlewaretoken", csrf());
    Object.assign(options, { method: "POST", body });
  }
  const answer = await fetch(address, options);
  const given = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(given?.error?.message || words.failed);
  return given;
};
