// Bundles the editor. `make editor` calls it after `npm ci`; the answer is the same on every machine.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const [modules, target] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const { build } = createRequire(join(modules, "x.js"))("esbuild");

// A test compares this with the sources, without node.
const digest = createHash("sha256");
for (const name of ["build.mjs", "package-lock.json", ...readdirSync(join(here, "src")).sort().map((one) => `src/${one}`)]) {
  digest.update(name).update("\0").update(readFileSync(join(here, name)));
}

const result = await build({
  entryPoints: [join(here, "src/main.js")],
  absWorkingDir: here,
  nodePaths: [modules],
  bundle: true,
  write: false,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  banner: { js: `/* Built by make editor from ${digest.digest("hex")}. Licences: editor.licences.txt */` },
});
const bundle = result.outputFiles[0].contents;
writeFileSync(join(target, "editor.js"), bundle);

// What is in the bundle, and on what terms.
const packages = new Set();
for (const path of Object.keys(result.metafile.inputs)) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
  if (found) packages.add(found[1]);
}
const parts = [...packages].sort().map((name) => {
  const room = join(modules, name);
  const { version, license } = JSON.parse(readFileSync(join(room, "package.json"), "utf8"));
  const file = readdirSync(room).find((one) => /^licen[cs]e/i.test(one));
  const text = file && existsSync(join(room, file)) ? readFileSync(join(room, file), "utf8").trim() : "";
  return `${name} ${version} (${license})\n\n${text || "Its package has no licence file; the licence is named above."}`;
});
writeFileSync(join(target, "editor.licences.txt"), `${parts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`);
console.log(`editor.js: ${bundle.length} bytes, ${gzipSync(bundle, { level: 9 }).length} bytes gzip, ${packages.size} packages`);
