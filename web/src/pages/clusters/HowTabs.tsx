import { TabNav } from '#/ds/TabNav'

const ways = [
  { label: 'One that exists', to: '/clusters/new' },
  { label: 'From a template', to: '/clusters/new/template' },
]

// HowTabs are the two ways to a new cluster.
export function HowTabs({ current }: { current: string }) {
  return <TabNav label="How" current={current} tabs={ways} />
}
