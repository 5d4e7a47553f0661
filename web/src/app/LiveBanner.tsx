import { WifiOff } from 'lucide-react'
import { Banner } from '#/ds/State'
import { useConnection } from '#/live/useLive'
import { useTicking } from '#/status/Age'
import { spanOf } from '#/status/age'
import styles from './LiveBanner.module.css'

// LiveBanner says that the hub is not heard, and since when.
export function LiveBanner() {
  const { phase, heardAt } = useConnection()
  const silent = useTicking(() => (heardAt ? spanOf(Math.floor((Date.now() - heardAt) / 1000) * 1000) : ''))
  if (phase !== 'reconnecting') return null
  return (
    <div className={styles.strip}>
      <Banner tone="warn" icon={WifiOff}>
        <strong>Reconnecting.</strong> {silent ? <>The hub was last heard <span aria-live="off">{silent}</span> ago.</> : 'The hub has not answered yet.'} What you see is the last that is known; ages keep growing.
      </Banner>
    </div>
  )
}
