import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './ds/tokens.css'
import './ds/base.css'
import { newQueryClient } from './api/call'
import { loadSession } from './api/session'
import { show } from './app/preferences'
import { router } from './app/router'
import { NoHub } from './app/NoHub'

show()
const root = createRoot(document.getElementById('root')!)
const client = newQueryClient()

function start() {
  loadSession().then(
    () =>
      root.render(
        <StrictMode>
          <QueryClientProvider client={client}>
            <RouterProvider router={router} />
          </QueryClientProvider>
        </StrictMode>,
      ),
    (error: unknown) => root.render(<NoHub error={error} retry={start} />),
  )
}

start()
