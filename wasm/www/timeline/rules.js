// What each kind of event means for the drawing. No DOM in here.

import { holdBack, note } from './pressure.js';
import { count, cut, moment, plain, span, word } from './words.js';

const callKey = (payload) => `call ${word(payload.step)}.${word(payload.ordinal)}`;
const toolTitle = (payload) => word(payload.name) || `call ${word(payload.step)}.${word(payload.ordinal)}`;

function fact(item, name, value) {
  if (value !== '' && value !== undefined) item.facts.push([name, cut(String(value), 600)]);
}

function usageFacts(item, usage) {
  if (usage === null || typeof usage !== 'object') return;
  for (const [name, value] of Object.entries(usage)) {
    if (count(value) !== undefined) fact(item, plain(name), value);
  }
}

// Run -------------------------------------------------------------------------------------------------------------

function runBegins(m, e) {
  const item = m.begin('run', 'run', e.kind === 'run.resumed' ? 'Run, resumed' : 'Run', e);
  fact(item, 'model', word(e.payload.model));
  fact(item, 'session', word(e.payload.session_id));
  fact(item, 'revision before', word(e.payload.revision));
}

function runEnds(state, title) {
  return (m, e) => {
    const outcome = title(e.payload);
    const item = m.close('run', 'run', 'Run', e, state, outcome);
    if (word(e.payload.answer) !== '') m.addText(item, word(e.payload.answer));
    fact(item, 'message', word(e.payload.message));
    fact(item, 'code', word(e.payload.code));
    fact(item, 'may be tried again', word(e.payload.retryability));
    if (count(e.payload.retry_at) !== undefined) fact(item, 'not before', moment(e.payload.retry_at));
    fact(item, 'revision after', word(e.payload.revision));
    usageFacts(item, e.payload.usage);
    const wait = m.open.get('wait');
    if (wait !== undefined) {
      m.open.delete('wait');
      Object.assign(wait, { to: e.at, title: 'wait to retry', outcome: `cut short: the run was ${state}` });
    }
    m.end = { state, title: outcome, at: e.at };
  };
}

function runSuspends(m, e) {
  const item = m.close('run', 'run', 'Run', e, 'waiting', 'put aside');
  fact(item, 'open requests', word(e.payload.requests));
  m.end = { state: 'waiting', title: 'put aside', at: e.at };
}

function runResumes(m, e) {
  m.end = null;
  runBegins(m, e);
}

/** Another process goes on with the run: the one before has ended. */
function runRecovers(m, e) {
  const item = m.point('run', 'recovered', e, 'note');
  fact(item, 'what it means', 'the process had ended, and another one goes on from what was recorded');
  fact(item, 'revision before', word(e.payload.revision));
  m.recovered.push(item);
}

// Steps -----------------------------------------------------------------------------------------------------------

function stepBegins(m, e) {
  const item = m.begin(`step ${word(e.payload.step)}`, 'step', `Step ${word(e.payload.step)}`, e);
  fact(item, 'estimated context', `${word(e.payload.estimated_context_tokens)} tokens`);
}

function stepEnds(state) {
  return (m, e) => {
    const step = word(e.payload.step);
    m.close(`step ${step}`, 'step', `Step ${step}`, e, state, state === 'done' ? '' : state);
  };
}

// Model attempts --------------------------------------------------------------------------------------------------

const attemptTitle = ({ attempt, step }) => `Attempt ${word(attempt)}${step === undefined ? '' : ` of step ${word(step)}`}`;
const stair = (number) => Math.min(Math.max((Number(number) || 1) - 1, 0), 7);

