// Package deploy holds what is installed into clusters: the agent's manifests, the charts and the
// CRDs. It only holds them; hub/manifests fills in the agent's, and cli/install renders the charts.
// A program that does not name one of them does not hold it.
package deploy

import "embed"

// Charts are the charts of the control plane and of the agent, charts/axle and
// charts/axle-agent, as stock Helm reads them.
//
//go:embed all:charts
var Charts embed.FS

// CRDs are the generated definitions of all kinds, crds/*.yaml, for what
// installs them into the hub's cluster.
//
//go:embed crds/*.yaml
var CRDs embed.FS

// Clusters are the templates of clusters that axle up puts into a repository: clusters/docker,
// and bed, that of the test bed, to try.
//
//go:embed clusters/docker bed
var Clusters embed.FS

// Agent are the files that a hub works with: those of the agent's manifests, and the list of the
// component files of Cluster API.
//
//go:embed clusterapi/components.txt
//go:embed agent/agent.yaml.tmpl
//go:embed agent/least-privilege.yaml
//go:embed crds/deployments.plural.sh_agentconfigurations.yaml
//go:embed crds/deployments.plural.sh_customhealths.yaml
//go:embed crds/platform.plural.sh_dashboards.yaml
var Agent embed.FS
