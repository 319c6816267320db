// The plots of report.html. Every <figure data-plot> holds its numbers as JSON and a place to draw; this draws
// them with Vega, whose interpreter of expressions needs no eval, so that the page's content security policy
// stays strict. Colours are CSS variables and currentColor: light, dark and print need no second drawing.
import * as vega from 'vega';
import {compile} from 'vega-lite';
import {expressionInterpreter} from 'vega-interpreter';

const colour = {pass: 'var(--pass)', fail: 'var(--fail)', inconclusive: 'var(--unsure)', '': 'var(--ink)'};
const shape = {pass: 'circle', fail: 'triangle-up', inconclusive: 'diamond', '': 'square'};
const words = {pass: 'pass', fail: 'fail', inconclusive: 'inconclusive', '': 'not judged'};

const config = {
  background: null,
  font: 'system-ui, sans-serif',
  view: {stroke: null},
  axis: {
    labelColor: 'currentColor', titleColor: 'currentColor', domainColor: 'var(--line)', tickColor: 'var(--line)',
    gridColor: 'var(--grid)', labelFontSize: 12, titleFontSize: 12, titleFontWeight: 'normal', labelOverlap: true,
  },
};

const signed = (x, unit) => (x > 0 ? '+' : '') + short(x) + (unit ? ' ' + unit : '');
const short = (x) => (x === 0 ? '0' : String(Number(x.toPrecision(4))));
const seconds = (x) => (x === 0 ? '0' : x >= 1 ? short(x) + ' s' : x >= 1e-3 ? short(x * 1e3) + ' ms'
  : x >= 1e-6 ? short(x * 1e6) + ' us' : short(x * 1e9) + ' ns');
const names = (width) => ({title: null, labelLimit: Math.max(90, Math.min(260, width * 0.32)), ticks: false, domain: false});

// Effects with their intervals against the margin: what lies beyond it is drawn with another mark, too.
function forest(data, width) {
  const rows = data.rows.map(([name, effect, low, high, verdict]) => ({
    name, effect, low, high, mark: words[verdict], verdict: words[verdict],
    said: signed(effect, data.unit), interval: low === null ? 'none' : `${signed(low)} to ${signed(high, data.unit)}`,
  }));
  const kinds = [...new Set(data.rows.map((row) => row[4]))];
  const marks = {domain: kinds.map((kind) => words[kind])};
  const y = {field: 'name', type: 'nominal', sort: null, axis: names(width), scale: {padding: 0.4}};
  const x = {type: 'quantitative', title: `effect${data.unit ? ', ' + data.unit : ''} (${data.better} is better)`,
    axis: {format: ',.6~r', tickCount: Math.max(3, width / 110)}, scale: {zero: true, nice: false, padding: 14}};
  const tooltip = [{field: 'name', title: 'candidate'}, {field: 'said', title: 'effect'},
    {field: 'interval', title: '90 % interval'}, {field: 'verdict'}];
  const margin = data.margins.length === 0 ? [] : [{
    data: {values: data.margins.map((at) => ({at}))}, mark: {type: 'rule', strokeDash: [6, 4], strokeWidth: 1.5, color: 'currentColor'},
    encoding: {x: {field: 'at', ...x}},
  }];
  return {
    height: {step: 26}, data: {values: rows},
    layer: [
      {data: {values: [{at: 0}]}, mark: {type: 'rule', color: 'var(--line)'}, encoding: {x: {field: 'at', ...x}}},
      ...margin,
      {mark: {type: 'rule', strokeWidth: 2, color: 'currentColor'},
        encoding: {y, x: {field: 'low', ...x}, x2: {field: 'high'}, tooltip}},
      ...['low', 'high'].map((end) => ({
        transform: [{filter: `isValid(datum.${end})`}],
        mark: {type: 'tick', thickness: 2, size: 9, color: 'currentColor'}, encoding: {y, x: {field: end, ...x}, tooltip}})),
      {mark: {type: 'point', filled: true, size: 110, opacity: 1, stroke: 'var(--paper)', strokeWidth: 1},
        encoding: {y, x: {field: 'effect', ...x}, tooltip,
          shape: {field: 'mark', type: 'nominal', legend: null, scale: {...marks, range: kinds.map((kind) => shape[kind])}},
          color: {field: 'mark', type: 'nominal', legend: null, scale: {...marks, range: kinds.map((kind) => colour[kind])}}}},
    ],
  };
}

