import styles from './tabs.module.css'
import type { ServiceDiff, ServiceDifference } from '#/api/gen/hub/v1/hub_pb'
import { Diff } from '#/ds/Diff'
import { Badge, Muted, many } from '#/ds/Text'

const tones = { create: 'good', update: 'warn', recreate: 'bad', delete: 'bad', run: 'busy', refuse: 'bad' } as const

// Differences lists the objects that would change, each with its diff.
export function Differences({ diff, split }: { diff: ServiceDiff; split: boolean }) {
  const counts = new Map<string, number>()
  for (const d of diff.differences) counts.set(d.action, (counts.get(d.action) ?? 0) + 1)
  return (
    <>
      <p>
        {[...counts].map(([action, n]) => (
          <span key={action}>
            <Badge tone={toneOf(action)}>{action}</Badge> {n}{' '}
          </span>
        ))}
        {diff.leftOut > 0 && <Muted>{many(diff.leftOut, 'more difference')} left out: the agent sends the first ones</Muted>}
      </p>
      <ul className={styles.list}>
        {diff.differences.map((d) => (
          <li key={`${d.group} ${d.kind} ${d.namespace}/${d.name}`}>
            <details open={diff.differences.length <= 5}>
              <summary className={styles.summary}>
                <Badge tone={toneOf(d.action)}>{d.action}</Badge>
                <strong>
                  {d.kind} {d.namespace && `${d.namespace}/`}
                  {d.name}
                </strong>
                {d.message && <Muted>{d.message}</Muted>}
              </summary>
              <Body difference={d} split={split} />
            </details>
          </li>
        ))}
      </ul>
    </>
  )
}

function Body({ difference: d, split }: { difference: ServiceDifference; split: boolean }) {
  if (d.kind === 'Secret' && d.group === '') return <p className={styles.summary}>Its data changes. Values of Secrets are not shown.</p>
  if (!d.live && !d.desired) return null
  return <Diff before={d.live} after={d.desired} split={split} label={`${d.kind} ${d.name}`} />
}

function toneOf(action: string) {
  return tones[action as keyof typeof tones] ?? 'idle'
}