function attemptBegins(m, e) {
  const number = word(e.payload.attempt);
  const wait = m.open.get('wait');
  if (wait !== undefined) {
    m.open.delete('wait');
    wait.to = e.at;
  }
  // A retry stands one track lower than what it repeats, like a stair.
  const item = m.begin(`op ${word(e.payload.op)}`, 'attempt', attemptTitle(e.payload), e, { track: stair(number) });
  Object.assign(item, { short: `Attempt ${number}`, tiny: `#${number}` });
  fact(item, 'step', word(e.payload.step));
  fact(item, 'model', word(e.payload.model));
  item.parts.push({ as: 'silent', from: e.at, to: null });
  m.attempt = item;
  note(item, e.at);
  if (wait === undefined) return;
  const waited = e.at - wait.from;
  const title = waited === 0 ? 'retry at once' : `wait ${span(waited)}${wait.compacts ? ' with a compaction' : ''}, then retry`;
  Object.assign(wait, { title, short: `wait ${span(waited)}`, tiny: 'wait', shape: waited === 0 ? 'point' : 'gap' });
  wait.events.push(e.position);
  m.retries.push({ failed: wait.after, wait, next: item });
}

/** The attempt that an event names, or the one that is open. */
function attemptOf(m, e) {
  const key = `op ${word(e.payload.op)}`;
  const unnamed = m.open.get('op ?');
  if (unnamed !== undefined && !m.open.has(key)) {
    m.open.delete('op ?');
    m.open.set(key, unnamed);
  }
  return key;
}

function attemptEnds(state, outcome) {
  return (m, e) => {
    const item = m.close(attemptOf(m, e), 'attempt', `Attempt ${word(e.payload.attempt)}`, e, state, outcome(e.payload));
    if (item.before) item.title = item.short = attemptTitle(e.payload);
    for (const part of item.parts) part.to = Math.min(part.to ?? e.at, e.at);
    const { problem, metrics } = e.payload;
    fact(item, 'problem', problem && plain(problem.kind));
    fact(item, 'message', problem && word(problem.message));
    fact(item, 'status', problem && word(problem.status));
    fact(item, 'finish', plain(e.payload.finish));
    fact(item, 'position', word(e.payload.position));
    usageFacts(item, e.payload.usage);
    const [first, rest] = [count(metrics?.time_to_first_token_us), count(metrics?.generation_time_us)];
    if (first !== undefined) fact(item, 'time to first token', span(first));
    if (rest !== undefined) fact(item, 'generation time', span(rest));
    if (first !== undefined && rest !== undefined) holdBack(m, item, e, first + rest);
    item.gaps = null;
    item.number = Number(e.payload.attempt) || 1;
    m.lastAttempt = item;
    m.attempt = null;
  };
}

const failure = (payload) => `failed: ${plain(payload.problem?.kind) || 'no reason given'}`;

function reset(m, e) {
  const after = m.lastAttempt ?? null;
  const wait = m.begin('wait', 'attempt', 'waits to retry', e, { shape: 'gap', track: stair(after === null ? 2 : after.number + 1) });
  wait.after = after;
  if (wait.after !== null) wait.after.void = true;
  fact(wait, 'why', plain(e.payload.reason));
  fact(wait, 'problem', plain(e.payload.kind));
  const asked = count(e.payload.retry_after_us);
  if (asked !== undefined) fact(wait, 'the provider asked for', span(asked));
  fact(wait, 'what was shown before', e.payload.position === 'partial' ? 'is void' : 'nothing');
}

/** An event from within the open attempt; one that the log lacks the beginning of is open as well. */
function within(m, e) {
  const item = m.attempt ?? m.at('op ?', 'attempt', 'Attempt', e);
  if (m.attempt !== null) item.events.push(e.position);
  m.attempt = item;
  note(item, e.at);
  return item;
}

function delta(what) {
  return (m, e) => {
    const item = within(m, e);
    const silent = item.parts.find((part) => part.as === 'silent' && part.to === null);
    if (silent !== undefined) silent.to = e.at;
    m.addText(item, what === item.lastDelta ? word(e.payload.text) : `${item.text && '\n'}[${what}] ${word(e.payload.text)}`);
    item.lastDelta = what;
  };
}

function callDelta(m, e) {
  const item = within(m, e);
  const silent = item.parts.find((part) => part.as === 'silent' && part.to === null);
  if (silent !== undefined) silent.to = e.at;
  item.lastDelta = 'call';
}

