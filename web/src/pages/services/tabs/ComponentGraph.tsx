import { type CSSProperties, type KeyboardEvent, type ReactNode, useId, useMemo, useState } from 'react'
import styles from './ComponentGraph.module.css'
import { type Group, type Place, graphOf, step } from './graph'
import { type Node, objectHref, syncOf } from './tree'
import type { Component, Service } from '#/api/gen/hub/v1/hub_pb'
import { Go } from '#/ds/Go'
import { Badge, Middle, Muted, count } from '#/ds/Text'
import { rollUp } from '#/status/rollup'
import { Status } from '#/status/Status'
import { labelOf } from '#/status/words'

interface Props {
  service: Service
  nodes: readonly Node[]
  wants: (o: Component) => boolean
  // Shows what a group stands for.
  onGroup: (group: Group) => void
}

// ComponentGraph draws who owns what, from left to right. To a screen reader it is a
// tree; it is one stop of the Tab key, and arrows go from box to box.
export function ComponentGraph({ service, nodes, wants, onGroup }: Props) {
  const places = useMemo(() => graphOf(nodes, wants), [nodes, wants])
  const [chosen, setChosen] = useState('')
  const hint = useId()
  const at = places.some((p) => p.key === chosen) ? chosen : places[0]!.key
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="treeitem"]')]
    const to = step(places, items.indexOf(document.activeElement as HTMLElement), event.key)
    if (to === undefined) return
    event.preventDefault()
    items[to]?.focus({ preventScroll: true })
    // A focus alone is content with a part of the box.
    items[to]?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }
  return (
    <>
      <div className={styles.scroll}>
        <div role="tree" aria-label="Components" aria-describedby={hint} tabIndex={-1} className={styles.graph} onKeyDown={onKeyDown}>
          {places.map((p) => (
            <Box key={p.key} place={p} above={p.row - (places[p.owner]?.row ?? p.row)} service={service} tabIndex={p.key === at ? 0 : -1} onFocus={() => setChosen(p.key)} onGroup={onGroup} />
          ))}
        </div>
      </div>
      <p id={hint} className={styles.hint}>
        Arrow keys: left to the owner, right to what it owns, up and down its column. Enter opens.
      </p>
    </>
  )
}

interface BoxProps {
  place: Place
  // How many rows its owner is above it.
  above: number
  service: Service
  tabIndex: number
  onFocus: () => void
  onGroup: (group: Group) => void
}

function Box({ place: p, above, service, tabIndex, onFocus, onGroup }: BoxProps) {
  const shared = {
    role: 'treeitem',
    'aria-level': p.column + 1,
    'aria-posinset': p.position,
    'aria-setsize': p.siblings,
    'aria-expanded': p.below > 0 ? true : undefined,
    'data-failing': p.failing || undefined,
    className: styles.box,
    style: { gridColumn: p.column + 1, gridRow: p.row + 1, '--above': above } as CSSProperties,
    tabIndex,
    onFocus,
  }
  if (p.group) {
    const { group } = p
    const kind = `+${count(group.count)} ${group.noun}`
    const state = group.inState === group.count ? labelOf(group.state) : `${count(group.inState)} ${labelOf(group.state)}`
    return (
      <button type="button" {...shared} data-group aria-label={`${kind}, ${state}, shows them in the tree`} title="Show them in the tree" onClick={() => onGroup(group)}>
        <Inside name={kind}>
          <Status word={group.state} label={state} />
        </Inside>
      </button>
    )
  }
  if (!p.object) {
    const verdict = rollUp(service)
    return (
      <div {...shared} aria-label={`This service, ${service.name}, ${labelOf(verdict)}`}>
        <Inside kind={<Muted>This service</Muted>} name={service.name}>
          <Status word={verdict} />
        </Inside>
      </div>
    )
  }
  const o = p.object
  const words = [o.health, p.column === 1 && !(o.synced && o.health) ? syncOf(o) : ''].filter(Boolean)
  const name = o.namespace && o.namespace !== service.namespace ? `${o.namespace}/${o.name}` : o.name
  return (
    <Go {...shared} to={objectHref(service.cluster, o)} aria-label={[`${o.kind} ${name}`, ...words.map(labelOf)].join(', ')} title={o.message || undefined}>
      <Inside kind={<Badge>{o.kind}</Badge>} name={name}>
        {words.map((word) => (
          <Status key={word} word={word} />
        ))}
      </Inside>
    </Go>
  )
}

// Inside is what the box's label says, for the eye. Spaces keep its words apart, as in the label.
function Inside({ kind, name, children }: { kind?: ReactNode; name: string; children: ReactNode }) {
  return (
    <>
      {kind && (
        <span className={styles.kind} aria-hidden>
          {kind}
        </span>
      )}{' '}
      <span className={styles.name} aria-hidden>
        <Middle text={name} />
      </span>{' '}
      <span className={styles.state} aria-hidden>
        {children}
      </span>
    </>
  )
}
