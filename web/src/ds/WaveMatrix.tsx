import { Link } from '@tanstack/react-router'
import { Button } from './Button'
import { type Col, Listing } from './Listing'
import { count, many } from './Text'
import styles from './WaveMatrix.module.css'
import { type WaveFilter, type WaveTarget, matrixOf, shownTargets, statesOf } from './waves'
import { Status } from '#/status/Status'

interface Props {
  targets: WaveTarget[]
  // How many waves there are, how each is called, and which one is under way.
  waves: number
  names: string[]
  current: number
  filter: WaveFilter
  onFilter: (filter: WaveFilter) => void
}

const cols: Col<WaveTarget>[] = [
  { id: 'state', header: 'State', cell: (t) => <Status word={t.state} /> },
  { id: 'cluster', header: 'Cluster', cell: (t) => <Link to="/clusters/$cluster" params={{ cluster: t.cluster } as never}>{t.cluster}</Link> },
  { id: 'wave', header: 'Wave', align: 'end', cell: (t) => t.wave },
  { id: 'message', header: 'Message', grow: true, cell: (t) => t.message },
]

// WaveMatrix is the clusters of a rollout: waves as rows, states as columns.
// A number shows only those clusters below.
export function WaveMatrix({ targets, waves, names, current, filter, onFilter }: Props) {
  const rows = matrixOf(targets, waves)
  const states = statesOf(targets)
  const shown = shownTargets(targets, filter)
  const cell = (n: number, wave: string, state: string, what: string) => {
    const on = filter.wave === wave && filter.state === state
    return n === 0 ? (
      <span className={styles.none}>0</span>
    ) : (
      <button type="button" className={styles.number} aria-pressed={on} aria-label={`${count(n)} ${what}`} onClick={() => onFilter(on ? { wave: '', state: '' } : { wave, state })}>
        {count(n)}
      </button>
    )
  }
  return (
    <>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- wide tables scroll, also by keyboard */}
      <div className={styles.scroll} role="region" aria-label="Clusters by wave and state" tabIndex={0}>
        <table className={styles.matrix}>
          <thead>
            <tr>
              <th scope="col">Wave</th>
              {states.map((s) => (
                <th key={s} scope="col">
                  <Status word={s} />
                </th>
              ))}
              <th scope="col">All</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr key={r.wave} data-current={r.wave === current || undefined}>
                <th scope="row">
                  {r.wave}
                  {names[r.wave - 1] && <span className={styles.name}> up to {names[r.wave - 1]}</span>}
                  {r.wave === current && <span className={styles.name}> · now</span>}
                </th>
                {states.map((s) => (
                  <td key={s}>{cell(r.counts.get(s) ?? 0, String(r.wave), s, `clusters of wave ${r.wave} in state ${s}`)}</td>
                ))}
                <td>{cell(r.total, String(r.wave), '', `clusters of wave ${r.wave}`)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className={styles.line}>
        <span>
          {many(shown.length, 'cluster')}
          {filter.wave && ` of wave ${filter.wave}`}
          {filter.state && ` in state ${filter.state}`}
        </span>
        {(filter.wave || filter.state) && (
          <Button variant="quiet" onClick={() => onFilter({ wave: '', state: '' })}>
            Show all
          </Button>
        )}
      </div>
      <Listing label="Clusters of the rollout" cols={cols} rows={shown} idOf={(t) => t.cluster} empty={<p className={styles.line}>No cluster is in this wave and state.</p>} />
    </>
  )
}
