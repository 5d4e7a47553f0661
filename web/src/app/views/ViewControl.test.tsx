import { RouterProvider, createMemoryHistory, createRootRoute, createRoute, createRouter } from '@tanstack/react-router'
import { act, configure, render, screen, waitFor, within } from '@testing-library/react'
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
vi.setConfig({ testTimeout: 60_000 })
configure({ asyncUtilTimeout: 20_000 })

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

// A dialog or a menu hides the rest until it is closed.
const control = async () => within(await screen.findByRole('main')).findByRole('button')
const undo = async () => userEvent.click((await screen.findAllByRole('button', { name: 'Undo' })).at(-1)!)
const choose = async (item: string) => {
  await userEvent.click(await control())
  await userEvent.click(await screen.findByRole('menuitem', { name: item }))
}

test('a view is saved, opened, changed, updated, renamed and removed, and what is lost comes back', async () => {
  const { go, at } = await show('/services')
  expect(within(screen.getByRole('main')).queryByRole('button')).toBeNull()
  expect(screen.queryByText('Views')).toBeNull()

  await go('/services?verdict=Failed&peek=prod-eu/web')
  await userEvent.click(await control())
  await screen.findByRole('dialog')
  await userEvent.keyboard('Mine{Enter}')
  expect(myViews()).toEqual([{ name: 'Mine', path: '/services', search: '?verdict=Failed' }])
  expect((await control()).textContent).toBe('View:Mine')
  expect((await screen.findByRole('link', { name: 'Mine' })).getAttribute('aria-current')).toBe('page')

  // Its filter is changed: it can be saved again, under this name or another.
  await go('/services?verdict=Stale')
  expect((await control()).textContent).toBe('View:Minechanged')
  expect((await screen.findByRole('link', { name: 'Mine' })).getAttribute('aria-current')).toBeNull()
  await choose('Update “Mine”')
  expect(myViews()[0]?.search).toBe('?verdict=Stale')
  await undo()
  expect(myViews()[0]?.search).toBe('?verdict=Failed')
  await choose('Save as another view…')
  await screen.findByRole('dialog')
  await userEvent.keyboard('mine{Enter}')
  await screen.findByText(/“Mine” already/)
  await userEvent.keyboard('{Control>}a{/Control}Other{Enter}')
  expect(myViews().map((v) => v.name)).toEqual(['Mine', 'Other'])

  await userEvent.click(await screen.findByRole('link', { name: 'Mine' }))
  expect(at()).toBe('/services?verdict=Failed')
  await choose('Rename…')
  await screen.findByRole('dialog')
  await userEvent.keyboard('  Failed   ones {Enter}')
  expect(myViews().map((v) => v.name)).toEqual(['Failed ones', 'Other'])
  await waitFor(async () => expect(document.activeElement).toBe(await control()))
  await choose('Remove')
  expect(myViews().map((v) => v.name)).toEqual(['Other'])
  expect((await control()).textContent).toBe('Save view')
  await screen.findByText(/“Failed ones” is removed/)
  await undo()
  expect(myViews().map((v) => v.name)).toEqual(['Failed ones', 'Other'])
  expect(document.activeElement).toBe(await control())

  // All services: the view is left.
  await go('/services')
  await go('/services?q=x')
  expect((await control()).textContent).toBe('Save view')
})

test('a removed view does not come back over one that took its name', async () => {
  setMyViews([{ name: 'Mine', path: '/services', search: '?verdict=Failed' }])
  await show('/services?verdict=Failed')
  await choose('Remove')
  const newer = { name: 'mine', path: '/clusters', search: '?q=x' }
  act(() => void setMyViews([newer]))
  await undo()
  expect(myViews()).toEqual([newer])
  expect(await screen.findByText(/“mine” already/)).toBeTruthy()
})

test('one more than fit is refused before a name is asked for', async () => {
  setMyViews(Array.from({ length: most }, (_, i) => ({ name: `view ${i}`, path: '/services', search: `?q=${i}` })))
  await show('/services?q=more')
  await userEvent.click(await control())
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
  await userEvent.click(await control())
  await screen.findByRole('dialog')
  await userEvent.keyboard('{Enter}')
  expect(await screen.findByText(/last as long as this page/)).toBeTruthy()
  expect(preferences().views).toMatchObject({ 'u-1': [{ name: 'Failed services' }] })
})