// Every seed a dot; a box of the quartiles with the median as a bar and the mean as a diamond.
function distribution(data, width) {
  const boxes = data.rows.map(({name, box: [min, q1, median, q3, max], mean}) => ({
    name, min, q1, median, q3, max, mean,
    ...Object.fromEntries(Object.entries({min, q1, median, q3, max, mean}).map(([key, x]) => [key + '_', `${short(x)} ${data.unit}`])),
  }));
  // The golden ratio spreads the dots of neighbours evenly over the height of a row, the same way every time.
  const dots = data.rows.flatMap(({name, values}) =>
    values.map((value, i) => ({name, value, said: `${short(value)} ${data.unit}`, at: (i * 0.618034) % 1})));
  const y = {field: 'name', type: 'nominal', sort: null, axis: names(width), scale: {padding: 0.25}};
  const x = {type: 'quantitative', title: data.metric + (data.unit ? ', ' + data.unit : ''),
    axis: {format: ',.6~r', tickCount: Math.max(3, width / 110)}, scale: {zero: false, nice: false, padding: 14}};
  const tooltip = [{field: 'name', title: 'policy'}, ...['min', 'q1', 'median', 'mean', 'q3', 'max']
    .map((key) => ({field: key + '_', title: key}))];
  return {
    height: {step: 40}, data: {values: boxes},
    layer: [
      {data: {values: dots}, mark: {type: 'point', filled: true, size: 12, color: 'var(--dot)', opacity: 0.55},
        encoding: {y, x: {field: 'value', ...x},
          yOffset: {field: 'at', type: 'quantitative', scale: {domain: [-0.1, 1.1]}},
          tooltip: [{field: 'name', title: 'policy'}, {field: 'said', title: 'one seed'}]}},
      {mark: {type: 'bar', height: 18, fillOpacity: 0.08, fill: 'currentColor', stroke: 'currentColor', strokeWidth: 1.2},
        encoding: {y, x: {field: 'q1', ...x}, x2: {field: 'q3'}, tooltip}},
      {mark: {type: 'tick', thickness: 3, size: 18, color: 'currentColor'}, encoding: {y, x: {field: 'median', ...x}, tooltip}},
      {mark: {type: 'point', shape: 'diamond', filled: true, size: 70, opacity: 1, color: 'var(--paper)', stroke: 'currentColor', strokeWidth: 1.5},
        encoding: {y, x: {field: 'mean', ...x}, tooltip}},
    ],
  };
}

// Attempts per bin of time of one policy; those that failed are the dark part. `from` and `to` are the zoom.
function storm(data, width, row) {
  const {sent, failed} = data.rows[row];
  const values = sent.map((n, i) => ({from: i * data.bin_s, sent: n, failed: failed[i],
    time: `${short(i * data.bin_s)} to ${short((i + 1) * data.bin_s)} s`}));
  values.push({from: values.length * data.bin_s, sent: 0, failed: 0, time: ''});
  const x = {field: 'from', type: 'quantitative', title: 'seconds since the start',
    scale: {domain: [{expr: 'from'}, {expr: 'to'}], nice: false, zero: false}, axis: {grid: false, tickCount: Math.max(3, width / 90)}};
  const y = {type: 'quantitative', title: null, scale: {domain: [0, data.top]}, axis: {tickCount: 3, minExtent: 40, maxExtent: 40}};
  const tooltip = [{field: 'time'}, {field: 'sent', title: 'attempts'}, {field: 'failed', title: 'of them failed'}];
  const area = (field, fill) => ({mark: {type: 'area', interpolate: 'step-after', clip: true, fill, stroke: 'currentColor', strokeWidth: 0.7},
    encoding: {x, y: {field, ...y, stack: null}}});
  return {
    height: 96, data: {values}, params: [{name: 'from', value: 0}, {name: 'to', value: data.end_s}],
    layer: [
      area('sent', 'var(--served)'), area('failed', 'var(--failed)'),
      {transform: [{filter: 'datum.sent > 0'}], mark: {type: 'bar', clip: true, opacity: 0, width: 4},
        encoding: {x, y: {field: 'sent', ...y}, tooltip}},
    ],
  };
}

