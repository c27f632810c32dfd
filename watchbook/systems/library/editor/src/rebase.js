// Puts what others wrote into what is shown: the smallest places that differ, so that the cursor and what was typed since stay.
import { Transform } from "@tiptap/pm/transform";

// Longer stretches that differ are replaced as one.
const COMPARED = 250_000;
// One Chinese character, a word, blanks, or one other sign: as the server cuts a text.
const TOKEN = /\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{M}\p{N}_])+|\s+|./gsu;

// The places of `before` that differ, from its start to its end, each with what `after` has there: [from, to, fragment].
export const changes = (before, after) => {
  const found = inside(before, after, 0);
  const tried = found.reduceRight((tr, [from, to, fragment]) => tr.replaceWith(from, to, fragment), new Transform(before));
  return tried.doc.eq(after) ? found : [[0, before.content.size, after.content]];
};

// The same places after the steps of `maps`; null where what is replaced was changed since. What was typed at a place comes first.
export const moved = (places, before, maps, now) => {
  const found = [];
  for (const [from, to, fragment] of places) {
    let [start, end] = [from, to];
    for (const map of maps) [start, end] = [map.map(start, 1), map.map(end, from === to ? 1 : -1)];
    if (start > end || !now.slice(start, end).eq(before.slice(from, to))) return null;
    found.push([start, end, fragment]);
  }
  return found;
};

// `at` is the place of the first child in the document.
const inside = (before, after, at) => {
  if (before.isTextblock) return replaced(tokens(before), tokens(after), after, at);
  return runs(children(before), children(after), (one, other) => one.node.eq(other.node)).flatMap(([olds, news]) =>
    olds.items.length === news.items.length
      ? olds.items.flatMap((old, index) => pair(old, news.items[index], at))
      : beside(olds, news, after, at),
  );
};

// Not as many blocks on both sides: those that are alike are compared, the others are new or gone.
const beside = (olds, news, after, at) => {
  const found = [];
  const pairs = [...common(olds.items, news.items, alike), [olds.items.length, news.items.length]];
  let [first, second] = [0, 0];
  for (const [old, fresh] of pairs) {
    found.push(...place(part(olds, first, old), part(news, second, fresh), after, at));
    if (old < olds.items.length) found.push(...pair(olds.items[old], news.items[fresh], at));
    [first, second] = [old + 1, fresh + 1];
  }
  return found;
};

const pair = (old, fresh, at) => {
  if (old.node.eq(fresh.node)) return [];
  if (!old.node.sameMarkup(fresh.node) || old.node.isLeaf) return [[at + old.from, at + old.to, fresh.node]];
  return inside(old.node, fresh.node, at + old.from + 1);
};

const alike = (one, other) => {
  if (!one.node.sameMarkup(other.node) || one.node.isLeaf) return false;
  const [words, others] = [one, other].map((item) => (item.words ??= new Set(item.node.textContent.match(TOKEN)?.filter((word) => word.trim()))));
  return 2 * [...words].filter((word) => others.has(word)).length > Math.min(words.size, others.size);
};

const replaced = (olds, news, after, at) =>
  runs(olds, news, (one, other) => one.node.eq(other.node)).flatMap(([old, fresh]) => place(old, fresh, after, at));

const place = (old, fresh, after, at) =>
  old.from === old.to && fresh.from === fresh.to ? [] : [[at + old.from, at + old.to, after.content.cut(fresh.from, fresh.to)]];

const children = (node) => {
  const found = [];
  node.forEach((child, from) => found.push({ node: child, from, to: from + child.nodeSize }));
  return found;
};

// Words, blanks and signs with their marks, and what is no text.
const tokens = (block) =>
  children(block).flatMap(({ node, from, to }) =>
    node.isText
      ? [...node.text.matchAll(TOKEN)].map(({ index, 0: words }) => ({ node: node.cut(index, index + words.length), from: from + index, to: from + index + words.length }))
      : [{ node, from, to }],
  );

const part = ({ items, from, to }, low, high) => ({
  items: items.slice(low, high),
  from: low ? items[low - 1].to : from,
  to: high < items.length ? items[high].from : to,
});

// The stretches that differ, as pairs of parts.
const runs = (olds, news, same) => {
  const whole = (items) => ({ items, from: 0, to: items.at(-1)?.to ?? 0 });
  const found = [];
  let [first, second] = [0, 0];
  for (const [old, fresh] of [...common(olds, news, same), [olds.length, news.length]]) {
    if (first < old || second < fresh) found.push([part(whole(olds), first, old), part(whole(news), second, fresh)]);
    [first, second] = [old + 1, fresh + 1];
  }
  return found;
};

// The pairs of the longest common sequence, after what is equal at both ends.
const common = (olds, news, same) => {
  let head = 0;
  const most = Math.min(olds.length, news.length);
  while (head < most && same(olds[head], news[head])) head += 1;
  let tail = 0;
  while (tail < most - head && same(olds.at(-1 - tail), news.at(-1 - tail))) tail += 1;
  const [height, width] = [olds.length - head - tail, news.length - head - tail];
  const found = Array.from({ length: head }, (_none, index) => [index, index]);
  if (height * width <= COMPARED) {
    // At [row][column]: the length of the longest sequence from there on.
    const lengths = Array.from({ length: height + 1 }, () => new Uint16Array(width + 1));
    const equal = (row, column) => same(olds[head + row], news[head + column]);
    for (let row = height - 1; row >= 0; row -= 1) {
      for (let column = width - 1; column >= 0; column -= 1) {
        lengths[row][column] = equal(row, column) ? lengths[row + 1][column + 1] + 1 : Math.max(lengths[row + 1][column], lengths[row][column + 1]);
      }
    }
    for (let row = 0, column = 0; row < height && column < width; ) {
      if (equal(row, column)) found.push([head + row++, head + column++]);
      else if (lengths[row + 1][column] >= lengths[row][column + 1]) row += 1;
      else column += 1;
    }
  }
  for (let index = tail; index > 0; index -= 1) found.push([olds.length - index, news.length - index]);
  return found;
};
