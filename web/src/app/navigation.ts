import { Activity, Boxes, FolderGit2, House, type LucideIcon, Layers, ScrollText, Server, Settings } from 'lucide-react'

export interface Entry {
  label: string
  to: string
  icon: LucideIcon
  // Second key after g.
  key: string
}

export interface Group {
  label: string
  entries: Entry[]
}

export const navigation: Group[] = [
  { label: '', entries: [{ label: 'Home', to: '/', icon: House, key: 'h' }] },
  {
    label: 'Fleet',
    entries: [
      { label: 'Clusters', to: '/clusters', icon: Server, key: 'c' },
      { label: 'Services', to: '/services', icon: Boxes, key: 's' },
      { label: 'Rollouts', to: '/rollouts', icon: Layers, key: 'r' },
      { label: 'Repositories', to: '/repositories', icon: FolderGit2, key: 'i' },
    ],
  },
  {
    label: 'Observe',
    entries: [
      { label: 'Activity', to: '/activity', icon: Activity, key: 'a' },
      { label: 'Audit', to: '/audit', icon: ScrollText, key: 'u' },
    ],
  },
  { label: '', entries: [{ label: 'Settings', to: '/settings', icon: Settings, key: ',' }] },
]
