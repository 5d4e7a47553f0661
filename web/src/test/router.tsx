import { RouterProvider, createMemoryHistory, createRootRoute, createRouter } from '@tanstack/react-router'
import { render, waitFor } from '@testing-library/react'
import type { ReactNode } from 'react'

// renderRouted renders what has links, at an address that is none of the console's.
export async function renderRouted(children: ReactNode) {
  const routeTree = createRootRoute({ component: () => children, notFoundComponent: () => children })
  const shown = render(<RouterProvider router={createRouter({ routeTree, history: createMemoryHistory() }) as never} />)
  await waitFor(() => {
    if (!shown.container.firstChild) throw new Error('nothing is rendered yet')
  })
  return shown
}
