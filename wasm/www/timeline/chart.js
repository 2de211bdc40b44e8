// The drawing: a grid of cells over time. A row is a track of a lane, a cell an item or several that lie too close.

import { make, setText } from './dom.js';
import { LANES } from './model.js';
import { label, sentence } from './summary.js';
import { moment, several } from './words.js';

/** Below so many pixels, neighbours are drawn as one. */
const CLOSE = 10;
/** Where the drawing ends, right of the last event, as a part of the width. */
const MARGIN = 0.04;
const MARKS = new Map([['done', '✓'], ['failed', '✕'], ['cancelled', '⊘'], ['unknown', '?'], ['open', '…'], ['waiting', '↻'], ['held', '‖'], ['note', '◆']]);

/** The size of texts in the drawing against those around it, as the style has it. */
const TEXT_SIZE = 0.87;

/** What a cell may say, from long to short. */
function wordings(item) {
  const mark = item.lane === 'overlap' ? '⇉' : (MARKS.get(item.state) ?? '');
  const { title, short, outcome, brief } = item;
  const ended = outcome === '' ? [] : [`${short} — ${outcome}`, `${short} — ${brief ?? outcome}`];
  return [label(item), ...ended, title, short, item.tiny ?? short].map((text) => `${mark} ${text}`).concat(mark);
}

/** What a cell of several items is called. */
function many(number, troubles, first, last) {
  const ill = troubles === 0 ? '' : `, ${troubles} of them failed or cut short`;
  return `${several(number, 'item')} close together${ill}, from ${first.title} to ${last.title}; Enter enlarges`;
}

/** Draws a model into an element; `changed` hears of another view. */
export class Chart {
  /** What is shown of time, in microseconds; null: all. */
  view = null;
  /** The cell that arrow keys start from, as an item. */
  current = null;
  cells = new Map();
  rows = new Map();

  constructor(model, changed) {
    this.model = model;
    this.changed = changed;
    this.axis = make('div', { class: 'tl-axis', 'aria-hidden': 'true' });
    this.end = make('div', { class: 'tl-end', 'aria-hidden': 'true' }, make('span'));
    this.grid = make('div', { role: 'grid', class: 'tl-grid', 'aria-label': 'Timeline', 'aria-readonly': 'true' });
    this.groups = new Map();
    for (const [lane, heading] of LANES) {
      const group = make('div', { role: 'rowgroup', class: 'tl-lane', 'data-lane': lane, 'aria-label': heading });
      group.hidden = true;
      this.groups.set(lane, group);
      this.grid.append(group);
    }
    this.element = make('div', { class: 'tl-chart' }, this.axis, this.grid, this.end);
  }

  /** The time that is shown: from, to. */
  window() {
    if (this.view !== null) return this.view;
    const from = this.model.from ?? 0;
    const to = Math.max(this.model.to, from + 1);
    return [from, to + (to - from) * MARGIN];
  }

  /** Shows a part of time; null, or more than there is: all. */
  show(view) {
    const [from, to] = [this.model.from ?? 0, Math.max(this.model.to, (this.model.from ?? 0) + 1)];
    const whole = (to - from) * (1 + MARGIN);
    if (view === null || view[1] - view[0] >= whole) {
      this.view = null;
    } else {
      const width = Math.max(view[1] - view[0], 10);
      const start = Math.min(Math.max(view[0], from), from + whole - width);
      this.view = [start, start + width];
    }
    this.changed();
  }

  zoom(factor) {
    const [from, to] = this.window();
    const inView = this.current !== null && this.current.from < to && (this.current.to ?? to) > from;
    const middle = inView ? (Math.max(this.current.from, from) + Math.min(this.current.to ?? to, to)) / 2 : (from + to) / 2;
    const half = ((to - from) * factor) / 2;
    this.show([middle - half, middle + half]);
  }

  pan(part) {
    const [from, to] = this.window();
    this.show([from + (to - from) * part, to + (to - from) * part]);
  }

  /** Brings an item into view, as large as it can be where it is small. */
  reveal(item) {
    const [from, to] = this.window();
    if (item.from >= from && item.from < to) return;
    const half = (to - from) / 2;
    this.show([item.from - half, item.from + half]);
  }

