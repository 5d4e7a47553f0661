import { ChevronLeft, ChevronRight, RotateCw, ZoomOut } from 'lucide-react'
import { IconButton } from '../Button'
import { Segmented } from '../Form'
import styles from './TimeRange.module.css'
import { fixedOf, shifted, wordsOf, zoomed } from './range'
import { momentOf } from './times'

export const usualSlices = ['15m', '1h', '6h', '1d', '7d']

interface Props {
  value: string
  slices?: string[]
  onChange: (range: string) => void
  // Reads again.
  onRefresh?: () => void
}

// TimeRange chooses the time that graphs show; brushing a graph does too.
export function TimeRange({ value, slices = usualSlices, onChange, onRefresh }: Props) {
  const fixed = fixedOf(value)
  const now = () => Math.floor(Date.now() / 1000)
  return (
    <div className={styles.range}>
      <Segmented label="Time range" value={value} options={slices.map((s) => ({ value: s, label: s }))} onChange={onChange} />
      <div className={styles.buttons}>
        <IconButton icon={ChevronLeft} label="Earlier" onClick={() => onChange(shifted(value, -1, now()))} />
        <IconButton icon={ChevronRight} label="Later" disabled={!fixed} onClick={() => onChange(shifted(value, 1, now()))} />
        <IconButton icon={ZoomOut} label="Twice as long" onClick={() => onChange(zoomed(value, 2, now()))} />
        {onRefresh && <IconButton icon={RotateCw} label="Read again" onClick={onRefresh} />}
      </div>
      <span className={styles.words}>{fixed ? `${momentOf(fixed.from)} to ${momentOf(fixed.to)}` : `the last ${wordsOf(value).replace(/^1 /, '')}`}</span>
    </div>
  )
}
