import { useMemo } from 'react'
import styles from './Diff.module.css'
import { type DiffLine, countChanges, diffLines, hunksOf } from './lines'
import { many } from './Text'

interface Props {
  before: string
  after: string
  label: string
  split?: boolean
}

const signs = { same: ' ', out: '−', in: '+' }

// Diff shows what changes from one text to another: below each other, or side by
// side where there is room.
export function Diff({ before, after, label, split }: Props) {
  const lines = useMemo(() => diffLines(before, after), [before, after])
  const hunks = useMemo(() => hunksOf(lines), [lines])
  const { added, removed } = countChanges(lines)
  if (added + removed === 0) return <p className={styles.none}>No difference.</p>
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, also by keyboard
    <div className={styles.diff} role="region" aria-label={`${label}: ${many(added, 'line')} added, ${removed} removed`} tabIndex={0}>
      <div className={styles.inner}>
        {hunks.map((hunk, h) => (
          // oxlint-disable-next-line react/no-array-index-key -- hunks have no other name
          <div key={h}>
            {hunk.skipped > 0 && <div className={styles.skip}>{many(hunk.skipped, 'unchanged line')}</div>}
            {split ? <Split lines={hunk.lines} /> : <Unified lines={hunk.lines} />}
          </div>
        ))}
      </div>
    </div>
  )
}

function Unified({ lines }: { lines: DiffLine[] }) {
  return lines.map((l) => (
    <div key={`${l.left}:${l.right}`} className={styles.line} data-kind={l.kind}>
      <span className={styles.number}>{l.left ?? ''}</span>
      <span className={styles.number}>{l.right ?? ''}</span>
      <span className={styles.sign}>{signs[l.kind]}</span>
      <span className={styles.text}>{l.text}</span>
    </div>
  ))
}

function Split({ lines }: { lines: DiffLine[] }) {
  const rows: [DiffLine | undefined, DiffLine | undefined][] = []
  let out: DiffLine[] = []
  let ins: DiffLine[] = []
  const flush = () => {
    for (let i = 0; i < Math.max(out.length, ins.length); i++) rows.push([out[i], ins[i]])
    out = []
    ins = []
  }
  for (const l of lines) {
    if (l.kind === 'out') out.push(l)
    else if (l.kind === 'in') ins.push(l)
    else {
      flush()
      rows.push([l, l])
    }
  }
  flush()
  return rows.map(([left, right]) => (
    <div key={`${left?.left}:${right?.right}`} className={styles.pair}>
      <Half line={left} side="left" />
      <Half line={right} side="right" />
    </div>
  ))
}

function Half({ line, side }: { line: DiffLine | undefined; side: 'left' | 'right' }) {
  return (
    <div className={styles.half} data-kind={line?.kind ?? 'gap'}>
      <span className={styles.number}>{line?.[side] ?? ''}</span>
      <span className={styles.sign}>{line ? signs[line.kind] : ''}</span>
      <span className={styles.text}>{line?.text ?? ''}</span>
    </div>
  )
}
