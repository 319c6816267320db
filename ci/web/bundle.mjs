// Bundles plots.mjs with Vega into one script for report.html, in a folder where `npm ci` has been run.
// usage: node bundle.mjs OUTPUT LICENCES    (LICENCES: the file that must name every package of the bundle)
// With --write-licences as a third argument that file is written instead of checked.
import {readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {build} from 'esbuild';

const [output, licences, write] = process.argv.slice(2);
const result = await build({
  entryPoints: ['plots.mjs'], outfile: output, bundle: true, minify: true, format: 'iife', target: 'es2020',
  legalComments: 'none', metafile: true, logLevel: 'warning',
});

const packages = [...new Set(Object.keys(result.metafile.inputs)
  .map((path) => path.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]).filter(Boolean))].sort();
if (write) {
  const by_text = new Map();
  for (const name of packages) {
    const folder = `node_modules/${name}`;
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? readFileSync(`${folder}/${file}`, 'utf8').replaceAll('\r', '').trim()
      : `${JSON.parse(readFileSync(`${folder}/package.json`)).license} (the package carries no further text)`;
    by_text.set(text, [...(by_text.get(text) ?? []), name]);
  }
  writeFileSync(licences, 'The plots of report.html are drawn by these packages, under these licences.\n' +
    [...by_text].map(([text, names]) => `\n=== ${names.join(', ')} ===\n\n${text}\n`).join(''));
} else {
  const named = new Set([...readFileSync(licences, 'utf8').matchAll(/^=== (.*) ===$/gm)].flatMap((line) => line[1].split(', ')));
  const missing = packages.filter((name) => !named.has(name));
  if (missing.length > 0) throw new Error(`${licences} lacks ${missing.join(', ')}: write it anew with --write-licences`);
}
