import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from './root'

// pageAt is a route below the shell whose page is loaded when it is opened:
// pageAt('/audit', () => import('./AuditPage')), where the module exports Page.
export function pageAt<const Path extends string>(path: Path, load: () => Promise<{ Page: () => React.ReactNode }>) {
  return createRoute({ getParentRoute: () => shellRoute, path, component: lazyRouteComponent(load, 'Page') })
}
