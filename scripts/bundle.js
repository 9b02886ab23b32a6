// @ts-check
// Builds what the browser loads: the scripts of viz/components, bundled, in headlight/browser.
//
//   node scripts/bundle.js           writes the files
//   node scripts/bundle.js --check   says which of them are not what the sources make, and then fails

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const OUT = join(ROOT, "headlight", "browser");
const SUMS = "built.sha256";
const COMPONENTS = join(ROOT, "viz", "components");

/** @param {string} text */
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

/** A style sheet is imported as its text, without what only people read. @type {import("esbuild").Plugin} */
const styles = {
  name: "styles",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
  },
};

// A component is a folder with a script of its own name.
const folders = (await readdir(COMPONENTS)).sort();
const scripts = folders
  .map((name) => join(COMPONENTS, name, `${name}.js`))
  .filter((path) => existsSync(path));

const { outputFiles } = await build({
  absWorkingDir: ROOT,
  entryPoints: scripts,
  outdir: OUT,
  bundle: true,
  write: false,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  // With a line of its own: Streamlit takes a script without a line break for the name of a file.
  banner: { js: "// Built from viz/components by `make views`." },
  plugins: [styles],
});

const built = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
// What was built of what, in the form of sha256sum: a test compares it where these tools are not installed.
const sources = (await readdir(COMPONENTS, { recursive: true })).filter((name) => /\.(js|css)$/.test(name));
const sums = [...built].map(([name, text]) => `${sha256(text)}  headlight/browser/${name}`);
for (const name of sources.sort()) {
  sums.push(
    `${sha256(await readFile(join(COMPONENTS, name), "utf8"))}  viz/components/${name.replaceAll("\\", "/")}`,
  );
}
built.set(SUMS, `${sums.join("\n")}\n`);
await mkdir(OUT, { recursive: true });
const present = await readdir(OUT);

if (process.argv.includes("--check")) {
  const stale = [];
  for (const name of new Set([...present, ...built.keys()])) {
    const text = await readFile(join(OUT, name), "utf8").catch(() => null);
    if (text !== built.get(name)) stale.push(name);
  }
  if (stale.length) {
    console.error(`Not what the sources make: ${stale.join(", ")}. Run \`make views\`.`);
    process.exitCode = 1;
  }
} else {
  for (const name of present) if (!built.has(name)) await rm(join(OUT, name));
  for (const [name, text] of built) await writeFile(join(OUT, name), text);
}
