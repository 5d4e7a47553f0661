import { Link } from '@tanstack/react-router'
import styles from './FirstSteps.module.css'
import { useMaySomewhere } from '#/api/may'
import { session } from '#/api/session'
import { buttonClass } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty } from '#/ds/State'

// FirstSteps is an empty fleet: what to do, the first command filled in. Who may not
// do it reads whom to ask.
export function FirstSteps() {
  const hub = location.origin
  const read = useMaySomewhere('read')
  const create = useMaySomewhere('create')
  if (create.allowed === undefined) return <SkeletonLines lines={4} />
  if (!create.allowed) return <Nothing shared={read.allowed === true} />
  return (
    <ol className={styles.steps}>
      <li>
        <h2>1. Connect a cluster</h2>
        <p>Run this where kubectl reaches the cluster. It installs the agent and waits for its first report.</p>
        <Command command={`axle login ${hub}\naxle clusters connect my-cluster`} />
        <p>
          <Link to="/clusters/new" className={buttonClass('primary')}>
            Or add it step by step
          </Link>
        </p>
      </li>
      <li>
        <h2>2. Register a repository</h2>
        <p>A Git repository, a chart repository, an OCI registry or a bucket that has what should run.</p>
        <Command command="axle repos add my-repo https://git.example.com/team/apps.git" />
      </li>
      <li>
        <h2>3. Deploy a first service</h2>
        <p>A folder of the repository at a branch, on the cluster. The agent pulls, renders and applies it.</p>
        <Command command="axle services create my-cluster/hello --repo my-repo --ref main --folder hello" />
      </li>
    </ol>
  )
}

// Nothing is an empty fleet for somebody who may not fill it.
function Nothing({ shared }: { shared: boolean }) {
  const { name } = session()
  return (
    <Empty title={shared ? 'No clusters yet' : 'Nothing is shared with you yet'}>
      <p>
        {shared ? 'Nobody has added a cluster where you have a role. People who may create in a project can add one.' : 'This hub may have clusters, but you have no role that shows them. Ask an administrator, who gives you one with:'}
      </p>
      {!shared && <Command command={`axle auth bind --user ${name} --action read --project NAME`} label="Command for an administrator" />}
    </Empty>
  )
}
