import { createRootRoute, createRoute } from '@tanstack/react-router'
import { NotFound } from './NotFound'
import { Shell } from './Shell'

export const rootRoute = createRootRoute({ notFoundComponent: NotFound })

// shellRoute is the parent of every page: the frame with sidebar and top bar.
export const shellRoute = createRoute({ getParentRoute: () => rootRoute, id: 'shell', component: Shell })
