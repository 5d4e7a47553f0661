import styles from './Settings.module.css'
import { grantsOf, placeText } from './roles/matrix'
import { useCall } from '#/api/call'
import { Bindings } from '#/api/gen/hub/v1/access_pb'
import { SkeletonLines } from '#/ds/Skeleton'

// Losses lists the roles of a subject, for what somebody loses by a deletion.
export function Losses({ subjectKind, subject, groups, lead }: { subjectKind: string; subject: string; groups?: string[]; lead: string }) {
  const { data } = useCall(Bindings.method.list, {})
  if (!data) return <SkeletonLines lines={2} />
  const rows = grantsOf(data.bindings.filter((b) => b.subjectKind === subjectKind && b.subject === subject))
  const memberships = groups?.length ? `Member of ${groups.join(', ')}.` : ''
  if (rows.length === 0) return <p className={styles.muted}>No role of its own. {memberships}</p>
  return (
    <>
      <p>{lead}</p>
      <ul className={styles.list}>
        {rows.map((g) => (
          <li key={g.id}>
            {[...g.bindings.keys()].join(', ')} on {placeText(g)}
          </li>
        ))}
      </ul>
      {memberships && <p className={styles.muted}>{memberships}</p>}
    </>
  )
}
