// docs/ui-review.md beside the pictures that it is about.
import { readFileSync } from 'node:fs';

const page = new URL('../../../docs/ui-review.md', import.meta.url);

/** What its lines say: the hash of each picture. */
function lines() {
  const found = readFileSync(page, 'utf8').matchAll(/^\| (\S+\.png) \| `([0-9a-f]+)` \|/gm);
  return [...found].map(([, file, hash]) => ({ file, hash }));
}

/** Pictures without a line, or whose line is of other words, and lines without a picture: a text for each. */
export function unreviewed(pictures, { profile, whole }) {
  const said = lines();
  const of = new Map(said.map((l) => [l.file, l.hash]));
  const taken = new Set(pictures.map((p) => p.file));
  return [
    ...pictures.filter((p) => !of.has(p.file)).map((p) => `${p.file} ${p.hash}: no line in docs/ui-review.md`),
    ...pictures.filter((p) => of.has(p.file) && of.get(p.file) !== p.hash).map((p) => `${p.file} ${p.hash}: its line is of ${of.get(p.file)}`),
    ...said.filter((l, i) => said.findIndex((other) => other.file === l.file) !== i).map((l) => `${l.file}: two lines`),
    ...(whole ? said.filter((l) => l.file.startsWith(`${profile}-`) && !taken.has(l.file)).map((l) => `${l.file}: a line, but no picture`) : []),
  ];
}
