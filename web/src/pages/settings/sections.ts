export interface Section {
  label: string
  path: string
  // For administrators alone.
  admin?: boolean
}

export interface SectionGroup {
  label: string
  sections: Section[]
}

export const sectionGroups: SectionGroup[] = [
  {
    label: 'You',
    sections: [
      { label: 'Profile', path: 'profile' },
      { label: 'Tokens', path: 'tokens' },
    ],
  },
  {
    label: 'Access',
    sections: [
      { label: 'Users', path: 'users', admin: true },
      { label: 'Groups', path: 'groups', admin: true },
      { label: 'Service accounts', path: 'service-accounts', admin: true },
      { label: 'Roles', path: 'roles' },
      { label: 'Login providers', path: 'auth', admin: true },
    ],
  },
  {
    label: 'Delivery',
    sections: [
      { label: 'Projects', path: 'projects' },
      { label: 'Contexts', path: 'contexts' },
      { label: 'Applications', path: 'applications' },
      { label: 'Webhooks', path: 'webhooks' },
      { label: 'Notifications', path: 'notifications' },
    ],
  },
  {
    label: 'Hub',
    sections: [
      { label: 'Hub', path: 'hub' },
      { label: 'About', path: 'about' },
    ],
  },
]

// sectionsFor leaves out what one may not open, and names it.
export function sectionsFor(admin: boolean): { groups: SectionGroup[]; hidden: string[] } {
  const groups = sectionGroups.map((g) => ({ ...g, sections: g.sections.filter((s) => admin || !s.admin) }))
  const hidden = admin ? [] : sectionGroups.flatMap((g) => g.sections.filter((s) => s.admin).map((s) => s.label))
  return { groups: groups.filter((g) => g.sections.length > 0), hidden }
}
