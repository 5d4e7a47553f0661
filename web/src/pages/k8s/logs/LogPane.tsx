import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { useParameter } from '../list/scope'
import { LogView } from './LogView'
import styles from './Logs.module.css'
import { capacity } from './buffer'
import { type Level, type Line, levels } from './line'
import type { Log, Source } from './useLog'
import { Download } from 'lucide-react'
import { save } from '../object/save'
import { Button } from '#/ds/Button'
import { count, many } from '#/ds/Text'
import { useNarrow } from '#/ds/useNarrow'
import { useTicking } from '#/status/Age'
import { ageOf } from '#/status/age'

interface Props {
  log: Log
  name: string
  labelOf: (source: Source) => string
  // What is shown of the lines that came.
  match?: RegExp | undefined
  not?: RegExp | undefined
  onContext?: ((line: Line) => void) | undefined
  // In place of lines, when there are none.
  empty: ReactNode
  // What is known beside the lines, and what it means that the log ended.
  foot: (string | false | undefined)[]
  ended: string
  // It goes on, and can be paused.
  grows: boolean
  named?: boolean
}

// toggled is a choice among some, with one of them the other way; all and none are no choice.
export function toggled(list: readonly string[], item: string, whole: readonly string[]): string {
  const next = list.includes(item) ? list.filter((x) => x !== item) : whole.filter((x) => x === item || list.includes(x))
  return next.length === whole.length || next.length === 0 ? '' : next.join(',')
}

// useLook is how lines are shown; it stands in the address. On a phone lines wrap unless somebody wants otherwise.
export function useLook() {
  const narrow = useNarrow()
  const [wrap, setWrap] = useParameter('wrap')
  const [times, setTimes] = useParameter('times')
  return { wrap: wrap ? wrap === '1' : narrow, times: times !== '0', setWrap: (on: boolean) => setWrap(on === narrow ? '' : on ? '1' : '0'), setTimes: (on: boolean) => setTimes(on ? '' : '0') }
}

// LogPane shows the lines of a log, by level, with what is to be known of them.
export function LogPane({ log, name, labelOf, match, not, onContext, empty, foot, ended, grows, named }: Props) {
  const { buffer, version, sources, state } = log
  const { wrap, times } = useLook()
  const [levelText, setLevels] = useParameter('level')
  const chosen = useMemo(() => new Set<Level>(levelText ? (levelText.split(',') as Level[]) : levels), [levelText])
  const [, bump] = useState(0)
  useEffect(() => {
    buffer.setFilter({ match, not, levels: chosen })
    bump((n) => n + 1)
  }, [buffer, match, not, chosen])
  const visible = buffer.visible()
  const labels = sources.map(labelOf)
  // Nothing is said about lines before some could have come.
  const none = buffer.size === 0 && state.word !== 'reading'
  const filename = `${name.replaceAll(/[^\w.-]+/g, '-')}.log`
  return (
    <>
      <div className={styles.bar}>
        <fieldset className={styles.chips} aria-label="Levels">
          {levels.map((level) => (
            <button key={level} type="button" className={styles.chip} aria-pressed={chosen.has(level)} onClick={() => setLevels(toggled([...chosen], level, levels))}>
              {level} {count(buffer.countOf(level))}
            </button>
          ))}
        </fieldset>
        <Button icon={Download} disabled={visible.length === 0} onClick={() => save(`${visible.map((l) => `${l.time} ${labels[l.source]} ${l.text}`).join('\n')}\n`, filename, 'text/plain')}>
          Download
        </Button>
      </div>
      {none ? empty : <LogView label={`Log of ${name}`} lines={visible} version={version} names={labels} wrap={wrap} times={times} onContext={onContext} grows={grows && state.word !== 'ended'} named={named} />}
      <Foot
        log={log}
        ended={ended}
        text={[
          ...foot,
          ...log.notices,
          `${many(visible.length, 'line')}${visible.length === buffer.size ? '' : ` of ${count(buffer.size)}`}`,
          buffer.dropped > 0 && `${count(buffer.dropped)} older ones fell out: at most ${count(capacity)} are kept`,
          log.lost > 0 && `${many(log.lost, 'line')} came too fast and ${log.lost === 1 ? 'is' : 'are'} lost`,
        ]}
      />
    </>
  )
}

function Foot({ log, ended, text }: { log: Log; ended: string; text: Props['foot'] }) {
  const { word, heard } = log.state
  const age = useTicking(() => (heard ? ageOf(heard, Date.now()) : ''))
  const state = { reading: 'reading', following: 'following', polling: 'read every 3 s: the browser’s connections are used', ended, failed: 'not read to its end' }[word]
  const heardText = age && (word === 'following' || word === 'polling') ? `last heard ${age === 'now' ? 'now' : `${age} ago`}` : ''
  return (
    <p className={styles.foot}>
      {[...text, state, heardText].filter(Boolean).map((t) => (
        <span key={t as string}>{t}</span>
      ))}
    </p>
  )
}
