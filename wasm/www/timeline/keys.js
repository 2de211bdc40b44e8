// The way around the drawing by keyboard.

/** What a key does to a chart; true if it did something. `open` shows the details of a cell. */
export function press(chart, event, open) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const cell = event.target.closest('.tl-cell');
  if (event.shiftKey && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
    chart.pan(event.key === 'ArrowLeft' ? -0.25 : 0.25);
    return true;
  }
  const act = ACTS.get(event.key);
  if (act !== undefined) {
    act(chart);
    return true;
  }
  if (cell === null) return false;
  if (event.key === 'Enter' || event.key === ' ') {
    enter(chart, cell, open);
    return true;
  }
  const step = STEPS.get(event.key);
  if (step === undefined) return false;
  step(chart, cell);
  return true;
}

/** One item opens; several are enlarged until they stand apart. */
export function enter(chart, cell, open) {
  if (cell.count === 1) {
    open(cell.item);
    return;
  }
  const [from, to] = [cell.item.from, cell.upTo.to ?? chart.model.to];
  const around = Math.max((to - from) * 0.1, 5);
  chart.current = cell.item;
  chart.show([from - around, to + around]);
  focus(chart, cell.item);
}

/** Puts the focus on an item, and brings it into view before. */
export function focus(chart, item) {
  chart.current = item;
  chart.reveal(item);
  chart.draw();
  chart.cellOf(item)?.focus();
}

const ACTS = new Map([
  ['+', (chart) => chart.zoom(0.5)],
  ['=', (chart) => chart.zoom(0.5)],
  ['-', (chart) => chart.zoom(2)],
  ['0', (chart) => chart.show(null)],
]);

const STEPS = new Map([
  ['ArrowRight', (chart, cell) => along(chart, cell, 1)],
  ['ArrowLeft', (chart, cell) => along(chart, cell, -1)],
  ['ArrowDown', (chart, cell) => across(chart, cell, 1)],
  ['ArrowUp', (chart, cell) => across(chart, cell, -1)],
  ['Home', (chart, cell) => ends(chart, cell, 0)],
  ['End', (chart, cell) => ends(chart, cell, -1)],
]);

const trackOf = (chart, item) => chart.model.lanes.get(item.lane)[item.track];

/** The next item of the track, past what is drawn as one. */
function along(chart, cell, by) {
  const track = trackOf(chart, cell.item);
  const next = track[by > 0 ? track.indexOf(cell.upTo) + 1 : track.indexOf(cell.item) - 1];
  if (next !== undefined) focus(chart, next);
}

function ends(chart, cell, index) {
  const item = trackOf(chart, cell.item).at(index);
  if (item !== undefined) focus(chart, item);
}

/** The item of the next row that is nearest in time. */
function across(chart, cell, by) {
  const tracks = [...chart.model.lanes.values()].flat();
  const { item } = cell;
  const at = tracks.indexOf(trackOf(chart, item)) + by;
  if (at < 0 || at >= tracks.length) return;
  const target = nearest(tracks[at], item.from, item.to ?? chart.model.to);
  if (target !== undefined) focus(chart, target);
}

/** The first item that lies beside a span of time, or the one that is closest to it. */
function nearest(track, from, to) {
  const distance = (item) => Math.max(item.from - to, from - (item.to ?? Infinity), 0);
  return track.reduce((best, item) => (best === undefined || distance(item) < distance(best) ? item : best), undefined);
}
