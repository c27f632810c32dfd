// The languages that code blocks are coloured in.
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

export const highlighter = createLowlight({ bash, css, diff, javascript, json, markdown, python, sql, typescript, xml, yaml });
// A block without a language stays plain: guessing is slow and often wrong.
highlighter.highlightAuto = (text) => ({ type: "root", children: [{ type: "text", value: text }] });

export const LANGUAGES = [
  ["", ""],
  ["bash", "Shell"],
  ["css", "CSS"],
  ["diff", "Diff"],
  ["javascript", "JavaScript"],
  ["json", "JSON"],
  ["markdown", "Markdown"],
  ["python", "Python"],
  ["sql", "SQL"],
  ["typescript", "TypeScript"],
  ["xml", "HTML, XML"],
  ["yaml", "YAML"],
];
