import styles from '../AddCluster.module.css'
import { type ClusterForm, commandOf, objectOf } from './create'
import { toYAML } from './draft'
import { type Json, type Shape } from './schema'
import { Command } from '#/ds/Copy'
import { Panel } from '#/ds/Panel'

interface SameProps {
  form: ClusterForm
  shapes: Shape[]
  given: { [name: string]: Json }
  values: { [name: string]: Json }
}

// Same is what does the same as the form elsewhere: in a terminal, and in Git.
export function Same({ form, shapes, given, values }: SameProps) {
  return (
    <div className={`${styles.column} ${styles.form}`}>
      <Panel title="The same as a command">
        <Command command={commandOf(form, shapes, given)} label="Command of the form" />
      </Panel>
      <Panel title="The same as an object" aside="for Git, or kubectl apply on the hub's own cluster">
        <Command command={toYAML(objectOf(form, given))} label="Object of the form" />
      </Panel>
      <Panel title="Variables as YAML" aside="with the defaults">
        <Command command={toYAML(values)} label="YAML of the variables" />
      </Panel>
    </div>
  )
}
