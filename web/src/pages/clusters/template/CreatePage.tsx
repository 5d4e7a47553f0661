import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useEffect, useMemo, useRef, useState } from 'react'
import { AccountNote } from '../AccountNote'
import styles from '../AddCluster.module.css'
import { HowTabs } from '../HowTabs'
import { clusterHref } from '../columns'
import { parseTags } from '../install'
import { Same } from './Same'
import { Variables } from './Variables'
import { refusalsOf } from './create'
import { draftOf, readDraft } from './draft'
import { type Draft, type Shape, shapesOf } from './schema'
import { useAction, useCall } from '#/api/call'
import { type ClusterTemplate, ClusterTemplates } from '#/api/gen/hub/v1/clustertemplate_calls_pb'
import { Clusters, Projects } from '#/api/gen/hub/v1/hub_pb'
import { byConsole } from '#/api/manage'
import { useMaySomewhere } from '#/api/may'
import { nameProblem } from '#/api/names'
import { rules } from '#/api/rules'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { Crumbs } from '#/ds/Crumbs'
import { MayNot } from '#/ds/Forbidden'
import { Select, TextArea, TextField } from '#/ds/Form'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty, ErrorPanel } from '#/ds/State'
import { Hash } from '#/ds/Text'
import { toast } from '#/ds/toast'

// A new cluster that the hub makes from a template, by a form of the template's schema.
export function Page() {
  const may = useMaySomewhere('create')
  const templates = useCall(ClusterTemplates.method.list, {})
  const [chosen, setChosen] = useState('')
  // One without management clusters is only stored.
  const usable = (templates.data?.clusterTemplates ?? []).filter((t) => t.settings?.managementClusters.length)
  const template = usable.find((t) => t.name === chosen) ?? usable[0]
  const variables = useCall(Clusters.method.getTemplateVariables, { template: template?.name ?? '' }, { enabled: template !== undefined && may.allowed === true })
  const shapes = useMemo(() => variables.data && shapesOf(variables.data.schema), [variables.data])
  return (
    <>
      <PageHeader title="Create a cluster" crumbs={<Crumbs items={[{ label: 'Clusters', to: '/clusters' }]} />}>
        {may.allowed === false && <MayNot what="create a cluster" reason={may.reason} />}
        <HowTabs current="From a template" />
      </PageHeader>
      {templates.error && !templates.data && <ErrorPanel title="Can't read the templates" error={templates.error} retry={() => void templates.refetch()} />}
      {templates.isPending && <SkeletonLines lines={8} />}
      {templates.data && !template && <NoTemplates />}
      {template && variables.error && <ErrorPanel title={`Can't read the variables of ${template.name}`} error={variables.error} retry={() => void variables.refetch()} />}
      {template && variables.isFetching && !variables.data && <SkeletonLines lines={8} />}
      {template && variables.data && !shapes && <ErrorPanel title={`The schema of ${template.name} is not read`} error={new Error('It is no JSON Schema of an object with properties. axle clusters create takes the variables as they are.')} />}
      {template && variables.data && shapes && (
        <Form key={`${template.name} ${variables.data.commit}`} template={template} templates={usable} commit={variables.data.commit} shapes={shapes} may={may.allowed === true} onTemplate={setChosen} />
      )}
    </>
  )
}

function NoTemplates() {
  return (
    <Empty title="No template that clusters can be made from">
      <p>An administrator registers a folder of a Git repository as a cluster template, for management clusters and projects:</p>
      <Command command={'axle clusters templates apply NAME \\\n  --repository REPOSITORY --ref REF --folder FOLDER \\\n  --kinds KINDS --management-clusters CLUSTER'} />
    </Empty>
  )
}

interface FormProps {
  template: ClusterTemplate
  templates: ClusterTemplate[]
  commit: string
  shapes: Shape[]
  may: boolean
  onTemplate: (name: string) => void
}

