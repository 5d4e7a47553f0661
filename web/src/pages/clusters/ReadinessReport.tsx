import { Link } from '@tanstack/react-router'
import styles from './ReadinessTab.module.css'
import { addonsOf, changesOf, objectOf, titleOf, uncounted } from './readiness'
import type { ReadinessAddon, ReadinessCheck, ReadinessFinding, ReadinessResponse } from '#/api/gen/hub/v1/readiness_pb'
import { type Col, Listing } from '#/ds/Listing'
import { Panel } from '#/ds/Panel'
import { Empty } from '#/ds/State'
import { Muted, count, many } from '#/ds/Text'
import { Status } from '#/status/Status'

const checkCols: Col<ReadinessCheck>[] = [
  { id: 'name', header: 'Check', cell: (c) => titleOf(c.name) },
  { id: 'state', header: 'State', cell: (c) => <Status word={c.state} title={c.message || titleOf(c.name)} /> },
  { id: 'examined', header: 'Examined', align: 'end', cell: (c) => (c.state === 'NotChecked' ? '' : count(c.examined)) },
  { id: 'findings', header: 'Findings', align: 'end', cell: (c) => (c.state === 'NotChecked' ? '' : count(c.findings.length + c.notShown)) },
  { id: 'message', header: 'Message', grow: true, cell: (c) => c.message },
]

// ReadinessReport is what speaks against a version of Kubernetes, and what was looked at.
export function ReadinessReport({ report }: { report: ReadinessResponse }) {
  const { cluster, to, result, kubernetesVersion } = report
  const not = uncounted(report)
  const addons = addonsOf(report).map((a, i) => ({ ...a, key: `${i}` }))
  const findings = report.checks.reduce((n, c) => n + c.findings.length + c.notShown, 0)
  return (
    <>
      <Panel title="Result" aside={kubernetesVersion && <>the cluster has {kubernetesVersion}</>}>
        {result === 'Ready' ? (
          <Empty title={`${cluster} is ready for ${to}`}>
            <p>
              <Status word="Ready" label="Nothing that was looked at speaks against it." />
            </p>
            {not.length > 0 && <p>Not checked: {not.join(', ')}.</p>}
          </Empty>
        ) : (
          <p className={styles.result}>
            <Status word={result} chip />
            <span>{result === 'NotReady' ? `${many(findings, 'finding')} for ${to}.` : `Not all could be looked at for ${to}.`}</span>
            {not.length > 0 && <Muted>Not checked: {not.join(', ')}.</Muted>}
          </p>
        )}
      </Panel>
      {report.checks
        .filter((c) => c.findings.length > 0)
        .map((c) => (
          <Panel key={c.name} title={titleOf(c.name)} aside={many(c.findings.length + c.notShown, 'finding')} flush>
            <Listing label={titleOf(c.name)} cols={columnsOf(c, cluster)} rows={c.findings.map((f, i) => ({ ...f, key: `${i}` }))} idOf={(f) => f.key} empty={null} />
          </Panel>
        ))}
      {addons.length > 0 && (
        <Panel title="Add-ons and their versions" aside={many(addons.length, 'add-on')} flush>
          <Listing label="Add-ons and their versions" cols={addonCols(cluster)} rows={addons} idOf={(a) => a.key} empty={null} />
        </Panel>
      )}
      <Panel title="Checks" flush>
        <Listing label="Checks" cols={checkCols} rows={report.checks} idOf={(c) => c.name} empty={<Empty title="No checks" />} />
      </Panel>
    </>
  )
}

type Row = ReadinessFinding & { key: string }

// columnsOf leaves out what no finding of a check has.
function columnsOf(check: ReadinessCheck, cluster: string): Col<Row>[] {
  const all: (Col<Row> & { has: (f: ReadinessFinding) => unknown })[] = [
    { id: 'of', header: 'Of', has: (f) => f.service || f.release, cell: (f) => <Owner of={f} cluster={cluster} /> },
    { id: 'object', header: 'Object', has: objectOf, cell: (f) => <span className={styles.object}>{objectOf(f)}</span> },
    { id: 'removed', header: 'Removed in', has: (f) => f.removedIn, cell: (f) => f.removedIn },
    { id: 'replacement', header: 'Replacement', has: (f) => f.removedIn, cell: (f) => (f.replacement ? <span className={styles.object}>{f.replacement}</span> : f.removedIn && <Muted>none</Muted>) },
    { id: 'file', header: 'File', has: (f) => f.file, cell: (f) => <span className={styles.object}>{f.file}</span> },
    { id: 'message', header: 'Message', grow: true, has: () => true, cell: (f) => f.message },
  ]
  return all.filter((c) => check.findings.some((f) => c.has(f)))
}

// addonCols shows what matrices say as text: others write it.
function addonCols(cluster: string): Col<ReadinessAddon & { key: string }>[] {
  return [
    { id: 'name', header: 'Add-on', cell: (a) => a.name || <Muted>no name</Muted> },
    { id: 'of', header: 'Of', cell: (a) => <Owner of={a} cluster={cluster} /> },
    { id: 'version', header: 'Version', cell: (a) => a.version },
    { id: 'verdict', header: 'Verdict', cell: (a) => <Status word={a.verdict} title={a.message} /> },
    { id: 'upgrade', header: 'Upgrade to', cell: (a) => a.upgradeTo },
    {
      id: 'changes',
      header: 'Changes',
      grow: true,
      cell: (a) =>
        changesOf(a).map((t) => (
          <div key={t}>{t}</div>
        )),
    },
  ]
}

function Owner({ of: f, cluster }: { of: Pick<ReadinessFinding, 'service' | 'release' | 'namespace'>; cluster: string }) {
  if (f.service) return <Link to={`/services/${encodeURIComponent(cluster)}/${encodeURIComponent(f.service)}`}>{f.service}</Link>
  if (f.release) return <>{f.namespace ? `release ${f.namespace}/${f.release}` : f.release}</>
  return <Muted>no service</Muted>
}
