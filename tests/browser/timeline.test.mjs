// The page of `inspect timeline`, and its renderer as a live page uses it, in a real browser:
// INSPECT=.../inspect node --test tests/browser/timeline.test.mjs
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { browser, clean, drawn, many, open, root, sample, serve, violations } from './kit.mjs';

let chrome;
before(async () => { chrome = await browser(); });
after(async () => {
  await chrome?.close();
  clean();
});

/** What the cells of a lane say, from left to right. */
const names = (page, lane) => page.$$eval(`[data-lane="${lane}"] .tl-cell`, (cells) => cells
  .sort((a, b) => a.getBoundingClientRect().x - b.getBoundingClientRect().x).map((cell) => cell.getAttribute('aria-label')));
/** Where the cell that says this lies. */
async function box(page, name) {
  const cell = page.getByRole('gridcell', { name });
  assert.equal(await cell.count(), 1, String(name));
  const { x, y, width, height } = await cell.boundingBox();
  return { left: x, right: x + width, top: y, bottom: y + height };
}
const facts = (page) => page.$$eval('.tl-facts li', (items) => items.map((item) => item.textContent));
const focused = (page) => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent);
const near = (a, b) => assert.ok(Math.abs(a - b) < 3, `${a} and ${b}`);

/** Lets the page draw until this holds. */
async function eventually(check) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await check();
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** A live page that was given these lines and no more. */
async function live(in_, lines, use) {
  const { url, close } = await serve();
  try {
    await open(in_, url, async (page) => {
      await page.evaluate((all) => {
        for (const event of all) window.timeline.append(event);
        window.timeline.finish();
      }, lines.map((line) => JSON.parse(line)));
      await page.waitForSelector('.tl-cell');
      await use(page);
    });
  } finally {
    close();
  }
}

test('retry, overlap and cancel can be read', async () => {
  await drawn(chrome, sample('journey'), async (page) => {
    // The retry: what failed, the wait, what followed, one behind the other.
    const [failed, wait, next] = await Promise.all([/^Attempt 1 of step 1 \(void\): failed: overloaded/, /^wait 1.00 s, then retry/, /^Attempt 2 of step 1: done/].map((name) => box(page, name)));
    near(failed.right, wait.left);
    near(wait.right, next.left);
    assert.ok(wait.right - wait.left > 1.8 * (failed.right - failed.left), 'the wait is twice as long as the attempt');
    // The overlap: two calls beside each other, and a bracket over what they share.
    const [one, other, both] = await Promise.all([/^weather: done/, /^trains: done/, /^2 at once: weather, trains/].map((name) => box(page, name)));
    assert.ok(one.bottom <= other.top || other.bottom <= one.top);
    near(both.left, Math.max(one.left, other.left));
    near(both.right, Math.min(one.right, other.right));
    // The cancel: a line at the end of what it cut short, with words.
    const hotels = await box(page, /^hotels: cut short: outcome unknown/);
    const line = await page.locator('.tl-end').boundingBox();
    near(line.x, hotels.right);
    assert.equal(await page.locator('.tl-end').textContent(), '⊘ cancelled: requested');
    near((await box(page, /^Step 3: cancelled/)).right, line.x);
    // And the question, answered before its tool began.
    near((await box(page, /^Consent: book: allowed/)).left, (await box(page, /^book: done/)).left);
    const said = await facts(page);
    for (const sentence of [
      'Retry: attempt 1 of step 1 failed: overloaded; attempt 2 followed after a wait of 1.00 s.',
      'Overlap: weather, trains ran at the same time for 900 ms.',
      'Cancel at 7.600 s (requested). It cut short: hotels. What hotels did outside is not known.',
    ]) assert.ok(said.includes(sentence), said.join('\n'));
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Run journey: Cancelled: requested, after 7.60 s');
  });
});

test('a full stream shows, as far as the log tells', async () => {
  await drawn(chrome, sample('long-answer'), async (page) => {
    const held = await names(page, 'stream');
    assert.ok(held.length >= 4 && held.every((name) => /^full for (≥ )?\d/.test(name)), held.join('\n'));
    assert.deepEqual((await names(page, 'compaction')).map((name) => name.split(';')[0]), ['Compaction: failed: failed', 'Compaction: 5 messages fewer']);
    assert.equal((await names(page, 'input')).length, 2);
    assert.ok((await facts(page)).includes('Stream full: attempt 1 of step 1 was held back for 1.69 s by its reader.'));
    assert.ok(await page.locator('.tl-end').isHidden(), 'a run that completed was not cut');
  });
});