function requestAgain(m, e) {
  const item = within(m, e);
  const delay = count(e.payload.delay_us) ?? 0;
  item.parts.push({ as: 'pause', from: e.at, to: e.at + delay, until: 'next' });
  fact(item, 'request repeated', `${plain(e.payload.kind)}, after ${span(delay)}`);
}

// Tool calls ------------------------------------------------------------------------------------------------------

function proposed(m, e) {
  const item = m.begin(callKey(e.payload), 'tool', toolTitle(e.payload), e);
  fact(item, 'call', `${word(e.payload.step)}.${word(e.payload.ordinal)} (${word(e.payload.call_id)})`);
  fact(item, 'arguments', word(e.payload.arguments));
  item.parts.push({ as: 'queued', from: e.at, to: null });
}

function started(m, e) {
  const key = callKey(e.payload);
  const item = m.at(key, 'tool', toolTitle(e.payload), e);
  for (const part of item.parts) part.to ??= e.at;
  item.entered = true;
  m.enter(key, item, e);
}

function updated(m, e) {
  const key = callKey(e.payload);
  const item = m.at(key, 'tool', toolTitle(e.payload), e);
  item.ticks ??= [];
  item.ticks.push(e.at);
  m.addText(item, `${item.text && '\n'}${word(e.payload.progress)}`);
}

function detached(m, e) {
  const key = callKey(e.payload);
  const item = m.close(key, 'tool', toolTitle(e.payload), e, 'done', 'goes on as a job');
  m.leave(key, e);
  const job = m.begin(key, 'job', item.title, e);
  job.entered = true;
}

const ENDS = new Map([
  ['success', ['done', '']],
  ['denied', ['cancelled', 'denied']],
  ['interrupted(not_started)', ['cancelled', 'cut short before it began']],
  ['interrupted(outcome_unknown)', ['unknown', 'cut short: outcome unknown']],
]);

function finished(m, e) {
  const key = callKey(e.payload);
  const status = word(e.payload.status);
  const [state, outcome] = ENDS.get(status) ?? ['failed', status === 'failure' ? 'failed' : plain(status)];
  const item = m.close(key, 'tool', toolTitle(e.payload), e, state, outcome);
  if (outcome.startsWith('cut short')) item.brief = 'cut short';
  for (const part of item.parts) part.to ??= e.at;
  fact(item, 'status', status);
  const parts = Array.isArray(e.payload.content) ? e.payload.content : [];
  const text = parts.map((part) => word(part?.text) || `[${word(part?.image?.media_type) || 'part'}]`).join('\n');
  if (text !== '') fact(item, 'result', text);
  m.leave(key, e);
}

// Questions -------------------------------------------------------------------------------------------------------

const ASKED = new Map([['approval', 'Consent'], ['question', 'Question'], ['call', 'For the client']]);

function asked(m, e) {
  const tool = m.open.get(callKey(e.payload))?.title ?? callKey(e.payload);
  const kind = ASKED.get(word(e.payload.kind)) ?? (plain(e.payload.kind) || 'Request');
  const item = m.begin(`ask ${word(e.payload.request_id)}`, 'question', `${kind}: ${tool}`, e);
  fact(item, 'request', word(e.payload.request_id));
  fact(item, 'reason', word(e.payload.reason));
  const timeout = count(e.payload.timeout_us);
  if (timeout !== undefined) fact(item, 'time to answer', span(timeout));
}

function askEnds(state, outcome) {
  return (m, e) => {
    const key = `ask ${word(e.payload.request_id)}`;
    const item = m.close(key, 'question', 'Request', e, state, outcome(e.payload));
    fact(item, 'answered by', word(e.payload.source));
    fact(item, 'reason', word(e.payload.answer?.reason) || plain(e.payload.reason));
  };
}

function answer({ answer: given }) {
  if (given?.decision === 'allow') return given.arguments === undefined ? 'allowed' : 'allowed, edited';
  if (given?.decision === 'deny') return 'refused';
  return word(given?.refused) || 'answered';
}

// What enters the context -----------------------------------------------------------------------------------------

function compacts(m, e) {
  const item = m.begin('compaction', 'compaction', 'Compaction', e);
  const wait = m.open.get('wait');
  if (wait !== undefined) wait.compacts = true;
  fact(item, 'set off by', plain(e.payload.trigger));
  fact(item, 'messages to replace', word(e.payload.messages));
}

