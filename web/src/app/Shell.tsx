import { Outlet, useRouterState } from '@tanstack/react-router'
import { type ComponentType, Suspense, lazy, useEffect, useLayoutEffect, useState } from 'react'
import { LiveBanner } from './LiveBanner'
import { Sidebar } from './Sidebar'
import styles from './Shell.module.css'
import { TopBar } from './TopBar'
import { useDock } from './dock'
import { handle, setLetters } from './keys'
import { takeAhead, typeAhead } from './palette/ahead'
import { usePreferences } from './preferences'
import { useEvents } from './useEvents'
import { useGlobalKeys } from './useGlobalKeys'
import { Toasts } from '#/ds/Toasts'

// The palette is not lazy as the others are: React holds what was suspended back for
// 300 ms, and it opens within 50.
let palette: ComponentType<{ onClose: () => void }> | undefined
const loadPalette = () => import('./palette/Palette').then((m) => (palette = m.Palette))
const DockPanel = lazy(() => import('./DockPanel').then((m) => ({ default: m.DockPanel })))
const KeySheet = lazy(() => import('./KeySheet').then((m) => ({ default: m.KeySheet })))

export type Overlay = 'palette' | 'keys' | undefined

function Palette({ onClose }: { onClose: () => void }) {
  const [Ready, setReady] = useState(() => palette)
  useEffect(() => {
    if (Ready) return
    const fail = (error: unknown) =>
      setReady(() => {
        throw error
      })
    void loadPalette().then((loaded) => setReady(() => loaded), fail)
  }, [Ready])
  return Ready ? <Ready onClose={onClose} /> : null
}

// Shell is the frame of every page.
export function Shell() {
  const [overlay, setOverlay] = useState<Overlay>()
  const show = (next: Overlay) => {
    if (next === 'palette' && overlay !== 'palette') typeAhead(() => setOverlay(undefined))
    setOverlay(next)
  }
  const [drawer, setDrawer] = useState(false)
  const docked = useDock().entries.length > 0
  const { letters, sidebar } = usePreferences()
  const href = useRouterState({ select: (s) => s.location.href })
  useGlobalKeys(show)
  useEvents()
  // Keys are bound before the page shows, so they are heard from then on too; letters that are off are off before.
  useLayoutEffect(() => setLetters(letters), [letters])
  useLayoutEffect(() => {
    window.addEventListener('keydown', handle)
    return () => window.removeEventListener('keydown', handle)
  }, [])
  useEffect(() => () => void takeAhead(), [])
  useEffect(() => {
    // The first view comes first; then the palette is there when it is asked for. If it
    // cannot be loaded now, opening it says why.
    const timer = setTimeout(() => void loadPalette().catch(() => {}), 3000)
    return () => clearTimeout(timer)
  }, [])
  useEffect(() => setDrawer(false), [href])
  return (
    <div className={styles.shell} data-sidebar={sidebar} data-drawer={drawer || undefined}>
      <a href="#main" className={styles.skip}>
        Skip to the page
      </a>
      <Sidebar open={drawer} onClose={() => setDrawer(false)} />
      <div className={styles.column}>
        <TopBar onOverlay={show} onMenu={() => setDrawer(true)} />
        <LiveBanner />
        <main id="main" className={styles.main} tabIndex={-1}>
          <Outlet />
        </main>
        {docked && (
          <Suspense fallback={null}>
            <DockPanel />
          </Suspense>
        )}
      </div>
      <Toasts />
      <Suspense fallback={null}>
        {overlay === 'palette' && <Palette onClose={() => setOverlay(undefined)} />}
        {overlay === 'keys' && <KeySheet onClose={() => setOverlay(undefined)} />}
      </Suspense>
    </div>
  )
}
