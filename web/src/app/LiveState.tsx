import { Radio, RefreshCw, Wifi, WifiOff } from 'lucide-react'
import { useConnection } from '#/live/useLive'
import styles from './TopBar.module.css'

const shown = {
  idle: { icon: Radio, word: 'Paused', title: 'Nothing here changes by itself.' },
  connecting: { icon: Radio, word: 'Connecting', title: 'The live stream is being opened.' },
  live: { icon: Wifi, word: 'Live', title: 'Changes arrive as they happen.' },
  reconnecting: { icon: WifiOff, word: 'Reconnecting', title: 'The hub is silent; the last known values are shown.' },
  polling: { icon: RefreshCw, word: 'Polling', title: 'Something between the browser and the hub holds the live stream back, so lists are read again every 15 s.' },
} as const

export function LiveState() {
  const { phase } = useConnection()
  const { icon: Icon, word, title } = shown[phase]
  return (
    <span className={styles.live} data-phase={phase} title={title}>
      <Icon size={14} aria-hidden />
      <span>{word}</span>
    </span>
  )
}
