import { useSearch } from '@tanstack/react-router'
import { EventLog } from './EventLog'
import { OperationList } from './OperationList'
import { type Search, textOf } from '#/app/search'
import { PageHeader } from '#/ds/PageHeader'
import { TabNav } from '#/ds/TabNav'

const tabs = [
  { label: 'Operations', to: '/activity' },
  { label: 'Events', to: '/activity', search: { tab: 'events' } },
]

export function Page() {
  const events = textOf((useSearch({ strict: false }) as Search)['tab']) === 'events'
  return (
    <>
      <PageHeader title={events ? 'Activity: events' : 'Activity'} heading="Activity">
        <TabNav label="Activity" current={events ? 'Events' : 'Operations'} tabs={tabs} />
      </PageHeader>
      {events ? <EventLog /> : <OperationList />}
    </>
  )
}