// Lowest, mean and highest delay by retry, and delays that were drawn; a drawn one outside is a cross.
function envelope(data, width) {
  const values = data.lo.map((lo, i) => ({n: i + 1, lo, hi: data.hi[i], mean: data.mean[i],
    range: `${seconds(lo)} to ${seconds(data.hi[i])}`, mean_: seconds(data.mean[i])}));
  const seen = data.seen.flatMap((delays, i) => delays.map((delay) =>
    ({n: i + 1, delay, said: seconds(delay), where: delay < data.lo[i] || delay > data.hi[i] ? 'outside' : 'inside'})));
  const top = Math.max(...data.hi, ...seen.map(({delay}) => delay), 1e-9);
  const least = Math.min(...[...data.hi, ...data.mean].filter((d) => d > 0), top);
  const decades = [];
  for (let e = Math.floor(Math.log10(least)); e <= Math.ceil(Math.log10(top)); ++e) decades.push(10 ** e);
  const x = {field: 'n', type: 'ordinal', title: 'retry', axis: {labelAngle: 0}};
  const y = {type: 'quantitative', title: 'delay', scale: {type: 'symlog', constant: least, domain: [0, top]},
    axis: {labelOverlap: false, values: [0, ...decades.filter((d) => d >= least && d < top * 0.7), top], labelExpr:
      "datum.value === 0 ? '0' : datum.value >= 0.999 ? format(datum.value, '.3~r') + ' s' : " +
      "datum.value >= 0.000999 ? format(datum.value * 1e3, '.3~r') + ' ms' : datum.value >= 9.99e-7 ? " +
      "format(datum.value * 1e6, '.3~r') + ' us' : format(datum.value * 1e9, '.3~r') + ' ns'"}};
  const tooltip = [{field: 'n', title: 'retry'}, {field: 'range', title: 'delay'}, {field: 'mean_', title: 'mean'}];
  return {
    height: 220, data: {values},
    layer: [
      {mark: {type: 'bar', fill: 'var(--band)', stroke: 'currentColor', strokeWidth: 0.7},
        encoding: {x, y: {field: 'lo', ...y}, y2: {field: 'hi'}, tooltip}},
      {mark: {type: 'tick', thickness: 2.5, color: 'currentColor'}, encoding: {x, y: {field: 'mean', ...y}, tooltip}},
      ...[['inside', 'circle', 14, 'var(--dot)'], ['outside', 'cross', 140, 'var(--fail)']].map(([where, shape, size, color]) => ({
        data: {values: seen.filter((delay) => delay.where === where)},
        mark: {type: 'point', opacity: 0.8, strokeWidth: 1.2, shape, size, color},
        encoding: {x, y: {field: 'delay', ...y}, tooltip: [{field: 'n', title: 'retry'},
          {field: 'said', title: 'observed delay'}, {field: 'where', title: 'of the envelope'}]}})),
    ],
  };
}

// A metric by size, for two policies: lines with marks of their own, on logarithmic scales where all is above 0.
function growth(data, width) {
  const logarithmic = data.rows.flat().every((value) => value > 0);
  const values = data.rows.flatMap((row, policy) => row.map((value, i) =>
    ({policy: data.names[policy], size: data.sizes[i], value, said: `${short(value)} ${data.unit}`})));
  const one = {type: 'nominal', scale: {domain: [...new Set(data.names)]}, sort: null};
  const type = logarithmic ? 'log' : 'linear';
  const x = {field: 'size', type: 'quantitative', title: data.key, scale: {type: 'log', nice: false},
    axis: {values: data.sizes, format: '~s', grid: false, labelOverlap: true}};
  const y = {field: 'value', type: 'quantitative', title: data.metric + (data.unit && data.unit !== data.metric ? ', ' + data.unit : ''),
    scale: {type, zero: !logarithmic, nice: false, padding: 8}, axis: {format: '.3~s', tickCount: 5}};
  const tooltip = [{field: 'policy'}, {field: 'size', title: data.key}, {field: 'said', title: data.metric}];
  const range = (all) => all.slice(0, one.scale.domain.length);
  return {
    height: 240, data: {values},
    encoding: {x, y, tooltip, color: {field: 'policy', ...one, scale: {...one.scale, range: range(['currentColor', 'var(--dot)'])},
      legend: {title: null, orient: 'top', labelColor: 'currentColor', labelFontSize: 12, symbolStrokeWidth: 2, labelLimit: Math.max(90, width - 60), columns: 1}}},
    layer: [
      {mark: {type: 'line', strokeWidth: 2},
        encoding: {strokeDash: {field: 'policy', ...one, scale: {...one.scale, range: range([[1, 0], [7, 4]])}}}},
      {mark: {type: 'point', filled: true, size: 70, opacity: 1},
        encoding: {shape: {field: 'policy', ...one, scale: {...one.scale, range: range(['circle', 'triangle-up'])}}}},
    ],
  };
}

const kinds = {forest, distribution, envelope, growth};

