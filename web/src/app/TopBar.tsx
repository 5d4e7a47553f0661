import { CircleHelp, Menu, Search } from 'lucide-react'
import { IconButton } from '#/ds/Button'
import { Kbd } from '#/ds/Kbd'
import { LiveState } from './LiveState'
import type { Overlay } from './Shell'
import styles from './TopBar.module.css'
import { Bell } from '#/pages/notifications/Bell'
import { UserMenu } from './UserMenu'

interface Props {
  onOverlay: (overlay: Overlay) => void
  onMenu: () => void
}

export function TopBar({ onOverlay, onMenu }: Props) {
  return (
    <header className={styles.bar}>
      <div className={styles.menu}>
        <IconButton icon={Menu} label="Navigation" onClick={onMenu} />
      </div>
      <button type="button" className={styles.search} onClick={() => onOverlay('palette')}>
        <Search size={14} aria-hidden />
        <span className={styles.hint}>Go to a cluster, a service, a page…</span>
        <Kbd keys="mod+k" />
      </button>
      <div className={styles.end}>
        <LiveState />
        <Bell />
        <IconButton icon={CircleHelp} label="Keys" onClick={() => onOverlay('keys')} className={styles.wide} />
        <UserMenu />
      </div>
    </header>
  )
}
