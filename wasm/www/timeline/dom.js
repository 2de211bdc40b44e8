// Elements with text. Nothing here takes markup: what models and tools wrote is only ever text.

/** An element with attributes and children: elements or texts. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** A button that does something. */
export function button(text, title, act) {
  const element = make('button', { type: 'button', 'aria-label': title, title }, text);
  element.addEventListener('click', act);
  return element;
}

/** Sets a text only where it is another one, so that nothing is announced or laid out twice. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
