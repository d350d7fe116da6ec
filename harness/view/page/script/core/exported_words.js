/** Split texts into words by the rule of the server (harness/store/full_text), for searching an exported file. */

const LONGEST_WORD = 64;
const SHORTEST_BEGINNING = 3;
/** Scripts without spaces between words: Thai and Lao, Burmese, Khmer, kana, Chinese characters. */
const UNSPACED = "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3005-\\u3007\\u3041-\\u30ff\\u31f0-\\u31ff\\u3400-\\u4dbf"
  + "\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");
const SCRIPTS = new RegExp(`[${UNSPACED}]+|[^${UNSPACED}]+`, "gu");

/** The distinct words of a text. */
export function splitWords(text) {
  return new Set(findRuns(text).flatMap((run) => (IS_UNSPACED.test(run) ? adjoining(run, run.length) : [run]))
    .map((word) => cutWord(word)));
}

/** The words of a query, and for each whether it matches as a prefix. */
export function readQuery(text) {
  const runs = findRuns(text);
  return runs.flatMap((run, place) => {
    const letters = [...run];
    if (IS_UNSPACED.test(run))
      return adjoining(run, Math.max(letters.length - 1, 1)).map((word) => ({ word, begins: letters.length === 1 }));
    const isLast = place === runs.length - 1 && letters.length >= SHORTEST_BEGINNING;
    return [{ word: cutWord(run), begins: isLast || letters.length >= LONGEST_WORD }];
  });
}

function adjoining(run, most) {
  const letters = [...run];
  return letters.slice(0, most).map((_, place) => letters.slice(place, place + 2).join(""));
}

function cutWord(word) {
  return [...word].slice(0, LONGEST_WORD).join("");
}

function findRuns(text) {
  const plain = foldCase(text.normalize("NFKD")).replace(/[\u0300-\u036f]/g, "").normalize("NFC").replaceAll("_", " ");
  return (plain.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).flatMap((run) => run.match(SCRIPTS));
}

/** Fold letter case through upper case, so that "ß" equals "ss" and both forms of "σ" are equal. */
function foldCase(text) {
  return text.toUpperCase().toLowerCase().replaceAll("ς", "σ");
}
