// A browser, pages in it, and logs to draw. The browser is the one that CHROMIUM names, by default Debian's.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';
import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';

export const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '../..');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'runloom-browser-'));
const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Starts the browser; as root it has no sandbox. */
export function browser() {
  const args = process.getuid?.() === 0 ? [...quiet, '--no-sandbox'] : quiet;
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', headless: true, args, timeout: 120_000 });
}

export const sample = (name) => fs.readFileSync(path.join(root, 'examples/recordings', `${name}.jsonl`), 'utf8').trimEnd().split('\n');

/** The file of the page that `inspect timeline` makes of these lines; INSPECT names the program. */
export function draw(lines) {
  const [log, page] = ['jsonl', 'html'].map((end) => path.join(folder, `log.${end}`));
  fs.writeFileSync(log, lines.join('\n'));
  fs.writeFileSync(page, execFileSync(process.env.INSPECT, ['timeline', log], { maxBuffer: 1 << 30 }));
  return page;
}

/** A page of its own for `use`; fails if the page complains otherwise than `expected`, asks for anything or opens a dialog. */
export async function open(in_, url, use, { expected, ...options } = {}) {
  const context = await in_.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const complaints = [];
  try {
    const page = await context.newPage();
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('dialog', (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on('request', (request) => { if (!request.url().startsWith(url)) complaints.push(`asks for ${request.url()}`); });
    await page.goto(url);
    await page.waitForSelector('.tl-headline:not(:empty)');
    await use(page);
    assert.deepEqual(complaints.filter((text) => !expected?.test(text)), []);
  } finally {
    await context.close();
  }
}

/** As `open`, for the page of a log. */
export const drawn = (in_, lines, use, options) => open(in_, `file://${draw(lines)}`, use, options);

/** What the rules of accessibility find, as `rule: places`. */
export async function violations(page) {
  // By the debugger's way, which the policy of the page does not concern.
  await page.evaluate(axe);
  const { violations: found } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`);
}

/** The modules behind a strict policy, and an empty page that uses them. */
export async function serve() {
  const files = new Map(fs.readdirSync(path.join(root, 'wasm/www/timeline')).map((name) => [`/${name}`, path.join(root, 'wasm/www/timeline', name)]));
  const html = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Live</title><link rel="icon" href="data:,">'
    + '<link rel="stylesheet" href="/timeline.css"><main id="t"></main><script type="module" src="/live.js"></script></html>';
  const live = "import { createTimeline } from '/timeline.js';\nwindow.opened = [];\n"
    + "window.timeline = createTimeline(document.getElementById('t'), { onSelect: (item, events) => window.opened.push([item?.title ?? null, events.length]), limit: 1000 });";
  const server = http.createServer(({ url }, answer) => {
    const type = url.endsWith('.css') ? 'text/css' : url.endsWith('.js') ? 'text/javascript' : 'text/html';
    const body = url === '/' ? html : url === '/live.js' ? live : files.has(url) ? fs.readFileSync(files.get(url)) : null;
    answer.writeHead(body === null ? 404 : 200, {
      'content-type': type, 'content-security-policy': "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:",
    });
    answer.end(body ?? '');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** A log of so many events: steps of a model call with text, and four tools of which two overlap. */
export function many(number) {
  const lines = [];
  let at = 0;
  const add = (after, kind, payload) => lines.push(JSON.stringify({ at: (at += after), kind, payload, run_id: 'many', seq: lines.length + 1 }));
  const begin = (step) => {
    add(10, 'step.started', { estimated_context_tokens: 1, step });
    add(0, 'model.started', { attempt: 1, model: 'm', op: step, step });
  };
  let step = 1;
  add(0, 'run.started', { model: 'm', revision: 0, session_id: 's' });
  for (; lines.length < number - 40; step += 1) {
    begin(step);
    for (let n = 0; n < 8; n += 1) add(9_000, 'text.delta', { text: `word ${n} ` });
    add(100, 'model.completed', { attempt: 1, finish: 'tool_calls', metrics: { generation_time_us: 63_100, time_to_first_token_us: 9_000 }, op: step, usage: {} });
    const call = (ordinal) => ({ call_id: `c${ordinal}`, name: `tool ${ordinal}`, ordinal, step });
    const pairs = [[0, 1], [2, 3]];
    for (const n of pairs.flat()) {
      const { call_id, ...rest } = call(n);
      add(0, 'tool.proposed', { arguments: '{}', call_id, ...rest });
    }
    for (const pair of pairs) {
      for (const n of pair) add(500, 'tool.started', call(n));
      for (const n of pair) {
        const { call_id, name, ordinal } = call(n);
        const status = step === 99 && n === 3 ? 'failure' : 'success';
        add(20_000, 'tool.finished', { call_id, content: [{ text: 'done' }], name, ordinal, status, step });
      }
    }
    add(0, 'step.completed', { step });
  }
  begin(step);
  while (lines.length < number - 3) add(1000, 'text.delta', { text: 'more ' });
  add(1000, 'model.failed', { attempt: 1, op: step, position: 'partial', problem: { kind: 'server', message: 'stopped' } });
  add(0, 'step.failed', { step });
  add(0, 'run.failed', { code: 'server', message: 'stopped', retryability: 'permanent', revision: 0 });
  return lines;
}

/** Removes what was written. */
export const clean = () => fs.rmSync(folder, { recursive: true, force: true });
