// Comments on a passage: marks the passages in the text, and takes the selection as the passage of a new comment.
"use strict";

(() => {
  const text = document.getElementById("text");
  const list = document.getElementById("comments-list");
  if (!text || !list) return;

  // The text without blanks, with the place of each character: blanks differ between a selection and the page.
  const read = () => {
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    const found = { words: "", places: [] };
    while (walker.nextNode()) {
      const { data } = walker.currentNode;
      for (let offset = 0; offset < data.length; offset += 1) {
        if (/\s/.test(data[offset])) continue;
        found.words += data[offset];
        found.places.push([walker.currentNode, offset]);
      }
    }
    return found;
  };
  const rangeOf = (quote, { words, places }) => {
    const wanted = quote.replace(/\s+/g, "");
    const at = wanted ? words.indexOf(wanted) : -1;
    if (at < 0) return null;
    const range = document.createRange();
    range.setStart(...places[at]);
    const [last, end] = places[at + wanted.length - 1];
    range.setEnd(last, end + 1);
    return range;
  };

  const show = () => {
    const all = read();
    const ranges = [];
    for (const thread of list.querySelectorAll("[data-thread]")) {
      const range = rangeOf(thread.dataset.quote, all);
      thread.classList.toggle("is-lost", Boolean(thread.dataset.quote) && !range);
      if (range) ranges.push(range);
    }
    for (const count of document.querySelectorAll("#comments > summary .count")) count.textContent = list.querySelectorAll("[data-thread]").length;
    if (window.CSS?.highlights) CSS.highlights.set("commented", new Highlight(...ranges));
  };
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(show, 300);
  };
  new MutationObserver(later).observe(text, { childList: true, subtree: true, characterData: true });
  new MutationObserver(later).observe(list, { childList: true });

  // The button above a selection.
  const bubble = document.querySelector("[data-comment-bubble]");
  const chosen = () => {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed || !text.contains(selection.anchorNode) || !text.contains(selection.focusNode)) return "";
    return selection.toString().replace(/\s+/g, " ").trim().slice(0, 500);
  };
  const place = () => {
    const words = chosen();
    bubble.hidden = !words;
    if (!words) return;
    const box = getSelection().getRangeAt(0).getBoundingClientRect();
    const width = bubble.offsetWidth;
    bubble.style.top = `${window.scrollY + box.top - bubble.offsetHeight - 8}px`;
    bubble.style.left = `${Math.max(8, Math.min(window.scrollX + box.left, document.documentElement.clientWidth - width - 8))}px`;
  };
  document.addEventListener("selectionchange", () => setTimeout(place, 0));
  const begin = () => {
    const words = chosen();
    const form = list.querySelector("[data-comment-form]");
    form.elements.quote.value = words;
    const quote = form.querySelector("[data-comment-quote]");
    quote.textContent = words;
    quote.hidden = !words;
    bubble.hidden = true;
    form.elements.text.focus();
    form.scrollIntoView({ block: "nearest" });
  };
  bubble.addEventListener("mousedown", (event) => event.preventDefault());
  bubble.addEventListener("click", begin);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.altKey && event.key.toLowerCase() === "m") { event.preventDefault(); begin(); }
  });
  list.addEventListener("click", (event) => {
    const quote = event.target.closest("[data-thread] > .thread-quote");
    const range = quote && rangeOf(quote.parentElement.dataset.quote, read());
    if (range) range.startContainer.parentElement.scrollIntoView({ block: "center" });
  });
  list.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form?.requestSubmit();
  });
  show();
})();
