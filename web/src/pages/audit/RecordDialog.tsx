import { Link } from '@tanstack/react-router'
import styles from './Audit.module.css'
import { Result } from './Result'
import { type Line, changesOf, hrefOf, objectOf, tokenOf, verbOf } from './record'
import { useCall } from '#/api/call'
import { Tokens } from '#/api/gen/hub/v1/hub_pb'
import { Button } from '#/ds/Button'
import { CopyButton } from '#/ds/Copy'
import { Dialog } from '#/ds/Dialog'
import { type Fact, Facts, many } from '#/ds/Text'
import { timeOf, utcOf } from '#/status/age'

// RecordDialog is all that one record says, with the change field by field.
export function RecordDialog({ line, onClose }: { line: Line; onClose: () => void }) {
  const f = line.facts
  const changes = f.before || f.after ? changesOf(f.before, f.after) : []
  const href = hrefOf(f)
  const ofToken = f.kind === 'token' && f.name ? f.name : ''
  const { data } = useCall(Tokens.method.list, {}, { enabled: Boolean(f.token_id || ofToken), staleTime: 60_000 })
  const facts: Fact[] = [
    { label: 'Result', value: <><Result result={f.result} />{f.status ? ` · HTTP ${f.status}` : ''}</> },
    { label: 'Time', value: f.at ? <span title={utcOf(f.at / 1_000)}>{timeOf(f.at / 1_000)}</span> : 'unknown' },
    { label: 'Actor', value: f.actor ? `${f.actor}${f.actor_kind ? ` (${f.actor_kind.replace('_', ' ')})` : ''}` : 'nobody: without a valid token' },
    { label: 'Object', value: href ? <Link to={href}>{objectOf(f)}</Link> : ofToken ? `token ${tokenOf(ofToken, data?.tokens)}` : objectOf(f) || 'none' },
    { label: 'Source address', value: f.source || 'unknown' },
    { label: 'Token or session', value: f.token_id ? tokenOf(f.token_id, data?.tokens) : 'none' },
    ...(f.as_user ? [{ label: 'As seen by the cluster', value: [f.as_user, ...(f.as_groups ?? [])].join(', '), wide: true }] : []),
    { label: 'Call', value: f.action, wide: true },
    ...Object.entries(f.detail ?? {}).map(([label, value]) => ({ label: label.charAt(0).toUpperCase() + label.slice(1).replaceAll('_', ' '), value, wide: value.length > 40 })),
    { label: 'Hash', value: <code>{line.hash}</code>, wide: true },
  ]
  return (
    <Dialog title={`Record ${line.seq}: ${verbOf(f)}`} onClose={onClose} wide actions={<Button variant="primary" onClick={onClose}>Close</Button>}>
      <Facts facts={facts} />
      {changes === undefined ? (
        <>
          <h3>Before and after</h3>
          <p>The record was too long and is cut, so it is not compared field by field.</p>
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, also by keyboard */}
          <pre className={styles.raw} tabIndex={0}>{`${f.before ?? ''}\n→\n${f.after ?? ''}`}</pre>
        </>
      ) : (
        changes.length > 0 && (
          <>
            <h3>
              {!f.before ? 'Created with' : !f.after ? 'Deleted' : 'Changed'} {many(changes.length, 'field')}
            </h3>
            {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, also by keyboard */}
            <div className={styles.scroll} role="region" aria-label="Changed fields" tabIndex={0}>
              <table className={styles.change}>
                <thead>
                  <tr>
                    <th scope="col">Field</th>
                    {f.before && <th scope="col">Before</th>}
                    {f.after && <th scope="col">After</th>}
                  </tr>
                </thead>
                <tbody>
                  {changes.map((c) => (
                    <tr key={c.path}>
                      <td>
                        <code>{c.path}</code>
                      </td>
                      {f.before && <td>{c.before !== undefined && <del><code>{c.before}</code></del>}</td>}
                      {f.after && <td>{c.after !== undefined && <ins><code>{c.after}</code></ins>}</td>}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </>
        )
      )}
      <details>
        <summary>As it was hashed</summary>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, also by keyboard */}
        <pre className={styles.raw} tabIndex={0}>{line.text}</pre>
        <CopyButton text={line.text} label="Copy the record" />
      </details>
    </Dialog>
  )
}
