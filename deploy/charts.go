package deploy

import "embed"

// Charts are the charts of the control plane and of the agent, charts/axle and
// charts/axle-agent, as stock Helm reads them. A program that does not name it does
// not hold it.
//
//go:embed all:charts
var Charts embed.FS