test('parts of a log are drawn as what they are', async () => {
  const lines = sample('journey');
  await drawn(chrome, lines.slice(8, 18), async (page) => {
    const said = (await facts(page)).join('\n');
    assert.match(said, /^Began before: events 1 to 8 are not in this log/);
    assert.match(said, /No terminal: /);
    assert.match(await page.getByRole('heading', { level: 1 }).textContent(), /Open: the log ends after /);
    assert.match((await names(page, 'attempt'))[0], /^Attempt 2: done; began before the log does, until /);
    assert.match((await names(page, 'tool')).join('\n'), /weather: open; from .*, open/);
    assert.deepEqual(await names(page, 'run'), ['Run: open; began before the log does, open']);
    assert.ok(await page.locator('.tl-end').isHidden());
  });
  // A reader that begins anew somewhere has a gap; `inspect` refuses such a log.
  await live(chrome, [...lines.slice(0, 10), ...lines.slice(13)], async (page) => {
    assert.ok((await facts(page)).includes('Events 11 to 13 are missing within.'));
  });
  // A run that was cancelled while it waited to try again.
  const cancelled = { at: 900_000, kind: 'run.cancelled', payload: { cause: 'requested', revision: 1 }, run_id: 'journey', seq: 8 };
  const step = { at: 900_000, kind: 'step.cancelled', payload: { step: 1 }, run_id: 'journey', seq: 7 };
  await drawn(chrome, [...lines.slice(0, 6), JSON.stringify(step), JSON.stringify(cancelled)], async (page) => {
    assert.match((await names(page, 'attempt')).join('\n'), /wait to retry: cut short: the run was cancelled/);
    assert.match((await facts(page)).at(-1), /It cut short: wait to retry\./);
  });
});

test('a run that was put aside goes on without a gap', async () => {
  const sorted = (object) => Object.fromEntries(Object.entries(object).sort());
  const line = (seq, at, kind, payload) => JSON.stringify({ at, kind, payload: sorted(payload), run_id: 'aside', seq });
  const call = { call_id: 'c', ordinal: 0, step: 1 };
  const parts = [
    line(1, 0, 'run.started', { model: 'm', revision: 0, session_id: 's' }),
    line(2, 0, 'step.started', { estimated_context_tokens: 1, step: 1 }),
    line(3, 100_000, 'tool.proposed', { ...call, arguments: '{}', name: 'pay' }),
    line(4, 100_000, 'host_input.requested', { ...call, kind: 'approval', request_id: '1.0/1' }),
    line(5, 2_000_000, 'run.suspended', { requests: 1, revision: 0 }),
    line(6, 40_000, 'run.resumed', { model: 'm', revision: 0, session_id: 's' }),
    line(7, 1_040_000, 'host_input.answered', { ...call, answer: { decision: 'deny', reason: 'no' }, request_id: '1.0/1', source: 'handle' }),
  ];
  await drawn(chrome, parts.slice(0, 5), async (page) => {
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Run aside: Put aside after 2.00 s');
    assert.match((await names(page, 'question'))[0], /^Consent: pay: open; from 0\.100 s, open/);
    assert.equal(await page.locator('.tl-end').textContent(), '↻ put aside');
  });
  await drawn(chrome, parts, async (page) => {
    assert.deepEqual((await names(page, 'run')).map((name) => name.split(';')[0]), ['Run: put aside', 'Run, resumed: open']);
    assert.match((await names(page, 'question'))[0], /^Consent: pay: refused; from 0\.100 s to 3\.000 s/);
    assert.ok((await facts(page)).includes('The run was put aside; how long is not in the log and not drawn.'));
  });
});

/** A line of a log by hand. */
const line = (seq, at, kind, payload) => JSON.stringify({ at, kind, payload, run_id: 'r', seq });
const call = { call_id: 'c', name: 'pay', ordinal: 0, step: 1 };

