// Opens the pages that ci/html_test.cpp keeps in a browser without network: plots, tooltips, zoom, print, speed.
// usage: node page_test.mjs MODULES PAGES SCREENSHOTS     (MODULES: where playwright-core is installed)
import {mkdirSync} from 'node:fs';
import {createRequire} from 'node:module';
import {resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [modules, pages, shots] = process.argv.slice(2).map((path) => resolve(path));
const {chromium} = createRequire(modules + '/')('playwright-core');
mkdirSync(shots, {recursive: true});

let failures = 0;
function expect(holds, what) {
  if (!holds) ++failures;
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}`);
}

const browser = await chromium.launch({executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']});

// The page, opened, and what it said and asked for meanwhile.
async function open(name, options = {}) {
  const context = await browser.newContext({offline: true, viewport: {width: 1200, height: 900}, ...options});
  const page = await context.newPage();
  const heard = {said: [], asked: []};
  page.on('console', (message) => heard.said.push(message.text()));
  page.on('pageerror', (error) => heard.said.push(error.message));
  page.on('dialog', (dialog) => { heard.said.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', (request) => heard.asked.push(request.url()));
  const url = pathToFileURL(`${pages}/${name}`).href;
  const cpu = await context.newCDPSession(page);
  await cpu.send('Performance.enable', {timeDomain: 'threadTicks'});
  const start = performance.now();
  await page.goto(url, {waitUntil: 'commit'});
  await page.waitForSelector('figure.drawn svg', {timeout: 60000});
  heard.wall_s = (performance.now() - start) / 1000;
  const {metrics} = await cpu.send('Performance.getMetrics');
  heard.cpu_s = metrics.find(({name: metric}) => metric === 'TaskDuration').value;
  heard.quiet = () => expect(heard.said.length === 0 && heard.asked.every((asked) => asked === url),
    `${name} ${JSON.stringify(options)}: no error, no request ${JSON.stringify([heard.said, heard.asked.filter((asked) => asked !== url)])}`);
  return {page, heard};
}
const all_drawn = (page) => page.waitForSelector('html[data-plots=all]', {timeout: 120000, state: 'attached'});

const modes = {light: {}, dark: {colorScheme: 'dark'}, narrow: {viewport: {width: 390, height: 844}}};
for (const [mode, options] of Object.entries(modes)) {
  const {page, heard} = await open('small.html', options);
  await all_drawn(page);
  const plots = await page.$$eval('figure[data-plot] .canvas', (all) => all.map((place) =>
    place.querySelectorAll('svg .role-mark path, svg .role-mark line').length));
  expect(plots.length >= 10 && plots.every((marks) => marks > 0), `${mode}: every plot has marks (${plots})`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide <= 0, `${mode}: nothing sticks out (${wide} px)`);
  const [paper, ink] = await page.evaluate(() => {
    const style = getComputedStyle(document.body);
    return [style.backgroundColor, style.color].map((colour) => colour.match(/\d+/g).slice(0, 3).reduce((sum, x) => sum + Number(x), 0));
  });
  expect(mode === 'dark' ? paper < 200 && ink > 550 : paper > 700 && ink < 200, `${mode}: paper ${paper}, ink ${ink}`);
  const axis = await page.$eval('figure[data-plot=forest] svg .role-axis-label text', (text) => getComputedStyle(text).fill);
  const text = await page.$eval('body', (body) => getComputedStyle(body).color);
  expect(axis === text, `${mode}: plots are written in the colour of the text (${axis}, ${text})`);
  await page.screenshot({path: `${shots}/small-${mode}.png`, fullPage: true});
  heard.quiet();
  await page.context().close();
}

{
  const {page, heard} = await open('small.html');
  await all_drawn(page);
  const cases = [['forest', '.mark-symbol path', 'candidate'], ['distribution', '.mark-rect path', 'median'],
    ['storm', '.mark-rect path', 'attempts'], ['growth', '.mark-symbol path', 'clients'], ['envelope', '.mark-rect path', 'retry']];
  for (const [plot, mark, word] of cases) {
    const marks = page.locator(`figure[data-plot=${plot}] svg`).first().locator(`.role-mark${mark.split(' ')[0]} path`);
    await marks.first().scrollIntoViewIfNeeded();
    // The plot area itself is no target: the event goes to the mark under the pointer.
    await marks.first().hover({force: true});
    const said = await page.locator('.tip').textContent();
    expect(await page.locator('.tip').isVisible() && said.includes(word), `${plot}: a tooltip says '${said}'`);
  }
  // By keyboard: the button is reached and pressed, and the plots follow.
  const range = () => page.locator('figure[data-plot=storm] .range').first().textContent();
  const ticks = () => page.$$eval('figure[data-plot=storm] .role-axis-label', (all) => all.map((text) => text.textContent).join());
  const [before, ticks_before] = [await range(), await ticks()];
  await page.locator('[data-zoom=in]').first().focus();
  await page.keyboard.press('Enter');
  await page.waitForTimeout(200);
  expect(await range() !== before && await ticks() !== ticks_before, `zoom by keyboard: ${before} -> ${await range()}`);
  const box = await page.locator('figure[data-plot=storm] .canvas').first().boundingBox();
  const closer = await range();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 40, {steps: 4});
  await page.mouse.up();
  expect(await range() !== closer, `zoom by dragging: ${closer} -> ${await range()}`);
  await page.mouse.dblclick(box.x + box.width * 0.5, box.y + 40);
  expect((await range()).startsWith('0 to 20 s'), `double click shows all: ${await range()}`);

  const names = await page.$$eval('[role=img], button, a, summary, [role=region]', (all) => all.filter((one) => !(one.getAttribute('aria-label') ?? one.textContent).trim()).length);
  expect(names === 0, `everything that is a target has a name (${names} have none)`);
  const levels = await page.$$eval('h1, h2, h3, h4', (all) => all.map((one) => Number(one.tagName[1])));
  expect(levels[0] === 1 && levels.every((level, i) => i === 0 || level <= levels[i - 1] + 1), 'no heading level is skipped');
  const unscoped = await page.$$eval('th:not([scope])', (all) => all.length);
  expect(unscoped === 0, `every header of a table says what it heads (${unscoped} do not)`);
  await page.pdf({path: `${shots}/small.pdf`, format: 'A4', printBackground: true});
  await page.emulateMedia({media: 'print'});
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  expect(await page.$$eval('details:not([open])', (all) => all.length) === 0, 'what is folded is printed, too');
  await page.screenshot({path: `${shots}/small-print.png`, fullPage: true});
  heard.quiet();
  await page.context().close();
}

for (const name of ['large.html', 'evil.html']) {
  const {page, heard} = await open(name);
  // Of the processor's time of the page's main thread, which does not depend on what else the machine does.
  expect(heard.cpu_s < 2, `${name}: opens in ${heard.cpu_s.toFixed(2)} s of processor time (${heard.wall_s.toFixed(2)} s by the clock)`);
  await all_drawn(page);
  const undrawn = await page.$$eval('figure[data-plot]:not(.drawn)', (all) => all.length);
  expect(undrawn === 0, `${name}: ${undrawn} plots are not drawn`);
  await page.screenshot({path: `${shots}/${name.replace('.html', '.png')}`});
  heard.quiet();
  await page.context().close();
}

{
  // The policy itself: a script that somebody smuggled in does not run.
  const {page} = await open('small.html');
  await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.smuggled = true';
    document.body.append(script);
  });
  expect(!await page.evaluate(() => globalThis.smuggled), 'a script without a hash does not run');
  await page.context().close();
}

await browser.close();
console.log(failures === 0 ? 'passed' : `${failures} failed`);
process.exit(failures === 0 ? 0 : 1);
