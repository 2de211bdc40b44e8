// A run as a timeline, while it goes on or afterwards. Needs timeline.css; no other module, no markup, no inline style.

import { Chart } from './chart.js';
import { Details, Table } from './details.js';
import { button, make, setText } from './dom.js';
import { enter, focus, press } from './keys.js';
import { Model } from './model.js';
import { headline, sentences } from './summary.js';

/** How things look, in words: mark, name, state, shape. */
const LEGEND = [
  ['✓', 'done', 'done', 'bar'], ['✕', 'failed', 'failed', 'bar'], ['⊘', 'cancelled, denied', 'cancelled', 'bar'],
  ['?', 'outcome unknown', 'unknown', 'bar'], ['…', 'open', 'open', 'bar'], ['↻', 'wait before a retry', 'waiting', 'gap'], ['‖', 'stream full', 'held', 'gap'],
  ['⇉', 'at the same time', 'together', 'bar'], ['', 'striped: not begun, or no answer yet', 'striped', 'bar'],
];

/** So many times as long as a drawing took, the next one waits for more events. */
const REST = 4;

/** Most events that the table keeps, if not told otherwise. */
const KEPT = 100_000;

/**
 * Draws a run into `element`, which is emptied.
 *
 * `append(event)` takes the next event as the log has it: an object with `at` (microseconds), `kind`, `payload`,
 * `run_id`, `seq`. Drawing is put together, at most once a frame. `finish()` says that no more events come. Both are cheap,
 * however long the run is. `onSelect(item, events)` hears which item was opened, with its events, and `null` when it is
 * closed. `limit` (default 100,000) is how many events are kept for table and details.
 */
export function createTimeline(element, { onSelect = () => {}, limit = KEPT } = {}) {
  const model = new Model(limit);
  const view = new View(element, model, onSelect);
  return {
    append(event) {
      model.append(event);
      view.follow();
    },
    finish() {
      model.finish();
      view.schedule();
    },
  };
}

class View {
  scheduled = false;
  following = false;
  /** When the last drawing ended, and how many milliseconds it took. */
  drawn = 0;
  cost = 0;
  opened = null;
  pointed = null;
  told = '';

  constructor(element, model, onSelect) {
    Object.assign(this, { model, onSelect });
    this.chart = new Chart(model, () => this.schedule());
    this.details = new Details(model, () => this.leave());
    this.table = new Table(model);
    this.heading = make('h1', { class: 'tl-headline' });
    this.facts = make('ul', { class: 'tl-facts' });
    this.live = make('p', { class: 'tl-hidden', role: 'status', 'aria-live': 'polite' });
    element.classList.add('tl');
    element.replaceChildren(this.heading, this.facts, this.#tools(), legend(), this.chart.element, this.details.element, this.table.element, this.live);
    this.#listen();
    new ResizeObserver(() => this.schedule()).observe(this.chart.element);
    this.schedule();
  }

  #tools() {
    const { chart } = this;
    return make(
      'div', { class: 'tl-buttons', role: 'group', 'aria-label': 'Part of time that is shown' },
      button('◀', 'Earlier', () => chart.pan(-0.5)), button('▶', 'Later', () => chart.pan(0.5)),
      button('−', 'More time', () => chart.zoom(2)), button('+', 'Less time, larger', () => chart.zoom(0.5)),
      button('All', 'All of the run', () => chart.show(null)),
      make('span', { class: 'tl-hint' }, 'Keys: arrows move, Enter opens, + − 0 zoom, Shift with arrows pans'),
    );
  }

  #listen() {
    const { grid } = this.chart;
    const cellOf = (event) => event.target.closest?.('.tl-cell') ?? null;
    grid.addEventListener('click', (event) => {
      const cell = cellOf(event);
      if (cell !== null) enter(this.chart, cell, (item) => this.open(item));
    });
    grid.addEventListener('keydown', (event) => {
      if (press(this.chart, event, (item) => this.open(item))) event.preventDefault();
    });
    grid.addEventListener('focusin', (event) => {
      const cell = cellOf(event);
      if (cell === null) return;
      this.chart.current = cell.item;
      this.point(cell.item);
      this.schedule();
    });
    grid.addEventListener('pointerover', (event) => {
      const cell = cellOf(event);
      if (cell !== null) this.point(cell.item);
    });
  }

  /** Shows an item as long as nothing else was opened. */
  point(item) {
    if (this.opened !== null || this.pointed === item) return;
    this.pointed = item;
    this.details.show(item, false);
  }

  open(item) {
    this.opened = this.chart.current = this.chart.selected = item;
    this.details.show(item, true);
    this.details.element.focus();
    this.schedule();
    this.onSelect(item, item.events.map((position) => this.model.event(position)).filter((event) => event !== undefined));
  }

  leave() {
    if (this.opened === null) return;
    const item = this.opened;
    this.opened = this.pointed = this.chart.selected = null;
    focus(this.chart, item);
    this.point(item);
    this.onSelect(null, []);
  }

  /** Draws with the next frame, because somebody waits for it. */
  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      const begin = performance.now();
      this.draw();
      this.drawn = performance.now();
      this.cost = this.drawn - begin;
    });
  }

  /** Draws soon: what comes in by itself is given no more than a part of the time, so that the page answers. */
  follow() {
    if (this.scheduled || this.following) return;
    const rest = this.drawn + REST * this.cost - performance.now();
    if (!(rest > 0)) {
      this.schedule();
      return;
    }
    this.following = true;
    setTimeout(() => {
      this.following = false;
      this.schedule();
    }, rest);
  }

  draw() {
    const { model } = this;
    const state = headline(model);
    setText(this.heading, model.runId === '' ? state : `Run ${model.runId}: ${state}`);
    this.#sentences();
    this.chart.draw();
    this.table.draw();
    this.details.refresh();
    // Only what changes the run's state is read out, not each event.
    const standing = model.end?.title ?? (model.finished ? state : '');
    if (standing !== this.told) setText(this.live, standing === '' ? '' : `Run ${standing}`);
    this.told = standing;
  }

  #sentences() {
    const lines = sentences(this.model);
    while (this.facts.childElementCount > lines.length) this.facts.lastChild.remove();
    while (this.facts.childElementCount < lines.length) this.facts.append(make('li'));
    lines.forEach((line, n) => setText(this.facts.children[n], line));
  }
}

function legend() {
  const entries = LEGEND.map(([mark, name, state, shape]) => {
    const sample = make('span', { class: 'tl-sample', 'data-state': state, 'data-shape': shape, 'aria-hidden': 'true' }, make('span', { class: 'tl-bar' }));
    return make('li', {}, sample, `${mark} ${name}`);
  });
  return make('ul', { class: 'tl-legend', 'aria-label': 'Legend' }, ...entries);
}
