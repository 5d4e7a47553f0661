import { plain } from './ansi'

export type Level = 'error' | 'warn' | 'info' | 'debug' | 'other'
export const levels: Level[] = ['error', 'warn', 'info', 'debug', 'other']

export interface Line {
  // Counts up over all lines of a view: the identity of a row.
  id: number
  // RFC 3339 with nanoseconds, as the kubelet writes it; empty for a line of ours.
  time: string
  text: string
  level: Level
  // Which source it came from, by index.
  source: number
  // It does not match what was searched for, and stands around a line that does.
  around?: boolean
}

const stamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ?/
const klog = /^([IWEF])\d{4} \d\d:\d\d:\d\d/
const named = /(?:^|[\s[{(|<"'=:])(trace|debug|dbg|info|notice|warn|warning|wrn|error|err|fatal|panic|crit|critical|emerg|severe)(?:[\s\]})|>"',:=]|$)/i

export function levelOf(text: string): Level {
  const head = text.slice(0, 300)
  const letter = klog.exec(head)?.[1]
  const word = letter ? { I: 'info', W: 'warn', E: 'error', F: 'error' }[letter]! : (named.exec(head)?.[1]?.toLowerCase() ?? '')
  if (/^(err|fatal|panic|crit|emerg|severe)/.test(word)) return 'error'
  if (/^(warn|wrn)/.test(word)) return 'warn'
  if (/^(info|notice)/.test(word)) return 'info'
  if (/^(debug|dbg|trace)/.test(word)) return 'debug'
  return 'other'
}

// Lines longer than this are cut: a view of text is no place for megabytes.
export const maxLine = 16_384

export function parseLine(raw: string, source: number, id: number): Line {
  const time = stamp.exec(raw)?.[0] ?? ''
  const rest = raw.slice(time.length)
  const text = plain(rest.length > maxLine ? `${rest.slice(0, maxLine)} … ${rest.length - maxLine} more characters` : rest)
  return { id, time: time.trimEnd(), text, level: levelOf(text), source }
}
