import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Download, RotateCw } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { AccountNote } from './AccountNote'
import styles from './AddCluster.module.css'
import { Checklist, useEnrollment } from './Checklist'
import { HowTabs } from './HowTabs'
import { clusterHref } from './columns'
import { type Way, cliCommand, helmCommand, kubectlCommand, parseTags, terraformBlock, ways } from './install'
import { useAction, useCall } from '#/api/call'
import { Clusters, type CreateClusterResponse, Projects } from '#/api/gen/hub/v1/hub_pb'
import { useMaySomewhere } from '#/api/may'
import { nameProblem } from '#/api/names'
import { rules } from '#/api/rules'
import { type Search, textOf } from '#/app/search'
import { Button, buttonClass } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { Crumbs } from '#/ds/Crumbs'
import { Segmented, Select, TextArea, TextField } from '#/ds/Form'
import { MayNot } from '#/ds/Forbidden'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Banner, ErrorPanel } from '#/ds/State'
import { DeployButton } from '#/pages/services/DeployButton'
import { useTicking } from '#/status/Age'
import { millis, spanOf } from '#/status/age'
import { Status } from '#/status/Status'

// From nothing to the first report of a new cluster.
export function Page() {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const created = textOf(search['name'])
  const [name, setName] = useState(created)
  const [project, setProject] = useState('default')
  const [tags, setTags] = useState('')
  const may = useMaySomewhere('create')
  const parsed = parseTags(tags)
  const problem = name.trim() ? nameProblem(rules.label, name.trim()) : undefined
  const projects = useCall(Projects.method.list, {})
  const create = useAction(Clusters.method.create, (made) => void navigate({ to: '.', search: { name: made.cluster?.name }, replace: true } as never))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate({ name: name.trim(), project, tags: parsed.tags, management: { by: { tool: 'console' } } })
  }
  const done = useEnrollment(created).data?.done ?? false
  return (
    <>
      <PageHeader title="Add a cluster" crumbs={<Crumbs items={[{ label: 'Clusters', to: '/clusters' }]} />}>
        {may.allowed === false && <MayNot what="add a cluster" reason={may.reason} />}
        {!created && <HowTabs current="One that exists" />}
      </PageHeader>
      <div className={styles.columns}>
        <div className={styles.column}>
          {!created ? (
            <Panel title="1. Name it">
              <form className={styles.form} onSubmit={submit}>
                <TextField label="Name" value={name} required autoFocus problem={problem} placeholder="eu-prod-1" hint="Lower-case letters, digits and dashes. It is in addresses and cannot be changed." onChange={setName} />
                <Select label="Project" value={project} options={(projects.data?.projects ?? []).map((p) => ({ value: p.name, label: p.name }))} onChange={setProject} />
                <AccountNote project={projects.data?.projects.find((p) => p.name === project)} />
                <TextArea label="Tags" value={tags} rows={2} placeholder={'tier=prod\nregion=eu'} problem={parsed.problem} hint="KEY=VALUE, one a line. Global services and filters select clusters by them." onChange={setTags} />
                {create.error && <ErrorPanel title="The cluster was not created" error={create.error} />}
                <div>
                  <Button variant="primary" type="submit" busy={create.isPending} disabled={may.allowed !== true || !name.trim() || problem !== undefined || parsed.problem !== undefined}>
                    Create it and show the command
                  </Button>
                </div>
              </form>
            </Panel>
          ) : done ? (
            <Panel title={`${created} is connected`}>
              <div className={styles.form}>
                <p>
                  <Status word="Healthy" label="The agent polls, reports and has what it needs." />
                </p>
                <div className={styles.actions}>
                  <Link to={clusterHref(created)} className={buttonClass('primary')}>
                    Open the cluster
                  </Link>
                  <DeployButton cluster={created} />
                </div>
              </div>
            </Panel>
          ) : (
            <Install name={created} project={project} tags={parsed.tags} made={create.data} error={create.error} busy={create.isPending} onRenew={() => create.mutate({ name: created, renewToken: true, management: { by: { tool: 'console' } } })} />
          )}
        </div>
        <div className={styles.column}>
          <Panel title={created ? `Progress of ${created}` : 'The next steps'}>{created ? <Checklist name={created} /> : <Outlook />}</Panel>
        </div>
      </div>
    </>
  )
}

