import { Link } from '@tanstack/react-router'
import tab from './OverviewTab.module.css'
import { clusterHref } from './columns'
import { EachMachine } from './EachMachine'
import { type Group, conditionsOf, groupsOf, wordOfCondition, wordOfPhase } from './made'
import type { Cluster, ClusterOrigin, MadeCondition } from '#/api/gen/hub/v1/hub_pb'
import { type Col, Listing } from '#/ds/Listing'
import { Panel } from '#/ds/Panel'
import { Empty } from '#/ds/State'
import { Facts, Hash, Muted, count } from '#/ds/Text'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

const groupCols: Col<Group>[] = [
  { id: 'name', header: 'Pool', cell: (g) => g.name },
  { id: 'phase', header: 'Phase', grow: true, cell: (g) => (g.phase ? <Status word={wordOfPhase(g.phase)} label={g.phase} title={phaseTitle} /> : !g.machines && <Muted>the provider's, no machines here</Muted>) },
  { id: 'desired', header: 'Desired', align: 'end', cell: (g) => g.machines && count(g.desired) },
  { id: 'ready', header: 'Ready', align: 'end', cell: (g) => g.machines && count(g.ready) },
  { id: 'up-to-date', header: 'Up to date', align: 'end', cell: (g) => g.machines && count(g.upToDate) },
  { id: 'version', header: 'Version', cell: (g) => g.versions.join(' and ') },
]

const conditionCols: Col<MadeCondition>[] = [
  { id: 'type', header: 'Condition', cell: (c) => c.type },
  { id: 'status', header: 'Status', cell: (c) => <Status word={wordOfCondition(c)} label={c.status} title={`${c.type} is ${c.status}`} /> },
  { id: 'since', header: 'Since', cell: (c) => <Age at={c.since} never="unknown" /> },
  { id: 'reason', header: 'Reason', cell: (c) => c.reason },
  { id: 'message', header: 'Message', grow: true, cell: (c) => c.message },
]

const phaseTitle = 'the phase, in the words of Cluster API'

interface Props {
  cluster: Pick<Cluster, 'name'>
  origin: ClusterOrigin
  // The management cluster, if the person may read it: its report is as old as its last poll.
  by: Pick<Cluster, 'freshness' | 'polledAt'> | undefined
}

// MadePanels are how a cluster from a template came to be and how far it is, as its management cluster reports it.
export function MadePanels({ cluster, origin, by }: Props) {
  const { state, managementCluster: on } = origin
  const dim = by !== undefined && by.freshness !== 'Fresh'
  return (
    <>
      <Panel title="Provisioning" aside={state && <span>changed <Age at={state.reportedAt} after="ago" /></span>}>
        <Facts
          facts={[
            { label: 'Phase', value: state?.phase ? <Status word={wordOfPhase(state.phase)} label={state.phase} title={phaseTitle} dim={dim} /> : <Muted>not reported yet</Muted> },
            { label: 'Template', value: origin.template },
            { label: 'Commit', value: <Hash revision={origin.commit} /> },
            { label: 'Kubernetes', value: origin.version },
            { label: 'Made by', value: <Link to={clusterHref(on)}>{on}</Link> },
            { label: `Agent of ${on}`, value: by ? <Status word={by.freshness} at={by.polledAt} /> : <Muted>unknown</Muted> },
            { label: 'Service', value: <Link to={`/services/${encodeURIComponent(on)}/${encodeURIComponent(origin.service)}`}>{origin.service}</Link>, wide: true },
            ...(state?.unmet.length ? [{ label: 'Checks of the template that do not hold', wide: true, value: <Unmet texts={state.unmet} /> }] : []),
          ]}
        />
      </Panel>
      <Panel title="Machines" flush>
        <Listing label="Machines" cols={groupCols} rows={groupsOf(state)} idOf={(g) => g.name} empty={<Empty title="No machines are reported yet">{on} reports them as soon as Cluster API has made the objects.</Empty>} />
      </Panel>
      {state && state.machines.length > 0 && <EachMachine cluster={cluster} origin={origin} state={state} />}
      <Panel title="Conditions" flush aside="in the words of Cluster API">
        <Listing label="Conditions" cols={conditionCols} rows={conditionsOf(state)} idOf={(c) => c.type} empty={<Empty title="No conditions are reported yet" />} />
      </Panel>
    </>
  )
}

function Unmet({ texts }: { texts: string[] }) {
  return (
    <ul className={tab.unmet}>
      {texts.map((text) => (
        <li key={text}>
          <Status word="Degraded" label={text} title="a check of the template for after a create" />
        </li>
      ))}
    </ul>
  )
}
