/** Format numbers. The texts of estimates come from the server, so that page and terminal show the same text. */

export const NOTHING = "–";
const GROUPED = new Intl.NumberFormat("en-US"); // created once, because creating a formatter is slow

/** 0.712 → "71.2 %" */
export function percent(share, digits = 1) {
  return isNumber(share) ? `${(100 * share).toFixed(digits)} %` : NOTHING;
}

/** A confidence level: 0.95 → "95 %", 0.975 → "97.5 %" */
export function levelText(level) {
  return isNumber(level) ? `${Number((100 * level).toFixed(2))} %` : NOTHING;
}

/** 0.712 → "71.2 %"; on the scale "q" (share of refused options avoided, not an accuracy), "q 0.712" */
export function scored(score, scale, digits = 1) {
  return scale === "q" && isNumber(score) ? `q ${score.toFixed(3)}` : percent(score, digits);
}

/** 0.031 → "+3.1" percentage points */
export function points(difference) {
  if (!isNumber(difference)) return NOTHING;
  const shown = (100 * difference).toFixed(1);
  return Number(shown) > 0 ? `+${shown}` : shown.replace("-", "−");
}

/** 1234567 → "1,234,567" */
export function count(number) {
  return isNumber(number) ? GROUPED.format(number) : NOTHING;
}

/** A number with this many decimal places. */
export function decimal(number, digits = 3) {
  return isNumber(number) ? number.toFixed(digits) : NOTHING;
}

/** 0.0042 → "$0.0042" */
export function dollars(amount) {
  if (!isNumber(amount)) return NOTHING;
  return `$${amount >= 100 ? amount.toFixed(0) : amount >= 1 ? amount.toFixed(2) : Number(amount.toPrecision(3))}`;
}

/** 5400 → "90 min" */
export function timeSpan(seconds) {
  if (!isNumber(seconds)) return NOTHING;
  if (seconds < 120) return `${seconds.toFixed(0)} s`;
  return seconds < 7200 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** "3 items", "1 item" */
export function plural(number, one, several = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : several}`;
}

export function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}
