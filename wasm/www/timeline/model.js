// What the events of a run come to: bars, gaps and points in lanes. No DOM in here, and one pass: each event costs the
// same, however many came before it.

import { cut, word, TEXT_KEPT } from './words.js';
import { RULES } from './rules.js';

/** The lanes from top to bottom: name and heading. */
export const LANES = [
  ['run', 'Run'],
  ['step', 'Steps'],
  ['attempt', 'Model attempts'],
  ['tool', 'Tool calls'],
  ['overlap', 'At the same time'],
  ['job', 'Jobs'],
  ['question', 'Questions'],
  ['compaction', 'Compaction'],
  ['input', 'Added input'],
  ['stream', 'Stream full'],
  ['provider', 'Provider'],
  ['other', 'Unknown events'],
];

/** Most tracks that a lane is given; what is more stands in the last one, over each other. */
const MOST_TRACKS = 24;

/** Most names of tools that ran at the same time. */
const NAMED = 6;

/** States that must show where several items are drawn as one; a track lists the items that are in one, in order. */
const TROUBLES = new Set(['failed', 'cancelled', 'unknown']);

/**
 * A run, event after event.
 *
 * An item has a `shape` (`bar`, `gap`, `point`), a `state` (`open`, `done`, `failed`, `cancelled`, `unknown`, `waiting`,
 * `held`, `note`), a title and a short one, an outcome, `from` and `to` in microseconds (`to` is null while it is open), `parts` of another
 * look, `facts` as pairs of words, and the positions of its events in the store.
 */
export class Model {
  items = [];
  lanes = new Map(LANES.map(([name]) => [name, []]));
  /** Time of the first and of the last event, as drawn. */
  from = null;
  to = 0;
  /** The newest events; the first of them has position `dropped`. */
  events = [];
  dropped = 0;
  runId = '';
  /** How the run ended: `{ state, title, at }`; null while it has no terminal. */
  end = null;
  /** Whether no more events come. */
  finished = false;
  /** Sequence numbers of the first event and of those that are missing within: `[first missing, last missing]`. */
  first = null;
  missing = [];
  /** How often the clock began anew, after a suspension. */
  clocks = 0;
  /** How many bars each lane has. */
  bars = new Map(LANES.map(([name]) => [name, 0]));
  retries = [];
  recovered = [];
  overlaps = [];
  held = [];
  /** What is open, by a key of its kind. */
  open = new Map();
  /** The attempt that deltas belong to. */
  attempt = null;
  /** Tools whose code runs, by key. */
  running = new Map();
  overlap = null;
  #shift = 0;
  #last = 0;

  /** Keeps at most `limit` events for the table; what they were drawn as stays. */
  constructor(limit) {
    this.limit = limit;
  }

  /** Takes the next event: an object as a line of the log holds it. */
  append(event) {
    const kind = word(event?.kind);
    const payload = event?.payload !== null && typeof event?.payload === 'object' ? event.payload : {};
    const begun = this.from !== null || kind === 'run.started' || kind === 'run.resumed';
    const at = this.#time(event, kind);
    if (!begun) this.#beganBefore(at);
    const position = this.#store({ seq: Number(event?.seq) || 0, raw: Number(event?.at) || 0, at, kind, payload });
    this.#sequence(Number(event?.seq) || 0);
    this.runId ||= word(event?.run_id);
    if (this.overlap !== null && this.overlap.item === null && at > this.overlap.from) this.#showOverlap();
    const rule = RULES.get(kind);
    const happened = { at, kind, payload, position, seq: Number(event?.seq) || 0 };
    if (rule !== undefined) rule(this, happened);
    else this.point('other', kind || 'event without a kind', happened, 'note');
  }

  /** No more events come. */
  finish() {
    this.finished = true;
  }

