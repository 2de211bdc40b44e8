// Runs the agent of promise_agent.rs in Node: node --test wasm/tests/promise_agent.test.mjs, with PROMISE_AGENT naming the module
// that the tool in .ci/bindgen has written.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import test from 'node:test';

const { run, replayed } = createRequire(import.meta.url)(process.env.PROMISE_AGENT);

const input = (version) => JSON.stringify({
  threadId: 't', runId: 'r', protocolVersion: version, messages: [{ id: 'u', role: 'user', content: 'What is up?' }],
});
const never = new Promise(() => {});
const later = (value) => new Promise((resolve) => setTimeout(resolve, 10, value));
const events = async (...args) => (await run(...args)).trimEnd().split('\n').map((line) => JSON.parse(line));

test('an agent awaits a promise', async () => {
  const asked = [];
  const ask = (question) => { asked.push(question); return later('The sky.'); };
  const seen = await events(input('1.1'), ask, never);
  assert.deepEqual(asked, ['What is up?']);
  assert.deepEqual(seen.map((event) => event.type), [
    'RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED',
  ]);
  assert.equal(seen[3].delta, 'The sky.');
  assert.deepEqual(seen.at(-1).outcome, { type: 'success' });
});

test('a promise that is broken is a failure of the run', async () => {
  const seen = await events(input('1.1'), () => Promise.reject('no answer'), never);
  assert.deepEqual(seen.slice(-2).map((event) => event.type), ['TEXT_MESSAGE_END', 'RUN_ERROR']);
  assert.equal(seen.at(-1).message, 'agent error: no answer');
  assert.equal(seen.at(-1).code, 'AGENT_ERROR');
});

test('a stop ends a run whose promise is never kept', async () => {
  let seen = await events(input('1.1'), () => never, later());
  assert.deepEqual(seen.slice(-2).map((event) => event.type), ['TEXT_MESSAGE_END', 'RUN_FINISHED']);
  assert.deepEqual(seen.at(-1).outcome, { type: 'cancelled' });
  seen = await events(input(undefined), () => never, later());
  assert.equal(seen.at(-1).code, 'CANCELLED');
});

test('a journal that was written on another machine replays to the identical log', () => {
  const journal = readFileSync(new URL('../../examples/recordings/recovered.journal.jsonl', import.meta.url), 'utf8');
  const recorded = journal.split('\n').filter((line) => /^\{"at":\d+,"kind":/.test(line));
  assert.ok(recorded.length > 20, `${recorded.length} events`);
  assert.equal(replayed(journal), recorded.map((line) => `${line}\n`).join(''));

  const changed = journal.replace('"text":"Let me lo"},"run_id"', '"text":"Let me so"},"run_id"');
  assert.notEqual(changed, journal);
  assert.throws(() => replayed(changed), (error) => String(error).includes('event 4'));
});