test('every kind that there is has its place', async () => {
  const kinds = [...fs.readFileSync(path.join(root, 'core/src/event/kind.rs'), 'utf8').matchAll(/=> "([a-z_]+\.[a-z_]+)"/g)].map(([, kind]) => kind);
  assert.ok(kinds.length > 40 && kinds.includes('run.recovered') && kinds.includes('compaction.stopped'), kinds.join());
  await live(chrome, kinds.map((kind, n) => line(n + 1, n, kind, {})), async (page) => {
    assert.deepEqual(await names(page, 'other'), []);
  });
});

test('a run that was recovered says so', async () => {
  const lines = [line(1, 0, 'run.started', {}), line(2, 2_000_000, 'run.recovered', { revision: 0 }), line(3, 3_000_000, 'run.completed', { stop_reason: 'end_turn' })];
  await live(chrome, lines, async (page) => {
    assert.ok((await facts(page)).includes('Recovered at 2.000 s: the process had ended, and another one went on.'));
    assert.match((await names(page, 'run')).join('\n'), /recovered: event; at 2\.000 s/);
  });
});

test('what was denied was not cut short', async () => {
  const begin = [line(1, 0, 'run.started', {}), line(2, 0, 'step.started', { step: 1 }), line(3, 0, 'tool.proposed', call)];
  const end = [line(5, 5, 'step.failed', { step: 1 }), line(6, 5, 'run.failed', { code: 'step_limit' })];
  for (const [status, said] of [['denied', ''], ['interrupted(not_started)', ' It cut short: pay.']]) {
    await live(chrome, [...begin, line(4, 5, 'tool.finished', { ...call, status }), ...end], async (page) => {
      assert.equal((await facts(page)).at(-1), `Failure at 0.000 s (step limit).${said}`);
    });
  }
});

test('a retry after a compaction is more than a wait', async () => {
  const lines = [line(1, 0, 'run.started', {}), line(2, 0, 'model.started', { attempt: 1, op: 1, step: 1 }), line(3, 10, 'model.failed', { attempt: 1, op: 1, problem: { kind: 'context_overflow' } }), line(4, 10, 'provider.stream_reset', { reason: 'context_overflow' }),
    line(5, 10, 'compaction.started', {}), line(6, 3_000_010, 'compaction.completed', { removed: 2 }), line(7, 3_000_010, 'model.started', { attempt: 2, op: 2, step: 1 })];
  await live(chrome, lines, async (page) => {
    assert.ok((await facts(page)).includes('Retry: attempt 1 of step 1 failed: context overflow; attempt 2 followed after a wait of 3.00 s, with a compaction in it.'));
    assert.match((await names(page, 'attempt')).join('\n'), /^wait 3\.00 s with a compaction, then retry: /m);
  });
});

test('marks of time differ, however large the drawing and late the time', async () => {
  const lines = [line(1, 0, 'run.started', {}), line(2, 100_000_000, 'step.started', { step: 1 }), line(3, 100_000_050, 'step.completed', { step: 1 })];
  await live(chrome, lines, async (page) => {
    await page.getByRole('gridcell', { name: /^Step 1/ }).focus();
    for (let n = 0; n < 20; n += 1) await page.keyboard.press('+');
    const marks = await eventually(async () => {
      const all = await page.$$eval('.tl-axis span', (spans) => spans.map((span) => span.textContent));
      assert.ok(all[0].startsWith('100.0000') || all[0].startsWith('99.99'), all.join());
      return all;
    });
    assert.equal(new Set(marks).size, marks.length, marks.join());
  });
});

test('details go on with what they show', async () => {
  const { url, close } = await serve();
  const attempt = { attempt: 1, op: 1, step: 1 };
  try {
    await open(chrome, url, async (page) => {
      const add = (lines) => page.evaluate((all) => { for (const event of all) window.timeline.append(event); }, lines.map((each) => JSON.parse(each)));
      await add([line(1, 0, 'run.started', {}), line(2, 0, 'model.started', attempt), line(3, 1_000_000, 'text.delta', { text: 'one' })]);
      await page.getByRole('gridcell', { name: /^Attempt 1/ }).click();
      const details = async () => (await page.locator('.tl-details').textContent()).replaceAll(/\s+/g, ' ');
      assert.match(await details(), /open; from 0\.000 s, open.*one.*Events \(2\)/);
      await add([line(4, 2_000_000, 'text.delta', { text: ' two' })]);
      await eventually(async () => assert.match(await details(), /one two.*Events \(3\)/));
      await page.locator('.tl-events summary').first().click();
      await add([line(5, 3_000_000, 'model.completed', { ...attempt, metrics: {} })]);
      await eventually(async () => assert.match(await details(), /done; from 0\.000 s to 3\.000 s/));
      assert.ok(await page.locator('.tl-events details[open]').isVisible(), 'what is read stays');
    });
  } finally {
    close();
  }
});