// One box for all tooltips; its text is set as text, never as HTML.
const tip = document.createElement('div');
tip.className = 'tip';
tip.hidden = true;
document.body.append(tip);
function tooltip(_, event, __, value) {
  tip.hidden = !value;
  if (!value) return;
  tip.replaceChildren(...Object.entries(value).map(([key, said]) => {
    const line = document.createElement('div');
    line.textContent = `${key}: ${said}`;
    return line;
  }));
  const left = Math.min(event.pageX + 14, document.documentElement.scrollWidth - tip.offsetWidth - 8);
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${event.pageY + 14}px`;
}

// Vega-Lite would warn that only the width of a plot with one row per policy can be fitted, which is what is wanted.
const quiet = vega.logger(vega.Error);

function draw(place, spec, width) {
  const whole = {$schema: 'https://vega.github.io/schema/vega-lite/v6.json', config, width,
    autosize: {type: 'fit-x', contains: 'padding'}, padding: {left: 2, right: 10, top: 4, bottom: 2}, ...spec};
  const view = new vega.View(vega.parse(compile(whole, {logger: quiet}).spec, null, {ast: true}),
    {expr: expressionInterpreter, renderer: 'svg', container: place, hover: false, tooltip});
  return view.runAsync();
}

// Buttons and dragging change the range of time of all policies of a storm together.
function zoomable(figure, data, views) {
  let from = 0, to = data.end_s;
  const said = figure.querySelector('.range');
  const show = (a, b) => {
    const span = Math.min(data.end_s, Math.max(b - a, data.bin_s * 5));
    from = Math.min(Math.max(0, a), data.end_s - span);
    to = from + span;
    said.textContent = `${short(from)} to ${short(to)} s`;
    for (const view of views) view.signal('from', from).signal('to', to).runAsync();
  };
  const steps = {
    in: () => show(from + (to - from) / 4, to - (to - from) / 4), out: () => show(from - (to - from) / 2, to + (to - from) / 2),
    left: () => show(from - (to - from) / 2, to - (to - from) / 2), right: () => show(from + (to - from) / 2, to + (to - from) / 2),
    all: () => show(0, data.end_s),
  };
  for (const button of figure.querySelectorAll('[data-zoom]')) button.onclick = steps[button.dataset.zoom];
  for (const view of views) {
    const place = view.container();
    const seconds_at = (event) => {
      const svg = place.querySelector('svg').getBoundingClientRect();
      return view.scale('x').invert(event.clientX - svg.left - view.origin()[0]);
    };
    let start = null;
    place.onpointerdown = (event) => { start = event.button === 0 ? {x: event.clientX, s: seconds_at(event)} : null; };
    place.onpointerup = (event) => {
      if (start && Math.abs(event.clientX - start.x) > 6) {
        const end = seconds_at(event);
        show(Math.min(start.s, end), Math.max(start.s, end));
      }
      start = null;
    };
    place.ondblclick = steps.all;
  }
}

const drawn = new WeakMap();  // figure -> width it was drawn for
async function render(figure) {
  const places = [...figure.querySelectorAll('.canvas')];
  // In a closed <details> nothing has a width; then it gets that of the page.
  const width = Math.floor(figure.clientWidth || document.querySelector('main').clientWidth);
  if (drawn.get(figure) === width) return;
  drawn.set(figure, width);
  const data = JSON.parse(figure.querySelector('script').textContent);
  try {
    if (data.kind === 'storm') {
      const views = await Promise.all(places.map((place, row) => draw(place, storm(data, width, row), width)));
      zoomable(figure, data, views);
    } else {
      await draw(places[0], kinds[data.kind](data, width), width);
    }
    figure.classList.add('drawn');
  } catch (fault) {
    places[0].textContent = `This plot could not be drawn (${fault.message}); its data is in the table below.`;
    console.error(fault);
  }
}

const figures = [...document.querySelectorAll('figure[data-plot]')];
// What can be seen is drawn at once, the rest when nothing else is to do.
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) render(entry.target);
}, {rootMargin: '300px'});
for (const figure of figures) seen.observe(figure);
const idle = globalThis.requestIdleCallback ?? ((then) => setTimeout(then, 50));
const rest = [...figures];
const next = () => { const figure = rest.shift(); if (figure) render(figure).then(() => idle(next)); else document.documentElement.dataset.plots = 'all'; };
idle(next);
let pause = 0;
addEventListener('resize', () => {
  clearTimeout(pause);
  pause = setTimeout(() => { for (const figure of figures) if (figure.clientWidth) render(figure); }, 150);
});
for (const details of document.querySelectorAll('details'))
  details.addEventListener('toggle', () => { if (details.open) for (const figure of details.querySelectorAll('figure[data-plot]')) render(figure); });