  /** Draws everything anew. What it costs depends on what can be seen, not on what there is. */
  draw() {
    const width = this.grid.clientWidth - this.inset();
    if (width <= 0) return;
    const [from, to] = this.window();
    const scale = width / (to - from);
    const seen = new Set();
    const focused = this.grid.contains(document.activeElement);
    for (const [lane, tracks] of this.model.lanes) {
      const group = this.groups.get(lane);
      group.hidden = tracks.length === 0;
      tracks.forEach((track, index) => this.#row(lane, group, index, track, { from, to, scale, width, seen }));
    }
    for (const [key, cell] of this.cells) {
      if (!seen.has(key)) {
        cell.remove();
        this.cells.delete(key);
      }
    }
    this.#ruler(from, to, scale);
    this.#cut(from, scale, width);
    this.#tabStop(focused);
  }

  /** How many pixels stand left of time. */
  inset() {
    return parseFloat(getComputedStyle(this.element).getPropertyValue('--tl-inset')) || 0;
  }

  #row(lane, group, index, track, box) {
    const key = `${lane} ${index}`;
    let row = this.rows.get(key);
    if (row === undefined) {
      const heading = LANES.find(([name]) => name === lane)[1];
      const header = make('div', { role: 'rowheader', class: index === 0 ? 'tl-head' : 'tl-head tl-hidden' }, index === 0 ? heading : `${heading}, row ${index + 1}`);
      row = make('div', { role: 'row', class: 'tl-row' }, header);
      this.rows.set(key, row);
      group.append(row);
    }
    const clusters = this.#clusters(track, box);
    let room = 0;
    clusters.forEach((cluster, n) => {
      cluster.next = clusters[n + 1]?.left ?? box.width;
      cluster.room = room;
      // A cell of several is kept for its place, so that it need not be made anew when others come together.
      cluster.key = cluster.last === cluster.start ? `i${cluster.first.id}` : `c${key} ${n}`;
      room = this.#cell(row, cluster, box);
    });
  }

  /** What of a track can be seen, from left to right; neighbours that lie too close are one. */
  #clusters(track, { from, to, scale }) {
    const clusters = [];
    const end = (item) => item.to ?? Math.max(this.model.to, item.from);
    let index = this.#firstAt(track, from);
    while (index < track.length && track[index].from <= to) {
      const first = track[index];
      const left = Math.max((first.from - from) * scale, -CLOSE);
      let right = (end(first) - from) * scale;
      let last = index;
      if (right >= 0) {
        while (right - left < CLOSE && last + 1 < track.length && (track[last + 1].from - from) * scale < left + CLOSE) {
          // Items of a track stand in order: what begins within the reach is found by halving.
          last = Math.max(last + 1, this.#lastBefore(track, last + 1, from + (left + CLOSE) / scale));
          right = (end(track[last]) - from) * scale;
        }
        clusters.push({ first, items: track, start: index, last, left, right: Math.max(right, left) });
      }
      index = last + 1;
    }
    return clusters;
  }

