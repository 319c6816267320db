// The picture of the README: the top of a report, and its storm.
// usage: node picture.mjs MODULES REPORT.html OUTPUT.png
import {createRequire} from 'node:module';
import {resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [modules, report, output] = process.argv.slice(2).map((path) => resolve(path));
const {chromium} = createRequire(modules + '/')('playwright-core');
const browser = await chromium.launch({executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']});
const page = await (await browser.newContext({offline: true, viewport: {width: 1000, height: 1000}})).newPage();
await page.goto(pathToFileURL(report).href);
await page.waitForSelector('html[data-plots=all]', {timeout: 60000, state: 'attached'});
// What a reader would scroll past is left out.
await page.evaluate(() => {
  for (const heading of document.querySelectorAll('section[aria-labelledby^=g] h3:not([id$=-completion_5fs])')) {
    let next = heading.nextElementSibling;
    while (next && next.tagName !== 'H3') { const after = next.nextElementSibling; next.remove(); next = after; }
    heading.remove();
  }
  for (const one of document.querySelectorAll('nav, footer, #main > section:nth-of-type(n + 4), figure[data-plot] details')) one.remove();
});
await page.screenshot({path: output, fullPage: true});
await browser.close();
