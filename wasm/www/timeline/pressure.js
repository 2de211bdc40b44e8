// How long the stream was full, as far as the log can tell. No DOM in here.
//
// No event says that the stream is full. But the metrics of an attempt leave out the time in which the stream was full
// and the time in which an adapter waited before it repeated a request, and the events have times: what is missing is
// the time in which the stream was full. Where it lies is certain only for silences that are longer than all that the
// attempt took by itself. Attempts that fail or are cancelled have no metrics: of these the log does not tell.

import { span } from './words.js';

/** Most silences that an attempt keeps: only the longest can be longer than the rest together. */
const MOST = 8;

/** Something of the attempt was recorded. */
export function note(item, at) {
  const last = item.seen ?? item.from;
  item.seen = at;
  for (const part of item.parts) {
    if (part.until === 'next' && part.from < at) {
      part.to = Math.min(part.to, at);
      part.until = null;
    }
  }
  item.gaps ??= [];
  if (at > last) item.gaps.push([last, at]);
  if (item.gaps.length > 2 * MOST) item.gaps = longest(item.gaps);
}

function longest(gaps) {
  return gaps.sort((a, b) => b[1] - b[0] - (a[1] - a[0])).slice(0, MOST);
}

/** The attempt is complete and took `own` microseconds by itself. */
export function holdBack(m, item, event, own) {
  note(item, event.at);
  if (item.before) return;
  // A wait of the adapter lies between two events.
  const pauses = item.parts.filter((part) => part.as === 'pause');
  const waited = (from, to) => pauses.reduce((sum, part) => sum + (part.from >= from && part.to <= to ? part.to - part.from : 0), 0);
  const most = (from, to) => to - from - waited(from, to);
  const whole = most(item.from, event.at);
  const held = whole - own;
  if (held <= 0) return;
  item.facts.push(['stream full meanwhile', span(held)]);
  m.held.push({ item, held });
  const certain = longest(item.gaps).map(([from, to]) => ({ from, to, least: held - (whole - most(from, to)) }));
  const shown = certain.filter((gap) => gap.least > 0).sort((a, b) => a.from - b.from);
  if (shown.length === 0) shown.push({ from: item.from, to: event.at, least: null });
  for (const { from, to, least } of shown) {
    const title = least === null
      ? `full for ${span(held)} in here`
      : least === to - from ? `full for ${span(least)}` : `full for ≥ ${span(least)}`;
    const gap = m.add('stream', 'gap', 'waiting', title, from, to, event);
    Object.assign(gap, { state: 'held', short: title.replace('full for ', '') });
    gap.facts.push(
      ['what it means', 'the reader was slower than the provider; nothing is lost'],
      ['how it is known', 'the times of the events are further apart than the metrics of the attempt'],
      ['attempt', item.title], ['in the whole attempt', span(held)],
    );
  }
}