  /** The first item that may reach into the view. */
  #firstAt(track, from) {
    let [low, high] = [0, track.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (track[middle].from < from) low = middle + 1;
      else high = middle;
    }
    return Math.max(low - 1, 0);
  }

  /** How many items of a track that begin from one to the other did not go well. */
  #troubles({ troubles = [] }, first, last) {
    return troubles.length === 0 ? 0 : this.#lastBefore(troubles, 0, last.from + 0.5) - this.#lastBefore(troubles, 0, first.from);
  }

  #lastBefore(track, start, time) {
    let [low, high] = [start, track.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (track[middle].from < time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #cell(row, cluster, { scale, from, width, seen }) {
    const { first, start, last, left, right } = cluster;
    const number = last - start + 1;
    const { key } = cluster;
    seen.add(key);
    let cell = this.cells.get(key);
    if (cell === undefined) {
      cell = make('div', { role: 'gridcell', tabindex: '-1', class: 'tl-cell' }, make('span', { class: 'tl-bar' }), make('span', { class: 'tl-text' }));
      this.cells.set(key, cell);
    }
    if (cell.parentElement !== row) row.append(cell);
    Object.assign(cell, { item: first, count: number, upTo: cluster.items[last] });
    const end = Math.min(right, width + CLOSE);
    const size = Math.max(end - left, CLOSE);
    cell.dataset.state = number === 1 ? first.state : 'many';
    cell.dataset.shape = number === 1 ? first.shape : 'many';
    cell.classList.toggle('tl-before', first.before);
    cell.classList.toggle('tl-void', number === 1 && first.void === true);
    cell.setAttribute('aria-selected', String(this.selected === first));
    const troubles = number === 1 ? 0 : this.#troubles(cluster.items, first, cluster.items[last]);
    cell.classList.toggle('tl-troubles', troubles > 0);
    const texts = number === 1 ? wordings(first) : [`${number}×`, troubles > 0 ? '!' : ''];
    const name = number === 1 ? sentence(this.model, first) : many(number, troubles, first, cluster.items[last]);
    if (cell.getAttribute('aria-label') !== name) cell.setAttribute('aria-label', name);
    cell.style.left = `${left}px`;
    cell.style.width = `${size}px`;
    this.#parts(cell.firstChild, number === 1 ? first : null, left, scale, from, size);
    return this.#text(cell, texts, cluster, left, size, width);
  }

  /**
   * The longest text that fits, in the bar, right of it or left of it; the shortest, if none does. Returns where the text
   * of the next cell may begin.
   */
  #text(cell, texts, { next, room }, left, size, width) {
    const hidden = Math.max(-left, 0);
    const spaces = [Math.min(size, width - left) - hidden, Math.min(next, width) - Math.max(left + size, 0), left - room];
    let [text, needs, where] = [texts.at(-1), 0, 0];
    for (const candidate of texts) {
      const wide = this.#measure(candidate);
      const found = spaces.findIndex((space) => wide <= space);
      if (found >= 0) {
        [text, needs, where] = [candidate, wide, found];
        break;
      }
    }
    const element = cell.lastChild;
    setText(element, text);
    element.style.left = `${[hidden, size, -needs][where]}px`;
    element.style.maxWidth = `${Math.max(spaces[where], 0)}px`;
    return left + size + (where === 1 ? needs : 0);
  }

  /** How many pixels a text takes, with the space around it. */
  #measure(text) {
    this.measured ??= new Map();
    let wide = this.measured.get(text);
    if (wide === undefined) {
      if (this.pen === undefined) {
        this.pen = document.createElement('canvas').getContext('2d');
        this.pen.font = getComputedStyle(this.grid).font;
      }
      wide = Math.ceil(this.pen.measureText(text).width * TEXT_SIZE) + 13;
      if (this.measured.size > 5000) this.measured.clear();
      this.measured.set(text, wide);
    }
    return wide;
  }

  /** Stretches of another look within a bar. */
  #parts(bar, item, left, scale, from, size) {
    const parts = item === null || size <= CLOSE ? [] : item.parts;
    const ticks = item === null || size <= CLOSE ? [] : (item.ticks ?? []).slice(-200);
    const wanted = parts.length + ticks.length;
    while (bar.childElementCount > wanted) bar.lastChild.remove();
    while (bar.childElementCount < wanted) bar.append(make('i'));
    const place = (element, as, start, end) => {
      const x = Math.max((start - from) * scale - left, 0);
      element.className = `tl-part tl-${as}`;
      element.style.left = `${x}px`;
      element.style.width = `${Math.max(Math.min((end - from) * scale - left, size) - x, 0)}px`;
    };
    parts.forEach((part, n) => place(bar.children[n], part.as, part.from, part.to ?? item.to ?? this.model.to));
    ticks.forEach((at, n) => place(bar.children[parts.length + n], 'tick', at, at));
  }

  /** Marks of time: at round numbers, not closer than 90 pixels. */
  #ruler(from, to, scale) {
    const least = 90 / scale;
    const power = 10 ** Math.floor(Math.log10(least));
    const step = Math.max([1, 2, 5, 10].map((n) => n * power).find((n) => n >= least), 1);
    const origin = this.model.from ?? 0;
    const marks = [];
    for (let n = Math.ceil((from - origin) / step); origin + n * step <= to; n += 1) marks.push(n * step);
    while (this.axis.childElementCount > marks.length) this.axis.lastChild.remove();
    while (this.axis.childElementCount < marks.length) this.axis.append(make('span'));
    marks.forEach((at, n) => {
      const mark = this.axis.children[n];
      setText(mark, at === 0 ? '0' : at % 1e6 === 0 ? `${at / 1e6} s` : step >= 1000 ? moment(at) : `${(at / 1e6).toFixed(6)} s`);
      const x = (origin + at - from) * scale;
      mark.style.left = `${x}px`;
      mark.hidden = x + 60 > (to - from) * scale;
    });
  }

  /** The line at which the run was cut, over all lanes. */
  #cut(from, scale, width) {
    const { end } = this.model;
    const x = end === null ? -1 : (end.at - from) * scale;
    this.end.hidden = end === null || end.state === 'done' || x < 0 || x > width;
    if (this.end.hidden) return;
    this.end.dataset.state = end.state;
    this.end.style.left = `${this.inset() + x}px`;
    this.end.classList.toggle('tl-left', x > width / 2);
    setText(this.end.firstChild, `${MARKS.get(end.state)} ${end.title}`);
  }

  /** Exactly one cell can be reached by the Tab key; it has the focus if one had it before. */
  #tabStop(focused) {
    let stop = this.current === null ? undefined : this.cellOf(this.current);
    stop ??= this.grid.querySelector('.tl-cell') ?? undefined;
    if (focused && stop !== document.activeElement) stop?.focus({ preventScroll: true });
    for (const cell of this.cells.values()) {
      const index = cell === stop ? '0' : '-1';
      if (cell.getAttribute('tabindex') !== index) cell.setAttribute('tabindex', index);
    }
  }

  /** The cell that shows an item, alone or among others. */
  cellOf(item) {
    const alone = this.cells.get(`i${item.id}`);
    if (alone !== undefined) return alone;
    for (const cell of this.cells.values()) {
      if (cell.item.lane === item.lane && cell.item.track === item.track && cell.item.id <= item.id && item.id <= cell.upTo.id) return cell;
    }
    return undefined;
  }
}
