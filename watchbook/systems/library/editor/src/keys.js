// Keys that other editors have taught: Backspace makes a heading plain, Ctrl+A takes the code block first.
import { Extension } from "@tiptap/core";

export const Keys = Extension.create({
  name: "keys",
  priority: 200,
  addKeyboardShortcuts: () => ({
    Backspace: ({ editor }) => {
      const { empty, $from } = editor.state.selection;
      if (!empty || $from.parentOffset > 0 || $from.parent.type.name !== "heading") return false;
      return editor.commands.setParagraph();
    },
    "Mod-a": ({ editor }) => {
      const { $from, from, to } = editor.state.selection;
      const [start, end] = [$from.start(), $from.end()];
      if (!$from.parent.type.spec.code || (from === start && to === end)) return false;
      return editor.commands.setTextSelection({ from: start, to: end });
    },
  }),
});
