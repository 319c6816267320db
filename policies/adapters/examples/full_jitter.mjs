#!/usr/bin/env node
// Exponential backoff with full jitter, 100 ms to 5 s, 8 attempts, as a program that retrygate can check.
import {createInterface} from 'node:readline';

let state = 0;
function random() {  // mulberry32: Math.random takes no seed
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}

function decide(told) {
  if (told.status >= 200 && told.status < 300) return {stop: 'success'};
  if (told.attempt >= 8) return {stop: 'attempts'};
  const ceilingMs = Math.min(5000, 100 * 2 ** (told.attempt - 1));
  return {wait_ns: Math.round(random() * ceilingMs * 1e6)};
}

function answer(told) {
  if (told['retrygate-policy']) {
    state = Number(BigInt(told.seed) & 0xffffffffn);
    return {'retrygate-policy': 1, name: 'full jitter in Node', jumps: true};
  }
  return {id: told.id, ...decide(told)};
}

for await (const line of createInterface({input: process.stdin})) {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + '\n');
}
