import { Link, useLocation } from '@tanstack/react-router'
import { Empty } from '#/ds/State'
import { PageHeader } from '#/ds/PageHeader'
import { buttonClass } from '#/ds/Button'

// NotFound is the page of an address that does not exist.
export function NotFound() {
  const { pathname } = useLocation()
  return (
    <>
      <PageHeader title="Not found" />
      <Empty
        title={`Nothing is at ${pathname}`}
        actions={
          <>
            <Link to="/" className={buttonClass('primary')}>
              Home
            </Link>
            <Link to="/clusters" className={buttonClass()}>
              Clusters
            </Link>
            <Link to="/services" className={buttonClass()}>
              Services
            </Link>
          </>
        }
      >
        <p>The address may be mistyped, or what was here has another name now. Search by name with ⌘K or Ctrl+K.</p>
      </Empty>
    </>
  )
}
