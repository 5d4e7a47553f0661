import { type Project } from '#/api/gen/hub/v1/hub_pb'
import { Command } from '#/ds/Copy'
import { Banner } from '#/ds/State'
import { quote } from './install'

// AccountNote is shown where a cluster is made in a project whose services have no account to act as: agents refuse them.
export function AccountNote({ project }: { project: Project | undefined }) {
  if (!project || project.name === 'default' || project.administratorsOnly || project.limits?.serviceAccount) return null
  return (
    <Banner tone="warn">
      <p>Services of project {project.name} need a service account of the cluster to act as; nothing of them is applied without one. An administrator names one for all of them:</p>
      <Command command={`axle projects update ${quote(project.name)} --service-account NAME --allow-account NAMESPACE/NAME`} label="Command that names a service account" />
    </Banner>
  )
}
