#!/usr/bin/env node
// The delays of libraries from npm through the protocol: libraries.mjs got|p-retry|p-retry-randomized.
// No network and no timers: the libraries' own delay functions are asked.
import {createInterface} from 'node:readline';
import {createRequire} from 'node:module';

const require = createRequire(import.meta.url);

// mulberry32 in place of Math.random, which takes no seed.
function seed(text) {
  let state = Number(BigInt(text) & 0xffffffffn);
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

async function got() {
  // The package's exports map hides the function.
  const {default: calculate} = await import(new URL('node_modules/got/dist/source/core/calculate-retry-delay.js', import.meta.url));
  const retryOptions = {limit: 1e9, methods: ['GET'], statusCodes: [408, 413, 429, 500, 502, 503, 504, 521, 522, 524],
                        errorCodes: [], backoffLimit: 10_000, noise: 100};
  return (told) => calculate({attemptCount: told.attempt, retryOptions, computedValue: Infinity,
                              error: {name: 'HTTPError', options: {method: 'GET'}, response: {statusCode: told.status}}});
}

async function pRetry(options) {
  // p-retry takes its delays from this function of the package `retry`, which counts from 0.
  const {createTimeout} = createRequire(require.resolve('p-retry'))('retry');
  return (told) => createTimeout(told.attempt - 1, {factor: 2, minTimeout: 1000, maxTimeout: Infinity, ...options});
}

const kinds = {got, 'p-retry': () => pRetry({randomize: false}),
               'p-retry-randomized': () => pRetry({randomize: true, maxTimeout: 60_000})};
const kind = process.argv[2];
if (!(kind in kinds)) throw new Error(`nothing is called '${kind}'`);
const delayMs = await kinds[kind]();

function answer(told) {
  if (told['retrygate-policy']) {
    seed(told.seed);
    return {'retrygate-policy': 1, name: kind, jumps: true};
  }
  if (told.status === 'OK' || (told.status >= 200 && told.status < 300)) return {id: told.id, stop: 'success'};
  const ms = delayMs(told);
  if (ms === 0) return {id: told.id, stop: 'not-retryable'};
  return {id: told.id, wait_ns: Math.min(1e21, Math.round(ms * 1e6))};  // JSON has no word for Infinity
}

for await (const line of createInterface({input: process.stdin})) {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + '\n');
}
