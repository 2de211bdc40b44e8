// Numbers and untrusted values as words. No DOM in here.

/** Most characters of a text that an item keeps. */
export const TEXT_KEPT = 2000;

/** A member of a payload as text; what is no text and no number is empty. */
export function word(value) {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

/** A member of a payload as a number that is not negative, or undefined. */
export function count(value) {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** `text`, cut with a mark after `most` characters. */
export function cut(text, most) {
  return text.length <= most ? text : `${text.slice(0, most)} … (${text.length} characters)`;
}

/** `one thing`, `2 things`. */
export function several(number, thing) {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}

/** A span of microseconds for people: three digits, or whole seconds from a minute on. */
export function span(us) {
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 999_500) return `${digits(us / 1000)} ms`;
  if (us < 59_995_000) return `${digits(us / 1e6)} s`;
  const seconds = Math.round(us / 1e6);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
}

function digits(number) {
  return number >= 99.95 ? number.toFixed(0) : number >= 9.995 ? number.toFixed(1) : number.toFixed(2);
}

/** A point in time: seconds to the millisecond. */
export function moment(us) {
  return `${(us / 1e6).toFixed(3)} s`;
}

/** An identifier of the record, such as `timed_out`, for people. */
export function plain(name) {
  return word(name).replaceAll('_', ' ');
}
