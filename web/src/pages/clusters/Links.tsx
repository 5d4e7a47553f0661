import { ExternalLink } from 'lucide-react'
import type { ReactNode } from 'react'
import styles from './Alerts.module.css'
import { useCall } from '#/api/call'
import { ClusterAlerts, type ClusterLink } from '#/api/gen/hub/v1/alerts_pb'

// Outside is a link to another system, which learns nothing of this page. The hub lets no
// other than http and https through; an address of another form stays text.
export function Outside({ href, children }: { href: string; children: ReactNode }) {
  if (!/^https?:\/\//.test(href)) return <>{children}</>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
      <ExternalLink size={12} aria-hidden />
      <span className="visually-hidden"> (opens in a new tab)</span>
    </a>
  )
}

export function LinkList({ links, label }: { links: ClusterLink[]; label: string }) {
  if (links.length === 0) return null
  return (
    <ul className={styles.links} aria-label={label}>
      {links.map((l) => (
        <li key={l.url}>
          <Outside href={l.url}>{l.title}</Outside>
        </li>
      ))}
    </ul>
  )
}

// PlaceLinks are where people look at a cluster, a service or a pod beside the hub.
export function PlaceLinks(of: { cluster: string; namespace?: string; service?: string; pod?: string }) {
  const { data } = useCall(ClusterAlerts.method.links, of, { staleTime: 60_000, retry: false })
  return <LinkList links={data?.links ?? []} label="Links" />
}