function Form({ template, templates, commit, shapes, may, onTemplate }: FormProps) {
  const navigate = useNavigate()
  const projects = useCall(Projects.method.list, {})
  const known = (template.settings?.managementClusters ?? []).filter(Boolean)
  const only = template.settings?.managementClusters.length === 1
  const [name, setName] = useState('')
  const [project, setProject] = useState('default')
  const [management, setManagement] = useState(known[0] ?? '')
  const [tags, setTags] = useState('')
  const [draft, setDraft] = useState<{ [name: string]: Draft }>(() => Object.fromEntries(shapes.map((s) => [s.name, draftOf(s)])))
  // How often it was sent: what is wrong is not said before.
  const [tries, setTries] = useState(0)
  const form = useRef<HTMLFormElement>(null)
  const create = useAction(Clusters.method.create, (made) => {
    toast(`${made.cluster?.name} is being made`)
    void navigate({ to: clusterHref(made.cluster?.name ?? '') })
  })
  const parsed = parseTags(tags)
  const { values, given, problems } = readDraft(shapes, draft)
  const refused = refusalsOf(create.error)
  const shown = new Map([...refused, ...(tries ? problems : [])])
  const nameWrong = name.trim() || tries ? nameProblem(rules.label, name.trim()) : undefined
  const offered = ['default', ...(template.settings?.projects ?? [])].filter((p) => p === 'default' || projects.data?.projects.some((one) => one.name === p))
  useEffect(() => {
    if (tries) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [tries])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTries(tries + 1)
    if (create.isPending || problems.size > 0 || parsed.problem || nameProblem(rules.label, name.trim())) return
    create.mutate({ name: name.trim(), project, tags: parsed.tags, management: byConsole(), fromTemplate: { template: template.name, managementCluster: management, variables: JSON.stringify(given) } })
  }
  return (
    <form ref={form} className={styles.columns} onSubmit={submit} noValidate>
      <div className={`${styles.column} ${styles.form}`}>
        <Panel title="Cluster">
          <div className={styles.form}>
            <Select label="Template" value={template.name} options={templates.map((t) => ({ value: t.name, label: t.name }))} hint={template.settings?.description || undefined} problem={refused.get(':template')} onChange={onTemplate} />
            <TextField label="Name" value={name} required autoFocus autoComplete="off" spellCheck={false} problem={nameWrong ?? refused.get(':name')} placeholder="shop-1" hint="Lower-case letters, digits and dashes. It is in addresses and cannot be changed." onChange={setName} />
            <Select label="Project" value={project} options={offered.map((p) => ({ value: p, label: p }))} problem={refused.get(':project')} hint="Projects that the template is for, and that you may read." onChange={setProject} />
            <AccountNote project={projects.data?.projects.find((p) => p.name === project)} />
            <Select
              label="Management cluster"
              value={management}
              options={known.length ? known.map((c) => ({ value: c, label: c })) : [{ value: '', label: only ? 'the only one of the template' : 'none that you may read' }]}
              problem={refused.get(':management_cluster')}
              hint="Cluster API runs there and makes the machines."
              onChange={setManagement}
            />
            <TextArea label="Tags" value={tags} rows={2} placeholder={'tier=prod\nregion=eu'} problem={parsed.problem} hint="KEY=VALUE, one a line." onChange={setTags} />
          </div>
        </Panel>
        <Panel title="Variables" aside={<span>of the template at <Hash revision={commit} /></span>}>
          <Variables shapes={shapes} draft={draft} problems={shown} onChange={setDraft} />
        </Panel>
        {create.error && <ErrorPanel title="The cluster was not created" error={create.error} newTab />}
        <div>
          <Button variant="primary" type="submit" busy={create.isPending} disabled={!may}>
            Create the cluster
          </Button>
        </div>
      </div>
      <Same form={{ template: template.name, name: name.trim(), project, management, tags: parsed.tags }} shapes={shapes} given={given} values={values} />
    </form>
  )
}