function compacted(state, outcome) {
  return (m, e) => {
    const item = m.close('compaction', 'compaction', 'Compaction', e, state, outcome(e.payload));
    fact(item, 'message', word(e.payload.message));
    fact(item, 'messages left', word(e.payload.messages));
    fact(item, 'revision', word(e.payload.revision));
    usageFacts(item, e.payload.usage);
  };
}

function compactsNoMore(m, e) {
  const item = m.point('compaction', 'no more compactions', e, 'note');
  fact(item, 'why', `${word(e.payload.failures)} in a row have failed`);
  fact(item, 'estimated context', `${word(e.payload.estimated_context_tokens)} tokens`);
}

function input(title) {
  return (m, e) => {
    const item = m.point('input', title(e.payload), e, 'note');
    fact(item, 'input', word(e.payload.steer_id));
    fact(item, 'revision', word(e.payload.revision));
  };
}

function activity(title) {
  return (m, e) => {
    if (m.attempt !== null) within(m, e);
    const item = m.point('provider', cut(title(e.payload), 80), e, 'note');
    for (const [name, value] of Object.entries(e.payload)) fact(item, name, word(value));
  };
}

/** What each kind does; other kinds are drawn as unknown points. */
export const RULES = new Map([
  ['run.started', runBegins],
  ['run.resumed', runResumes],
  ['run.recovered', runRecovers],
  ['run.suspended', runSuspends],
  ['run.completed', runEnds('done', (payload) => `completed: ${plain(payload.stop_reason)}`)],
  ['run.cancelled', runEnds('cancelled', (payload) => `cancelled: ${plain(payload.cause)}`)],
  ['run.failed', runEnds('failed', (payload) => `failed: ${plain(payload.code)}`)],
  ['step.started', stepBegins],
  ['step.completed', stepEnds('done')],
  ['step.failed', stepEnds('failed')],
  ['step.cancelled', stepEnds('cancelled')],
  ['model.started', attemptBegins],
  ['model.completed', attemptEnds('done', () => '')],
  ['model.failed', attemptEnds('failed', failure)],
  ['model.cancelled', attemptEnds('cancelled', () => 'cancelled')],
  ['text.delta', delta('text')],
  ['reasoning.delta', delta('reasoning')],
  ['reasoning.summary_delta', delta('summary')],
  ['tool_call.delta', callDelta],
  ['provider.stream_reset', reset],
  ['provider.request_retry', requestAgain],
  ['provider.context_updated', activity((payload) => `context: ${word(payload.kind)}`)],
  ['provider.web_search', activity((payload) => `search: ${word(payload.detail)}`)],
  ['provider.hosted_tool', activity((payload) => `${word(payload.name)}: ${word(payload.detail)}`)],
  ['provider.diagnostic', activity((payload) => `${word(payload.name)}: ${word(payload.value)}`)],
  ['usage.updated', (m, e) => { if (m.attempt !== null) within(m, e); }],
  ['tool.proposed', proposed],
  ['tool.started', started],
  ['tool.updated', updated],
  ['tool.detached', detached],
  ['tool.finished', finished],
  ['host_input.requested', asked],
  ['host_input.answered', askEnds('done', answer)],
  ['host_input.failed', askEnds('failed', (payload) => `no answer: ${plain(payload.reason)}`)],
  ['host_input.cancelled', askEnds('cancelled', () => 'not needed any more')],
  ['steering.delivered', input(() => 'steer delivered')],
  ['steering.applied', input(() => 'steer applied')],
  ['boundary.applied', input((payload) => `input at ${plain(payload.boundary)}`)],
  ['compaction.started', compacts],
  ['compaction.completed', compacted('done', (payload) => `${word(payload.removed)} messages fewer`)],
  ['compaction.failed', compacted('failed', (payload) => `failed: ${plain(payload.code)}`)],
  ['compaction.cancelled', compacted('cancelled', () => 'cancelled')],
  ['compaction.stopped', compactsNoMore],
]);
