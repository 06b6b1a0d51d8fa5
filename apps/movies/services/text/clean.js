/** Control characters except white space, and characters that change the writing direction: a text must not change the page around it. */
const CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|(?!\s)\p{Cc}/gu;

/** A text as it is kept: without control characters, white space as single spaces and not at the ends, composed (NFC). */
export function clean(text) {
  return text.replace(CONTROLS, '').replace(/\s+/gu, ' ').trim().normalize('NFC');
}
