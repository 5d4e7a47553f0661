import { Check, ChevronDown, ListFilter, Search as SearchIcon, X } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import styles from './FilterBar.module.css'
import { type Field, type Filter, has, isFiltered, noFilter, sentenceOf, without, withValue } from './filter'
import type { Facet } from '#/api/gen/hub/v1/fleet_pb'
import { useKeys } from '#/app/useKeys'
import { Drop } from '#/ds/Drop'
import { useNarrow } from '#/ds/useNarrow'
import { count, many } from '#/ds/Text'
import { StatusIcon } from '#/status/Status'
import { labelOf } from '#/status/words'

interface Props {
  // What is listed: "cluster".
  noun: string
  filter: Filter
  fields: readonly Field[]
  facets: readonly Facet[]
  total: number
  unfiltered: number
  onFilter: (filter: Filter) => void
  // Filters that people use most, with one click.
  presets?: readonly Preset[]
  // At the end of the row: views, columns.
  children?: ReactNode
}

const typing = 250

// FilterBar shows a filter as chips with counts, and says it as a sentence.
export function FilterBar({ noun, filter, fields, facets, total, unfiltered, presets, onFilter, children }: Props) {
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(filter.text)
  const latest = useRef({ filter, onFilter })
  useEffect(() => {
    latest.current = { filter, onFilter }
  })
  // Texts that were asked for and that the address does not have yet. Once it has one, more may be typed already, and that stays.
  const inFlight = useRef<string[]>([])
  useEffect(() => {
    const at = inFlight.current.indexOf(filter.text)
    inFlight.current = at < 0 ? [] : inFlight.current.slice(at + 1)
    if (at < 0) setText(filter.text)
  }, [filter.text])
  useEffect(() => {
    const wanted = text.trim()
    if (wanted === filter.text) return undefined
    const timer = setTimeout(() => {
      if (inFlight.current.at(-1) === wanted) return
      inFlight.current.push(wanted)
      latest.current.onFilter({ ...latest.current.filter, text: wanted })
    }, typing)
    return () => clearTimeout(timer)
  }, [text, filter.text])
  // A chip asks for the text in the field as well: it may overtake the one that the address is about to have. If the text is
  // that of the address, none arrives after all.
  const current = { ...filter, text: text.trim() }
  const choose = (next: Filter) => {
    inFlight.current = next.text === filter.text ? [] : [...inFlight.current, next.text]
    if (next.text !== current.text) setText(next.text)
    onFilter(next)
  }
  useKeys('Filter', [{ keys: '/', does: 'filter by name', run: () => input.current?.focus() }])
  const chips = choices(fields, facets)
  const narrow = useNarrow()
  const shown = chips.filter((c) => (c.main && !narrow) || isOn(filter, c))
  const rest = chips.filter((c) => !shown.includes(c))
  const clauses = sentenceOf(filter, fields)
  return (
    <div className={styles.bar} role="search" aria-label={`Filter ${noun}s`}>
      <div className={styles.row}>
        <div className={styles.search}>
          <SearchIcon size={14} aria-hidden />
          <input
            ref={input}
            type="search"
            value={text}
            placeholder={`Filter ${noun}s`}
            aria-label={`Filter ${noun}s by name; * and ? are wildcards, ! excludes`}
            title="Words that the name has. * and ? are wildcards, a word that begins with ! must not match."
            onChange={(e) => setText(e.target.value)}
            onKeyDown={(e) => {
              if (e.key === 'Escape') {
                setText('')
                e.currentTarget.blur()
              }
            }}
          />
          <kbd aria-hidden>/</kbd>
        </div>
        {shown.map((c) => (
          <FacetChip key={c.key} choice={c} filter={current} onFilter={choose} />
        ))}
        {rest.length > 0 && (
          <Drop
            inside="More filters"
            className={styles.chip ?? ''}
            width={220}
            button={
              <>
                <ListFilter size={14} aria-hidden />
                Filter
              </>
            }
          >
            {rest.map((c) => (
              <details key={c.key} className={styles.more}>
                <summary>{c.label}</summary>
                <Values choice={c} filter={current} onFilter={choose} />
              </details>
            ))}
          </Drop>
        )}
        {children && <div className={styles.end}>{children}</div>}
      </div>
      <div className={styles.second}>
        {presets && <Presets presets={presets} current={filter} onFilter={choose} />}
      <p className={styles.sentence} aria-live="polite">
        <span>{isFiltered(filter) ? `${count(total)} of ${many(unfiltered, noun)} where` : many(total, noun)}</span>
        {clauses.map((c, i) => (
          <span key={c.field} className={styles.clause}>
            {i > 0 && <span>and</span>}
            <button type="button" title="Remove" onClick={() => choose(without(current, c.field))}>
              {c.words}
              <X size={12} aria-label="Remove" />
            </button>
          </span>
        ))}
        {clauses.length > 0 && (
          <button type="button" className={styles.clear} onClick={() => choose(noFilter)}>
            Clear
          </button>
        )}
      </p>
      </div>
    </div>
  )
}