  /** The log lacks the run's beginning. */
  #beganBefore(at) {
    const run = this.add('run', 'bar', 'open', 'Run', at, null, null);
    run.before = true;
    this.open.set('run', run);
  }

  /** Time as drawn. It never goes back: a resumed part has the clock of its engine, and how long the run lay is unknown. */
  #time(event, kind) {
    const raw = Number(event?.at) || 0;
    if ((kind === 'run.resumed' && this.from !== null) || raw + this.#shift < this.#last) {
      this.#shift = this.#last - raw;
      this.clocks += 1;
    }
    const at = raw + this.#shift;
    this.from ??= at;
    this.#last = this.to = at;
    return at;
  }

  #store(event) {
    this.events.push(event);
    if (this.events.length > 2 * this.limit) {
      this.dropped += this.events.length - this.limit;
      this.events = this.events.slice(-this.limit);
    }
    return this.dropped + this.events.length - 1;
  }

  #sequence(seq) {
    if (this.first === null) this.first = seq;
    else if (seq > this.newest + 1) this.missing.push([this.newest + 1, seq - 1]);
    this.newest = seq;
  }

  /** The stored event at a position; undefined where it is not kept any more. */
  event(position) {
    return this.events[position - this.dropped];
  }

  /** Adds an item; to this track of its lane, if that is free. */
  add(lane, shape, state, title, from, to, event, track = 0) {
    const item = {
      id: this.items.length, lane, shape, state, title, short: title, outcome: '', from, to, before: false,
      parts: [], facts: [], text: '', length: 0, events: [], track: 0,
    };
    if (event !== null) item.events.push(event.position);
    this.items.push(item);
    if (shape === 'bar') this.bars.set(lane, this.bars.get(lane) + 1);
    this.#place(item, track);
    return item;
  }

  /** Puts an item into the track it asks for, or else the first of its lane where nothing is in its way. */
  #place(item, wanted) {
    const tracks = this.lanes.get(item.lane);
    const free = (track) => {
      const last = track.at(-1);
      return last === undefined || (last.to !== null && last.to <= item.from && last.from <= item.from);
    };
    while (tracks.length <= wanted && tracks.length < MOST_TRACKS) tracks.push([]);
    let index = wanted < tracks.length && free(tracks[wanted]) ? wanted : tracks.findIndex(free);
    if (index < 0 && tracks.length < MOST_TRACKS) index = tracks.push([]) - 1;
    if (index < 0) index = tracks.length - 1;
    tracks[index].push(item);
    item.track = index;
  }

  /** A bar that stays open until `close` is told the same key. */
  begin(key, lane, title, event, { shape = 'bar', from = event.at, track = 0 } = {}) {
    const item = this.add(lane, shape, shape === 'gap' ? 'waiting' : 'open', title, from, null, event, track);
    this.open.set(key, item);
    return item;
  }

  /** The open item of a key, told of one more event. One whose beginning the log lacks reaches back to the log's. */
  at(key, lane, title, event) {
    const found = this.open.get(key);
    if (found !== undefined) {
      found.events.push(event.position);
      return found;
    }
    const item = this.begin(key, lane, title, event, { from: this.from });
    item.before = true;
    return item;
  }

  /** Ends the item of a key. */
  close(key, lane, title, event, state, outcome) {
    const item = this.at(key, lane, title, event);
    this.open.delete(key);
    Object.assign(item, { to: event.at, state, outcome });
    if (TROUBLES.has(state)) {
      const track = this.lanes.get(item.lane)[item.track];
      track.troubles ??= [];
      track.troubles.push(item);
    }
    return item;
  }

  /** Something that takes no time. */
  point(lane, title, event, state) {
    return this.add(lane, 'point', state, title, event.at, event.at, event);
  }

  /** Adds to what an item shows of its text. */
  addText(item, text) {
    if (item.length < TEXT_KEPT) item.text += text.slice(0, TEXT_KEPT - item.length);
    item.length += text.length;
  }

  /** A tool's code is entered. */
  enter(key, item, event) {
    this.running.set(key, item);
    if (this.running.size < 2) return;
    this.overlap ??= { from: event.at, counts: new Map(), others: false, most: 0, item: null, events: [] };
    for (const { title } of this.overlap.most === 0 ? this.running.values() : [item]) this.#countIn(title);
    this.overlap.most = Math.max(this.overlap.most, this.running.size);
    this.overlap.events.push(event.position);
    if (this.overlap.item !== null) this.#showOverlap();
  }

  /** A tool's code is left. */
  leave(key, event) {
    if (!this.running.delete(key) || this.running.size >= 2 || this.overlap === null) return;
    const { item } = this.overlap;
    if (item !== null) Object.assign(item, { to: event.at, state: 'done' });
    this.overlap = null;
  }

  /** Names a tool of the overlap; only the first few names are kept. */
  #countIn(title) {
    const { counts } = this.overlap;
    if (counts.size < NAMED || counts.has(title)) counts.set(title, (counts.get(title) ?? 0) + 1);
    else this.overlap.others = true;
  }

  #showOverlap() {
    const overlap = this.overlap;
    const named = [...overlap.counts].map(([title, number]) => (number === 1 ? title : `${title} ×${number}`));
    const names = cut(named.join(', '), 200) + (overlap.others ? ', …' : '');
    if (overlap.item === null) {
      overlap.item = this.add('overlap', 'bar', 'open', '', overlap.from, null, null);
      this.overlaps.push(overlap.item);
    }
    overlap.item.title = `${overlap.most} at once: ${names}`;
    overlap.item.short = `${overlap.most} at once`;
    overlap.item.events = overlap.events;
  }
}