test('the keyboard reaches everything', async () => {
  await drawn(chrome, sample('journey'), async (page) => {
    const press = (...keys) => keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve());
    await page.getByRole('button', { name: 'All of the run' }).focus();
    await press('Tab');
    assert.match(await focused(page), /^Run: cancelled: requested/);
    await press('ArrowDown');
    assert.match(await focused(page), /^Step 1: done/);
    await press('ArrowRight', 'ArrowRight');
    assert.match(await focused(page), /^Step 3: cancelled/);
    await press('ArrowDown');
    assert.match(await focused(page), /^Attempt 1 of step 3/);
    await press('Home', 'ArrowDown', 'ArrowLeft');
    assert.match(await focused(page), /^wait 1.00 s, then retry/);
    assert.match(await page.locator('.tl-details').textContent(), /problemoverloaded/, 'what has the focus is shown');
    await press('End', 'Enter');
    assert.match(await focused(page), /^Details/);
    assert.match(await page.locator('.tl-details').textContent(), /Attempt 2 of step 1.*Events \(7\).*model\.started/s);
    await press('Escape');
    assert.match(await focused(page), /^Attempt 2 of step 1/);
    const before = await box(page, /^Attempt 2 of step 1/);
    await press('+', '+');
    await eventually(async () => {
      const larger = await box(page, /^Attempt 2 of step 1/);
      assert.ok(larger.right - larger.left > 3 * (before.right - before.left));
    });
    await press('Shift+ArrowRight', 'Shift+ArrowRight', 'Shift+ArrowRight');
    await eventually(async () => assert.equal(await page.getByRole('gridcell', { name: /^Attempt 2 of step 1/ }).count(), 0));
    assert.ok(await page.evaluate(() => document.activeElement.matches('.tl-cell')), 'the focus stays in the drawing');
    await press('0');
    await eventually(async () => near((await box(page, /^Attempt 2 of step 1/)).left, before.left));
    const stops = await page.$$eval('.tl-cell[tabindex="0"]', (cells) => cells.length);
    assert.equal(stops, 1, 'the drawing is one stop of the Tab key');
  });
});

test('pointing shows details, and a click keeps them', async () => {
  await drawn(chrome, sample('journey'), async (page) => {
    const details = page.locator('.tl-details');
    await page.getByRole('gridcell', { name: /^trains/ }).hover();
    assert.match(await details.textContent(), /trains: done; from 2\.150 s to 3\.050 s, 900 ms.*result8:25, 12:03/s);
    await page.getByRole('gridcell', { name: /^Attempt 1 of step 1/ }).click();
    await page.getByRole('gridcell', { name: /^weather/ }).hover();
    assert.match(await details.textContent(), /too many requests at the moment/);
    await page.getByRole('button', { name: /Close the details/ }).click();
    await page.getByText('All events (48)').click();
    assert.equal(await page.locator('tbody tr').count(), 48);
  });
});

test('what a model wrote is text and nothing else', async () => {
  const evil = '</script><script>alert(1)</script><img src=x onerror=alert(2)><style>*{display:none}</style>';
  const lines = sample('journey').map((line) => line.replaceAll('weather', evil.replaceAll('"', '')).replace('"cause":"requested"', '"cause":"__proto__"'));
  await drawn(chrome, lines, async (page) => {
    assert.equal(await page.locator('script').count(), 2);
    assert.equal(await page.locator('img, main style, iframe').count(), 0);
    await page.getByRole('gridcell', { name: '</script><script>alert(1)</script>' }).first().click();
    assert.ok((await page.locator('.tl-details').textContent()).includes(evil));
    await page.locator('.tl-table summary').click();
    assert.ok((await page.locator('tbody').textContent()).includes(evil));
    assert.equal(await page.locator('.tl-end').textContent(), '⊘ cancelled:   proto  ');
  });
});

