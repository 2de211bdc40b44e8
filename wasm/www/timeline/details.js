// What stands beside the drawing: the details of an item, and all events as a table.

import { button, make, setText } from './dom.js';
import { sentence } from './summary.js';
import { cut, moment, TEXT_KEPT } from './words.js';

/** Most events of an item that are listed whole, at its beginning and at its end. */
const LISTED = 10;
const PAGE = 100;

function payload(event) {
  return cut(JSON.stringify(event.payload, null, 1), 4000);
}

/** What of an item changes as events come. */
function stateOf({ title, to, length, facts, events }) {
  return [title, to, length, facts.length, events.length].join(' ');
}

/** The details of an item. */
export class Details {
  constructor(model, leave) {
    this.model = model;
    this.title = make('h2', { class: 'tl-title' }, 'Details');
    this.body = make('div', {}, make('p', {}, 'Point at something in the drawing, or go to it with Tab and the arrow keys. Enter keeps its details here.'));
    this.close = button('Close', 'Close the details and go back to the drawing', leave);
    this.close.hidden = true;
    this.element = make('section', { class: 'tl-details', 'aria-label': 'Details', tabindex: '-1' }, make('div', { class: 'tl-bar-of-details' }, this.title, this.close), this.body);
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') leave();
    });
  }

  /** Shows an item: in short while it is only pointed at, whole once it was opened. */
  show(item, whole) {
    const model = this.model;
    Object.assign(this, { item, whole, state: stateOf(item) });
    setText(this.title, item.title);
    this.close.hidden = !whole;
    const list = make('dl');
    for (const [name, value] of item.facts) list.append(make('dt', {}, name), make('dd', {}, value));
    const children = [make('p', {}, sentence(model, item)), list];
    if (item.text !== '') {
      const more = item.length > TEXT_KEPT ? ` … (${item.length} characters)` : '';
      children.push(make('pre', { class: 'tl-said', tabindex: '0', 'aria-label': 'Text' }, item.text + more));
    }
    if (whole) children.push(...this.#events(item));
    this.body.replaceChildren(...children);
  }

  /** The item may have gone on since it was shown. What somebody reads in the details is not taken away. */
  refresh() {
    if (this.item === undefined || this.state === stateOf(this.item)) return;
    const read = this.body.contains(document.activeElement) || this.body.querySelector('details[open]') !== null;
    if (read) setText(this.body.firstChild, sentence(this.model, this.item));
    else this.show(this.item, this.whole);
  }

  #events(item) {
    const all = item.events;
    const shown = all.length <= 2 * LISTED ? all : [...all.slice(0, LISTED), ...all.slice(-LISTED)];
    const rows = shown.map((position) => this.model.event(position)).filter((event) => event !== undefined).map((event) => {
      const summary = make('summary', {}, `${event.seq} · ${moment(event.raw)} · ${event.kind}`);
      return make('li', {}, make('details', {}, summary, make('pre', { tabindex: '0', 'aria-label': `Payload of event ${event.seq}` }, payload(event))));
    });
    const note = shown.length < all.length ? `, of which the first and the last ${LISTED}` : '';
    return [make('h3', {}, `Events (${all.length})${note}`), make('ul', { class: 'tl-events' }, ...rows)];
  }
}

/** All events, a page at a time; made only while it is open. */
export class Table {
  page = 0;

  constructor(model) {
    this.model = model;
    this.summary = make('summary', {}, 'All events');
    this.where = make('span', { role: 'status' });
    this.rows = make('tbody');
    const head = make('tr', {}, ...['Number', 'Time', 'Kind', 'Payload'].map((text) => make('th', { scope: 'col' }, text)));
    const table = make('table', {}, make('caption', {}, 'Events in their order; time is that of the engine'), make('thead', {}, head), this.rows);
    const turn = (by) => () => {
      this.page += by;
      this.draw();
    };
    this.back = button('Earlier', 'Earlier events', turn(-1));
    this.forth = button('Later', 'Later events', turn(1));
    const bar = make('p', { class: 'tl-buttons' }, this.back, this.forth, this.where);
    this.element = make('details', { class: 'tl-table' }, this.summary, bar, make('div', { class: 'tl-scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of events' }, table));
    this.element.addEventListener('toggle', () => this.draw());
  }

  draw() {
    const { events, dropped } = this.model;
    setText(this.summary, `All events (${events.length + dropped})`);
    if (!this.element.open) return;
    const pages = Math.max(Math.ceil(events.length / PAGE), 1);
    this.page = Math.min(Math.max(this.page, 0), pages - 1);
    const shown = events.slice(this.page * PAGE, (this.page + 1) * PAGE);
    const key = `${this.page} ${dropped} ${shown.length}`;
    if (this.drawn !== key) {
      this.rows.replaceChildren(...shown.map((event) => make('tr', {}, ...[String(event.seq), moment(event.raw), event.kind, cut(JSON.stringify(event.payload), 300)].map((text) => make('td', {}, text)))));
    }
    this.drawn = key;
    this.back.disabled = this.page === 0;
    this.forth.disabled = this.page === pages - 1;
    setText(this.where, `Page ${this.page + 1} of ${pages}${dropped > 0 ? `; ${dropped} older events are not kept` : ''}`);
  }
}
