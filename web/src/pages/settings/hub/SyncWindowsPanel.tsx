import { useState } from 'react'
import { WindowsEditor, WindowsText, plainWindows } from '../WindowsEditor'
import { type Window, checkWindow } from '../windows'
import { unary, useCall } from '#/api/call'
import { Hub } from '#/api/gen/hub/v1/hub_pb'
import { byConsole, declares, useAgain } from '#/api/manage'
import { session } from '#/api/session'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { ManagedBy } from '#/ds/ManagedBy'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { ErrorPanel } from '#/ds/State'
import { toast } from '#/ds/toast'

// SyncWindowsPanel is the windows that hold for every service of every cluster.
export function SyncWindowsPanel() {
  const { data, error, refetch } = useCall(Hub.method.getSyncWindows, {})
  const again = useAgain(Hub.method.getSyncWindows)
  const [windows, setWindows] = useState<Window[]>()
  const check = () => {
    for (const [i, w] of (windows ?? []).entries()) {
      const bad = checkWindow(w)
      if (bad) return `Window ${i + 1}: ${bad}`
    }
    return undefined
  }
  return (
    <Panel
      title="Sync windows of the hub"
      aside={
        <>
          {data && declares(data.managedBy) && <ManagedBy manager={data.managedBy} prefix />}
          {session().admin && data && <Button onClick={() => setWindows(plainWindows(data.syncWindows))}>Edit</Button>}
        </>
      }
    >
      {error && !data && <ErrorPanel title="Can't read the sync windows" error={error} retry={() => void refetch()} />}
      {data ? <WindowsText windows={data.syncWindows} /> : !error && <SkeletonLines lines={1} />}
      {windows && (
        <ActionDialog
          title="Sync windows of the hub"
          submit="Save"
          wide
          takeOver
          check={check}
          onClose={() => setWindows(undefined)}
          run={async (takeOver) => {
            await unary(Hub.method.setSyncWindows, { syncWindows: windows, management: byConsole(takeOver) })
            await again()
            toast(windows.length ? 'The sync windows hold from the next poll of each agent on' : 'No sync windows any more')
          }}
        >
          <p>They hold for every service of every cluster, in addition to those of projects and services: each level must allow a sync. They never hold upgrades of the agents. Undo: save the former windows again.</p>
          <WindowsEditor windows={windows} onChange={setWindows} />
        </ActionDialog>
      )}
    </Panel>
  )
}
