import { RouterProvider, createMemoryHistory, createRootRoute, createRoute, createRouter } from '@tanstack/react-router'
import { act, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { preferences, setPreferences } from '../preferences'
import { parseSearch, stringifySearch } from '../search'
import { ViewControl } from './ViewControl'
import { ViewList } from './ViewList'
import { setMyViews } from './change'
import { most, myViews } from './views'
import { setSession } from '#/api/session'
import { Toasts } from '#/ds/Toasts'

// Real keys are slow on a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

const be = (id: string) => setSession({ id, name: `${id}@example.test`, groups: [], admin: false, provedAt: 0, csrf: 'x' })
// Loaded when it is asked for; the first time takes long here.
beforeAll(() => import('./ViewActions'), 60_000)
beforeEach(() => {
  be('u-1')
  setPreferences({ views: {} })
})

async function show(address: string) {
  const root = createRootRoute({
    component: () => (
      <>
        <ViewList />
        <main id="main" tabIndex={-1}>
          <ViewControl suggest={() => 'Failed services'} />
        </main>
        <Toasts />
      </>
    ),
  })
  const routeTree = root.addChildren([createRoute({ getParentRoute: () => root, path: '/services' })])
  const router = createRouter({ routeTree, parseSearch, stringifySearch, history: createMemoryHistory({ initialEntries: [address] }) })
  render(<RouterProvider router={router as never} />)
  await screen.findByRole('main')
  return { go: (to: string) => act(async () => router.history.push(to)), at: () => router.state.location.href }
}

const control = () => within(screen.getByRole('main')).getByRole('button')
const choose = async (item: string) => {
  await userEvent.click(control())
  await userEvent.click(await screen.findByRole('menuitem', { name: item }))
}

test('a view is saved, opened, changed, updated, renamed and removed, and what is lost comes back', async () => {
  const { go, at } = await show('/services')
  expect(within(screen.getByRole('main')).queryByRole('button')).toBeNull()
  expect(screen.queryByText('Views')).toBeNull()

  await go('/services?verdict=Failed&peek=prod-eu/web')
  await userEvent.click(control())
  await screen.findByRole('dialog')
  await userEvent.keyboard('Mine{Enter}')
  expect(myViews()).toEqual([{ name: 'Mine', path: '/services', search: '?verdict=Failed' }])
  expect(control().textContent).toBe('View:Mine')
  expect(screen.getByRole('link', { name: 'Mine' }).getAttribute('aria-current')).toBe('page')

  // Its filter is changed: it can be saved again, under this name or another.
  await go('/services?verdict=Stale')
  expect(control().textContent).toBe('View:Minechanged')
  expect(screen.getByRole('link', { name: 'Mine' }).getAttribute('aria-current')).toBeNull()
  await choose('Update “Mine”')
  expect(myViews()[0]?.search).toBe('?verdict=Stale')
  await userEvent.click(screen.getByRole('button', { name: 'Undo' }))
  expect(myViews()[0]?.search).toBe('?verdict=Failed')
  await choose('Save as another view…')
  await screen.findByRole('dialog')
  await userEvent.keyboard('mine{Enter}')
  await screen.findByText(/“Mine” already/)
  await userEvent.keyboard('{Control>}a{/Control}Other{Enter}')
  expect(myViews().map((v) => v.name)).toEqual(['Mine', 'Other'])

  await userEvent.click(screen.getByRole('link', { name: 'Mine' }))
  expect(at()).toBe('/services?verdict=Failed')
  await choose('Rename…')
  await screen.findByRole('dialog')
  await userEvent.keyboard('  Failed   ones {Enter}')
  expect(myViews().map((v) => v.name)).toEqual(['Failed ones', 'Other'])
  await waitFor(() => expect(document.activeElement).toBe(control()))
  await choose('Remove')
  expect(myViews().map((v) => v.name)).toEqual(['Other'])
  expect(control().textContent).toBe('Save view')
  await userEvent.click(within(screen.getByText(/“Failed ones” is removed/).parentElement!).getByRole('button', { name: 'Undo' }))
  expect(myViews().map((v) => v.name)).toEqual(['Failed ones', 'Other'])
  expect(document.activeElement).toBe(control())

  // All services: the view is left.
  await go('/services')
  await go('/services?q=x')
  expect(control().textContent).toBe('Save view')
})

test('a removed view does not come back over one that took its name', async () => {
  setMyViews([{ name: 'Mine', path: '/services', search: '?verdict=Failed' }])
  await show('/services?verdict=Failed')
  await choose('Remove')
  const newer = { name: 'mine', path: '/clusters', search: '?q=x' }
  act(() => void setMyViews([newer]))
  await userEvent.click(screen.getAllByRole('button', { name: 'Undo' }).at(-1)!)
  expect(myViews()).toEqual([newer])
  expect(screen.getByText(/“mine” already/)).toBeTruthy()
})

test('one more than fit is refused before a name is asked for', async () => {
  setMyViews(Array.from({ length: most }, (_, i) => ({ name: `view ${i}`, path: '/services', search: `?q=${i}` })))
  await show('/services?q=more')
  await userEvent.click(control())
  const dialog = await screen.findByRole('dialog')
  expect(dialog.textContent).toMatch(/such as “view 0”/)
  expect(within(dialog).queryByRole('textbox')).toBeNull()
})

test('another person at the same browser has views of their own, and takes none away', async () => {
  setMyViews([{ name: 'Mine', path: '/services', search: '?q=a' }])
  be('u-2')
  expect(myViews()).toEqual([])
  setMyViews([{ name: 'Theirs', path: '/services', search: '?q=b' }])
  expect(JSON.parse(localStorage.getItem('axle.preferences')!).views).toMatchObject({ 'u-1': [{ name: 'Mine' }], 'u-2': [{ name: 'Theirs' }] })
  be('u-1')
  expect(myViews().map((v) => v.name)).toEqual(['Mine'])
})

test('what another version stored breaks nothing', async () => {
  for (const views of [null, 'x', 7, [], { 'u-1': 'x' }, { 'u-1': { name: 'x' } }]) {
    setPreferences({ views })
    expect(myViews(), JSON.stringify(views)).toEqual([])
  }
  expect(setMyViews([{ name: 'Mine', path: '/services', search: '?q=a' }])).toBe(true)
  expect(myViews()).toHaveLength(1)
})

test('a browser that stores nothing is no secret', async () => {
  vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
    throw new DOMException('full', 'QuotaExceededError')
  })
  await show('/services?q=a')
  await userEvent.click(control())
  await screen.findByRole('dialog')
  await userEvent.keyboard('{Enter}')
  expect(screen.getByText(/last as long as this page/)).toBeTruthy()
  expect(preferences().views).toMatchObject({ 'u-1': [{ name: 'Failed services' }] })
})
