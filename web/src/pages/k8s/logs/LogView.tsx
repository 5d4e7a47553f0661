import { ArrowDown, Pause } from 'lucide-react'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import styles from './Logs.module.css'
import type { Line } from './line'
import { Button } from '#/ds/Button'
import { many } from '#/ds/Text'
import { useSize } from '#/grid/useSize'

// A row; with a button in it, it is as high as a finger or a shaking hand needs at least.
const plainRow = 18
const buttonRow = 24
const overscan = 20
// Wrapped lines have different heights, so all that are shown are in the page.
const wrappedMax = 2_000

interface Props {
  label: string
  lines: readonly Line[]
  // Rises with every change of lines, which is the same array.
  version: number
  names: string[]
  wrap: boolean
  times: boolean
  // Shows what stands around a line.
  onContext?: ((line: Line) => void) | undefined
  // The line in the middle of a view that does not grow.
  still?: number
  // More lines come, and the view follows them.
  grows?: boolean
  // Each line has the name of its source, also when there is one.
  named?: boolean | undefined
}

// LogView shows lines as they are: text nodes, never markup. It follows the end
// until the person scrolls away from it.
export function LogView({ label, lines, version, names, wrap, times, onContext, still, grows, named }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const size = useSize(box)
  const [top, setTop] = useState(0)
  const [pausedAt, setPausedAt] = useState<number | undefined>()
  const moving = useRef(false)
  const height = onContext ? buttonRow : plainRow
  const lastId = lines.at(-1)?.id ?? -1

  const toEnd = useCallback(() => {
    const element = box.current
    if (!element) return
    moving.current = true
    const at = still === undefined ? -1 : lines.findIndex((l) => l.id === still)
    element.scrollTop = at < 0 ? element.scrollHeight : Math.max(0, at * height - element.clientHeight / 2)
    setTop(element.scrollTop)
  }, [lines, still, height])
  useLayoutEffect(() => {
    if (pausedAt === undefined) toEnd()
  }, [toEnd, version, pausedAt, wrap, size.height, lines.length])
  useEffect(() => setPausedAt(undefined), [label])

  const onScroll = () => {
    const element = box.current
    if (!element) return
    setTop(element.scrollTop)
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < height * 2
    if (moving.current) {
      moving.current = false
      return
    }
    if (atEnd) setPausedAt(undefined)
    else setPausedAt((p) => p ?? lastId)
  }

  const first = wrap ? Math.max(0, lines.length - wrappedMax) : Math.max(0, Math.floor(top / height) - overscan)
  const last = wrap ? lines.length : Math.min(lines.length, Math.ceil((top + (size.height || 600)) / height) + overscan)
  const shown = lines.slice(first, last)
  // Sources count ids together, so this is how many came since, before filters.
  let fresh = 0
  if (pausedAt !== undefined) for (let i = lines.length - 1; i >= 0 && lines[i]!.id > pausedAt; i--) fresh++
  const many1 = named || names.length > 1
  const gutter = `${Math.min(44, Math.max(0, ...names.map((n) => n.length)))}ch`
  return (
    <div className={styles.view}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, also by keyboard */}
      <div ref={box} className={styles.lines} role="log" aria-live="off" aria-label={label} tabIndex={0} onScroll={onScroll} data-wrap={wrap || undefined} data-buttons={onContext ? true : undefined}>
        {wrap && first > 0 && <p className={styles.note}>Wrapped, the last {wrappedMax} of {lines.length} lines are shown. Turn wrapping off for all of them.</p>}
        <div className={styles.rows} style={{ '--gutter': gutter, ...(!wrap && { height: lines.length * height }) } as React.CSSProperties}>
          <div style={wrap ? undefined : { transform: `translateY(${first * height}px)` }}>
            {shown.map((line) => (
              <div key={line.id} className={styles.line} data-level={line.level} data-here={line.id === still || undefined} data-around={line.around || undefined}>
                {onContext && (
                  <button type="button" className={styles.context} aria-label={`Lines around ${line.time.slice(11, 23)}`} title="Lines around this one" onClick={() => onContext(line)}>
                    ±
                  </button>
                )}
                {many1 && (
                  <span className={styles.gutter} style={{ '--hue': String((line.source * 137) % 360) } as React.CSSProperties} title={names[line.source]}>
                    {names[line.source]}
                  </span>
                )}
                {times && <span className={styles.time}>{line.time.slice(11, 23).replace('Z', '')}</span>}
                <span className={styles.text}>{line.text}</span>
              </div>
            ))}
          </div>
        </div>
      </div>
      {pausedAt === undefined && grows && (
        <div className={styles.pause}>
          <Button icon={Pause} onClick={() => setPausedAt(lastId)}>
            Pause
          </Button>
        </div>
      )}
      {pausedAt !== undefined && (
        <div className={styles.resume}>
          <Button
            icon={ArrowDown}
            variant="primary"
            onClick={() => {
              setPausedAt(undefined)
              toEnd()
            }}
          >
            {fresh > 0 ? many(fresh, 'new line') : 'Paused'} · Follow
          </Button>
        </div>
      )}
    </div>
  )
}
