import { Link } from '@tanstack/react-router'
import styles from './FirstSteps.module.css'
import { buttonClass } from '#/ds/Button'
import { Command } from '#/ds/Copy'

// FirstSteps is an empty fleet: what to do, the first command filled in.
export function FirstSteps() {
  const hub = location.origin
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