interface Choice {
  key: string
  label: string
  field: Field
  main: boolean
  // Put before a value in the filter: "tier=" for the tag tier.
  before: string
  facet: Facet
}

function choices(fields: readonly Field[], facets: readonly Facet[]): Choice[] {
  const out: Choice[] = []
  for (const field of fields) {
    for (const facet of facets) {
      if (facet.field === field.id) out.push({ key: field.id, label: field.label, field, main: field.main ?? false, before: '', facet })
      else if (field.id === 'tag' && facet.field.startsWith('tag:')) out.push({ key: facet.field, label: facet.field.slice(4), field, main: false, before: `${facet.field.slice(4)}=`, facet })
    }
  }
  return out
}

function isOn(filter: Filter, c: Choice): boolean {
  return (filter.values[c.field.id] ?? []).some((v) => (v.startsWith('!') ? v.slice(1) : v).startsWith(c.before))
}

interface ChoiceProps {
  choice: Choice
  filter: Filter
  onFilter: (filter: Filter) => void
}

function FacetChip({ choice, filter, onFilter }: ChoiceProps) {
  const on = isOn(filter, choice)
  return (
    <Drop
      inside={choice.label}
      className={`${styles.chip} ${on ? styles.on : ''}`}
      button={
        <>
          {choice.label}
          <ChevronDown size={14} aria-hidden />
        </>
      }
    >
      <Values choice={choice} filter={filter} onFilter={onFilter} />
    </Drop>
  )
}

function Values({ choice, filter, onFilter }: ChoiceProps) {
  const { field, before, facet } = choice
  // What is chosen stays in the list even when nothing has it now.
  const missing = (filter.values[field.id] ?? []).map((v) => (v.startsWith('!') ? v.slice(1) : v)).filter((v) => v.startsWith(before) && !facet.values.some((c) => before + c.value === v))
  const values = [...facet.values.map((c) => ({ value: before + c.value, label: c.value, n: Number(c.count) })), ...missing.map((value) => ({ value, label: value.slice(before.length), n: 0 }))]
  return (
    <ul className={styles.values}>
      {values.map(({ value, label, n }) => (
        <li key={value}>
          <label>
            <input type="checkbox" checked={has(filter, field.id, value)} onChange={(e) => onFilter(withValue(filter, field.id, value, e.target.checked))} />
            {field.status && <StatusIcon word={label} />}
            <span className={styles.value}>{field.status ? labelOf(label) : label || 'none'}</span>
            <span className={styles.count}>{count(n)}</span>
          </label>
          <button type="button" className={styles.not} aria-pressed={has(filter, field.id, `!${value}`)} title={`Exclude ${label}`} aria-label={`not ${label}`} onClick={() => onFilter(withValue(filter, field.id, `!${value}`, !has(filter, field.id, `!${value}`)))}>
            not
          </button>
        </li>
      ))}
      {facet.leftOut > 0 && <li className={styles.left}>{many(facet.leftOut, 'more value')}; filter by name to narrow</li>}
    </ul>
  )
}

export interface Preset {
  label: string
  filter: Filter
}

interface PresetProps {
  presets: readonly Preset[]
  current: Filter
  onFilter: (filter: Filter) => void
}

function Presets({ presets, current, onFilter }: PresetProps) {
  const same = (a: Filter) => JSON.stringify([a.text, Object.entries(a.values).filter(([, v]) => v.length)]) === JSON.stringify([current.text, Object.entries(current.values).filter(([, v]) => v.length)])
  return (
    <div className={styles.presets} role="group" aria-label="Presets">
      {presets.map((p) => (
        <button key={p.label} type="button" className={styles.preset} aria-pressed={same(p.filter)} onClick={() => onFilter(same(p.filter) ? noFilter : p.filter)}>
          {same(p.filter) && <Check size={12} aria-hidden />}
          {p.label}
        </button>
      ))}
    </div>
  )
}
