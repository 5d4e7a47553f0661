import { useSearch } from '@tanstack/react-router'
import { Globals } from './Globals'
import { Namespaces } from './Namespaces'
import { type Search, textOf } from '#/app/search'
import { PageHeader } from '#/ds/PageHeader'
import { TabNav } from '#/ds/TabNav'

const tabs = [
  { label: 'Global services', to: '/rollouts' },
  { label: 'Managed namespaces', to: '/rollouts', search: { tab: 'namespaces' } },
]

export function Page() {
  const namespaces = textOf((useSearch({ strict: false }) as Search)['tab']) === 'namespaces'
  const current = namespaces ? 'Managed namespaces' : 'Global services'
  return (
    <>
      <PageHeader title={namespaces ? 'Rollouts: managed namespaces' : 'Rollouts'} heading="Rollouts">
        <p>{namespaces ? 'One namespace on every cluster that it selects.' : 'One service on every cluster that it selects; a change reaches them in waves.'}</p>
        <TabNav label="Rollouts" current={current} tabs={tabs} />
      </PageHeader>
      {namespaces ? <Namespaces /> : <Globals />}
    </>
  )
}
