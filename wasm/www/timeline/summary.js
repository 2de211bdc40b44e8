// A run in sentences: what a reader of the drawing should not have to guess. No DOM in here.

import { moment, several, span } from './words.js';

/** Most sentences of one kind; the rest is counted. */
const MOST = 5;

/** `Attempt 1`, `weather, failed`: an item in a few words. */
export function label(item) {
  return item.outcome === '' ? item.title : `${item.title} — ${item.outcome}`;
}

/** How an item stands, for those who do not see its look. */
export function standing(item) {
  const state = { open: 'open', done: 'done', failed: 'failed', cancelled: 'cancelled', unknown: 'outcome unknown' }[item.state];
  return item.shape === 'point' ? 'event' : item.shape === 'gap' ? (item.state === 'held' ? 'stream full' : 'wait') : (state ?? item.state);
}

/** An item in one sentence. */
export function sentence(model, item) {
  const since = (at) => moment(at - (model.from ?? 0));
  const when = item.shape === 'point'
    ? `at ${since(item.from)}`
    : item.to === null
      ? `${item.before ? 'began before the log does' : `from ${since(item.from)}`}, open`
      : `${item.before ? 'began before the log does, until' : `from ${since(item.from)} to`} ${since(item.to)}, ${span(item.to - item.from)}`;
  const state = item.outcome === '' ? standing(item) : item.outcome;
  return `${item.title}${item.void ? ' (void)' : ''}: ${state}; ${when}`;
}

function listed(items, of) {
  const lines = items.slice(0, MOST).map(of);
  if (items.length > MOST) lines.push(`… and ${items.length - MOST} more of this kind.`);
  return lines;
}

/** Where the run stands, in a few words. */
export function headline(model) {
  if (model.from === null) return 'Nothing recorded yet';
  const took = span(model.to - model.from);
  if (model.end !== null) {
    return model.end.state === 'waiting' ? `Put aside after ${took}` : `${model.end.title.replace(/^./, (c) => c.toUpperCase())}, after ${took}`;
  }
  return model.finished ? `Open: the log ends after ${took} without a terminal` : `Running for ${took}`;
}

function retry({ failed, wait, next }) {
  const what = failed === null ? 'An attempt before the log' : failed.title;
  const waited = wait.to - wait.from;
  const why = failed === null || failed.outcome === '' ? '' : ` ${failed.outcome}`;
  return `Retry: ${what.toLowerCase()}${why}; ${next.short.toLowerCase()} followed ${waited === 0 ? 'at once' : `after a wait of ${span(waited)}${wait.compacts ? ', with a compaction in it' : ''}`}.`;
}

function overlap(model, item) {
  const end = item.to ?? model.to;
  return `Overlap: ${item.title.replace(/^\d+ at once: /, '')} ran at the same time for ${span(end - item.from)}.`;
}

/** What was under way when the run ended early. */
function cutShort(model) {
  const { state, title, at } = model.end;
  const items = model.items.filter((item) => item.to === at && item.lane !== 'run' && item.lane !== 'step'
    && (item.state === 'unknown' || item.outcome.startsWith('cut short') || (item.state === 'cancelled' && item.outcome !== 'denied')));
  const what = items.length === 0 ? '' : ` It cut short: ${items.slice(0, MOST).map((item) => item.title).join(', ')}${items.length > MOST ? `, and ${items.length - MOST} more` : ''}.`;
  const unknown = items.filter((item) => item.state === 'unknown').map((item) => item.title).slice(0, MOST).join(', ');
  const name = state === 'cancelled' ? 'Cancel' : 'Failure';
  return `${name} at ${moment(at - model.from)} (${title.replace(/^\w+: /, '')}).${what}${unknown === '' ? '' : ` What ${unknown} did outside is not known.`}`;
}

/** The sentences below the headline. */
export function sentences(model) {
  if (model.from === null) return [];
  const counted = [['step', 'step'], ['attempt', 'attempt'], ['tool', 'tool call'], ['question', 'question'], ['compaction', 'compaction']]
    .map(([name, thing]) => [model.bars.get(name), thing]).filter(([number]) => number > 0);
  const lines = [];
  if (model.first > 1) {
    lines.push(`Began before: events 1 to ${model.first - 1} are not in this log. What was open then reaches to the left edge.`);
  }
  lines.push(...listed(model.missing, ([from, to]) => `Events ${from} to ${to} are missing within.`));
  lines.push(`${counted.map(([number, thing]) => several(number, thing)).join(', ') || 'No step'}; ${several(model.dropped + model.events.length, 'event')}.`);
  lines.push(...listed(model.retries, retry));
  lines.push(...listed(model.overlaps, (item) => overlap(model, item)));
  lines.push(...listed(model.held, ({ item, held }) => `Stream full: ${item.title.toLowerCase()} was held back for ${span(held)} by its reader.`));
  lines.push(...listed(model.recovered, ({ from }) => `Recovered at ${moment(from - model.from)}: the process had ended, and another one went on.`));
  if (model.clocks > 0) lines.push('The run was put aside; how long is not in the log and not drawn.');
  if (model.end !== null && (model.end.state === 'cancelled' || model.end.state === 'failed')) lines.push(cutShort(model));
  if (model.end === null && model.finished) {
    lines.push('No terminal: the run went on when this log was written, or its end is lost. What is open is drawn to the right edge.');
  }
  return lines;
}