test('kinds that are not known are points, and what is malformed does no harm', async () => {
  const events = ['__proto__', 'constructor', '<b>', 7, null, 'run.started', 'model.completed', 'tool.finished', 'host_input.answered', 'tool.started', 'text.delta']
    .flatMap((kind) => [undefined, null, 7, [], { step: {}, problem: 7, metrics: 'x', content: [null, 7], usage: [], answer: null }].map((payload) => ({ kind, payload })));
  const lines = [...events, null, 7, 'text', [], {}].map((event) => JSON.stringify(event));
  await live(chrome, lines, async (page) => {
    assert.ok((await names(page, 'other')).length >= 1);
    assert.equal(await page.locator('main b').count(), 0);
  });
});

test('the policy lets nothing else run or load', async () => {
  await drawn(chrome, sample('journey'), async (page) => {
    const refused = await page.evaluate(async () => {
      const seen = [];
      document.addEventListener('securitypolicyviolation', (event) => seen.push(event.effectiveDirective));
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      const style = document.createElement('style');
      style.textContent = 'body { display: none }';
      const image = document.createElement('img');
      image.src = 'http://127.0.0.1:9/a.png';
      document.body.append(script, style, image);
      await new Promise((resolve) => setTimeout(resolve, 200));
      return [window.ran ?? false, ...seen.sort()];
    });
    assert.deepEqual(refused, [false, 'img-src', 'script-src-elem', 'style-src-elem']);
  }, { expected: /Content Security Policy|a\.png/ });
});