interface InstallProps {
  name: string
  project: string
  tags: Record<string, string>
  // What Create answered in this tab; the token is not stored anywhere.
  made: CreateClusterResponse | undefined
  error: unknown
  busy: boolean
  onRenew: () => void
}

function Install({ name, project, tags, made, error, busy, onRenew }: InstallProps) {
  const [way, setWay] = useState<Way>('kubectl')
  const left = useTicking((now) => (made ? Math.max(0, Math.ceil((millis(made.bootstrapExpiresAt) - now) / 60_000)) : 0))
  const manifests = useCall(Clusters.method.agentManifests, { bootstrapToken: made?.bootstrapToken ?? '' }, { enabled: made !== undefined, staleTime: Infinity })
  if (!made?.bootstrapToken || left === 0) {
    return (
      <Panel title="2. Install the agent">
        <div className={styles.form}>
          <Banner tone="idle">{made ? 'The token has expired.' : 'The token is shown once, to whoever created the cluster.'} A new one replaces it.</Banner>
          {error !== null && <ErrorPanel title="No new token was made" error={error} />}
          <div>
            <Button variant="primary" icon={RotateCw} busy={busy} onClick={onRenew}>
              Make a new token
            </Button>
          </div>
        </div>
      </Panel>
    )
  }
  const download = () => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([manifests.data?.manifests ?? ''], { type: 'application/yaml' }))
    link.download = `axle-agent-${name}.yaml`
    link.click()
    URL.revokeObjectURL(link.href)
  }
  return (
    <Panel title="2. Install the agent" aside={<>token for one use, expires in {spanOf(left * 60_000)}</>}>
      <div className={styles.form}>
        <Segmented label="Tool" value={way} options={ways} onChange={setWay} />
        {way === 'kubectl' &&
          (manifests.error ? (
            <ErrorPanel title="Can't make the manifests" error={manifests.error} retry={() => void manifests.refetch()} />
          ) : manifests.data ? (
            <>
              <p>Run this where kubectl reaches the new cluster.</p>
              <Command command={kubectlCommand(manifests.data.manifests)} maxLines={12} label="kubectl command with the agent's manifests" />
            </>
          ) : (
            <SkeletonLines lines={6} />
          ))}
        {way === 'helm' && (
          <>
            <p>The chart installs the same objects.</p>
            <Command command={helmCommand(made)} maxLines={12} />
          </>
        )}
        {way === 'cli' && (
          <>
            <p>Makes its own token, applies the manifests with your kubeconfig and waits for the first report.</p>
            <Command command={cliCommand(name, project, tags)} />
          </>
        )}
        {way === 'terraform' && (
          <>
            <p>Declares the cluster, so that Terraform manages it from then on. Its attribute bootstrap_token goes to the chart.</p>
            <Command command={terraformBlock(name, project, tags)} />
          </>
        )}
        <div className={styles.actions}>
          {way === 'kubectl' && (
            <Button icon={Download} disabled={!manifests.data} onClick={download}>
              Download the manifests
            </Button>
          )}
          <Button variant="quiet" icon={RotateCw} busy={busy} onClick={onRenew}>
            New token
          </Button>
        </div>
        {error !== null && <ErrorPanel title="No new token was made" error={error} />}
      </div>
    </Panel>
  )
}

function Outlook() {
  return (
    <div className={styles.form}>
      <p>The hub makes a token for one use, and one command that installs the agent. The agent dials out to the hub; the hub never connects to the cluster.</p>
      <p>From there on this page shows how far it is. It takes about a minute.</p>
    </div>
  )
}
