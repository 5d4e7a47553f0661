import { Link } from '@tanstack/react-router'
import { type KeyboardEvent, useMemo, useState } from 'react'
import styles from './HeatMap.module.css'
import { draw, say } from './heat'
import type { HeatMapCell, HeatMapGroup } from '#/api/gen/hub/v1/fleet_pb'
import { count } from '#/ds/Text'
import { Age } from '#/status/Age'
import { Status, StatusIcon } from '#/status/Status'
import { clusterVerdicts } from '#/status/rollup'
import { labelOf, toneOf } from '#/status/words'

interface Props {
  groups: readonly HeatMapGroup[]
  groupBy: string
  // How many cells to draw at most.
  most: number
  onPeek: (name: string) => void
}

// HeatMap has one cell per cluster, the worst first. It is one stop of the Tab
// key; arrows go from cell to cell. A cell's shape says its state too.
export function HeatMap({ groups, groupBy, most, onPeek }: Props) {
  const drawn = useMemo(() => draw(groups, most), [groups, most])
  const cells = useMemo(() => drawn.flatMap((g) => g.cells), [drawn])
  const starts = useMemo(() => drawn.map((_, g) => drawn.slice(0, g).reduce((n, d) => n + d.cells.length, 0)), [drawn])
  const [at, setAt] = useState(0)
  const [shown, setShown] = useState<HeatMapCell>()
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const links = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-cell]')]
    const from = links.indexOf(document.activeElement as HTMLElement)
    if (from < 0) return
    const to = next(event.key, from, links)
    if (to === undefined) return
    event.preventDefault()
    links[to]?.focus()
  }
  return (
    <div className={styles.map}>
      {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- moves the focus among the links inside */}
      <div onKeyDown={onKeyDown} className={styles.groups}>
        {drawn.map((group, g) => (
          <div key={group.value} className={styles.group}>
            {groupBy && (
              <p className={styles.title}>
                {group.value || 'no value'} <span>{count(group.total)}</span>
              </p>
            )}
            <div className={styles.cells}>
              {group.cells.map((cell, i) => {
                const mine = starts[g]! + i
                return (
                  <Link
                    key={cell.name}
                    to={`/clusters/${encodeURIComponent(cell.name)}`}
                    preload={false}
                    data-cell
                    data-tone={toneOf(cell.verdict)}
                    className={styles.cell}
                    aria-label={`${cell.name}: ${labelOf(cell.verdict)}, ${say(cell)}`}
                    tabIndex={mine === at ? 0 : -1}
                    onFocus={() => {
                      setAt(mine)
                      setShown(cell)
                    }}
                    onMouseEnter={() => setShown(cell)}
                    onClick={(event) => {
                      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
                      event.preventDefault()
                      onPeek(cell.name)
                    }}
                  />
                )
              })}
              {group.rest > 0 && <Link to="/clusters" className={styles.rest}>and {count(group.rest)} more, none worse</Link>}
            </div>
          </div>
        ))}
      </div>
      <p className={styles.line}>
        {shown ? (
          <>
            <strong>{shown.name}</strong>
            <Status word={shown.verdict} />
            <span>{say(shown)}</span>
            <span>
              polled <Age at={shown.polledAt} after="ago" />
            </span>
          </>
        ) : (
          <span>Choose a cluster, or go to it by Tab and the arrow keys.</span>
        )}
      </p>
      <ul className={styles.legend} aria-label="Legend">
        {clusterVerdicts.map((word) => {
          const n = cells.filter((c) => c.verdict === word).length
          return n === 0 ? null : (
            <li key={word}>
              <span className={styles.cell} data-tone={toneOf(word)} aria-hidden />
              <StatusIcon word={word} size={12} />
              <Link to="/clusters" search={{ verdict: word } as never}>
                {labelOf(word)}
              </Link>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

// next is the cell that an arrow key goes to; up and down by their places.
function next(key: string, from: number, links: HTMLElement[]): number | undefined {
  if (key === 'ArrowRight') return Math.min(links.length - 1, from + 1)
  if (key === 'ArrowLeft') return Math.max(0, from - 1)
  if (key === 'Home') return 0
  if (key === 'End') return links.length - 1
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return undefined
  const here = links[from]!.getBoundingClientRect()
  const by = key === 'ArrowDown' ? 1 : -1
  for (let i = from + by; i >= 0 && i < links.length; i += by) {
    const box = links[i]!.getBoundingClientRect()
    if (by > 0 ? box.top > here.top && box.left >= here.left : box.top < here.top && box.left <= here.left) return i
  }
  return by > 0 ? links.length - 1 : 0
}