for (const colorScheme of ['light', 'dark']) {
  for (const width of [1280, 360]) {
    test(`${colorScheme}, ${width} pixels: it fits, and the rules of accessibility hold`, async () => {
      for (const name of ['journey', 'long-answer']) {
        await drawn(chrome, sample(name), async (page) => {
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `${wide} pixels`);
          await page.getByRole('gridcell').nth(3).click();
          await page.locator('.tl-table summary').click();
          assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width);
          assert.deepEqual(await violations(page), []);
          const dark = await page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches);
          assert.equal(dark, colorScheme === 'dark');
          if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}-${colorScheme}-${width}.png`, fullPage: true });
        }, { viewport: { width, height: 800 }, colorScheme });
      }
    });
  }
}

test('nothing moves for those who want it still', async () => {
  await drawn(chrome, sample('journey'), async (page) => {
    const moving = await page.$$eval('.tl *', (all) => all.filter((one) => parseFloat(getComputedStyle(one).transitionDuration) > 0).length);
    assert.equal(moving, 0);
  }, { reducedMotion: 'reduce' });
});

test('10,000 events', async () => {
  const lines = many(10_000);
  const from = performance.now();
  await drawn(chrome, lines, async (page) => {
    const loaded = performance.now() - from;
    const cells = await page.locator('.tl-cell').count();
    const all = await page.locator('*').count();
    assert.ok(cells < 2000 && all < 10_000, `${cells} cells, ${all} elements`);
    // What did not go well shows where many are drawn as one.
    const ill = await page.$$eval('.tl-troubles', (found) => found.map((cell) => `${cell.parentElement.parentElement.dataset.lane}: ${cell.ariaLabel}`));
    assert.deepEqual(ill.map((name) => name.replace(/, from .*/, '').replace(/\d+ items/, 'items')), ['step', 'attempt', 'tool'].map((lane) => `${lane}: items close together, 1 of them failed or cut short`));
    const frames = await page.evaluate(async () => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const times = [];
      for (let n = 0; n < 40; n += 1) {
        const begin = performance.now();
        document.querySelectorAll('.tl-buttons button')[n < 12 ? 3 : n % 2].click();
        await frame();
        await frame();
        times.push(performance.now() - begin);
      }
      return times.sort((a, b) => a - b);
    });
    console.log(`10,000 events: inspect and load ${loaded.toFixed(0)} ms, ${cells} cells, ${all} elements; zoom and pan, two frames: median ${frames[20].toFixed(0)} ms, most ${frames[39].toFixed(0)} ms`);
    assert.ok(loaded < 60_000 && frames[20] < 1000);
    assert.equal(await page.locator('.tl-end').textContent(), '✕ failed: server');
  });
});

test('a live page: events come one by one', async () => {
  const { url, close } = await serve();
  try {
    await open(chrome, url, async (page) => {
      const add = (events) => page.evaluate((all) => { for (const event of all) window.timeline.append(event); }, events.map((line) => JSON.parse(line)));
      const lines = sample('journey');
      await add(lines.slice(0, 15));
      await page.getByRole('gridcell', { name: /^weather/ }).focus();
      await add(lines.slice(15, 30));
      await eventually(async () => assert.match(await focused(page), /^weather: done/, 'the focus stays'));
      assert.match(await page.getByRole('heading', { level: 1 }).textContent(), /Running for/);
      await page.keyboard.press('Enter');
      await page.keyboard.press('Escape');
      assert.deepEqual(await page.evaluate(() => window.opened), [['weather', 4], [null, 0]]);
      await add(lines.slice(30));
      await page.evaluate(() => window.timeline.finish());
      await eventually(async () => assert.equal(await page.locator('[aria-live]').textContent(), 'Run cancelled: requested'));
      assert.deepEqual(await violations(page), []);
    });
    await open(chrome, url, async (page) => {
      // A wait of the adapter is no full stream; what is missing besides is, and lies in the one long silence.
      const held = (firstTime, rest) => page.evaluate(async ([first, second]) => {
        const { Model } = await import('/model.js');
        const model = new Model(100);
        const add = (at, kind, payload) => model.append({ at, kind, payload, run_id: 'r', seq: at + 1 });
        add(0, 'model.started', { attempt: 1, op: 1, step: 1 });
        add(1_000_000, 'provider.request_retry', { delay_us: 5_000_000, kind: 'connection' });
        add(3_000_000, 'text.delta', { text: 'a' });
        add(9_000_000, 'text.delta', { text: 'b' });
        add(10_000_000, 'model.completed', { attempt: 1, op: 1, metrics: { time_to_first_token_us: first, generation_time_us: second }, usage: {} });
        return model.lanes.get('stream').flat().map(({ from, to, title }) => [from, to, title]);
      }, [firstTime, rest]);
      assert.deepEqual(await held(1_000_000, 7_000_000), []);
      assert.deepEqual(await held(1_000_000, 2_000_000), [[3_000_000, 9_000_000, 'full for ≥ 3.00 s']]);
      assert.deepEqual(await held(1_000_000, 6_000_000), [[0, 10_000_000, 'full for 1.00 s in here']]);
      // More calls at once than there are rows.
      await page.evaluate(() => {
        for (let n = 0; n < 40; n += 1) {
          const call = { call_id: `c${n}`, name: n % 2 ? 't' : `t${n}`, ordinal: n, step: 1 };
          window.timeline.append({ at: 10 + n, kind: 'tool.proposed', payload: { ...call, arguments: '{}' }, run_id: 'live', seq: 2 + 2 * n });
          window.timeline.append({ at: 10 + n, kind: 'tool.started', payload: call, run_id: 'live', seq: 3 + 2 * n });
        }
      });
      await eventually(async () => assert.equal(await page.locator('[data-lane="tool"] .tl-row').count(), 24));
      assert.match((await names(page, 'overlap'))[0], /^40 at once: t0, t ×20, t2, t4, t6, t8, …/);
    });
    await open(chrome, url, async (page) => {
      const cost = await page.evaluate(async (lines) => {
        const events = lines.map((line) => JSON.parse(line));
        const times = [];
        let begin = performance.now();
        for (const [n, event] of events.entries()) {
          window.timeline.append(event);
          if (n % 100 === 99) await new Promise((resolve) => requestAnimationFrame(resolve));
          if (n % 5000 === 4999) {
            times.push(performance.now() - begin);
            begin = performance.now();
          }
        }
        return times;
      }, many(20_000));
      console.log(`20,000 events, a frame after each 100: ${cost.map((time) => time.toFixed(0)).join(', ')} ms for each 5,000`);
      assert.ok(cost[3] < 4 * cost[0] + 1000, 'an event costs the same, however many came before');
      await page.locator('.tl-table summary').click();
      await eventually(async () => assert.match(await page.locator('.tl-table').textContent(), /older events are not kept/));
    });
  } finally {
    close();
  }
});
