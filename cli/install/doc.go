// Package install makes axle install, axle upgrade, axle preflight and axle uninstall:
// it puts the chart of the control plane into a cluster, waits until it runs, and
// leaves a release of Helm, from which helm upgrade goes on.
//
// The chart says what a control plane is; this package renders it with Helm's engine,
// looks first for what would fail, applies the objects server-side in Helm's order,
// writes the release in Helm's format, and waits with the pods' own words. Logging in
// and connecting the cluster are commands of other packages, which package cli passes.
//
// It stores nothing on this machine. Definitions and volumes are never deleted unless
// a flag says so.
//
// Invariants: nothing is written before the preflight passed. A run that was
// interrupted anywhere goes on when it is run again. A pod that cannot start by itself
// ends the wait within 15 s, with its own words. A release keeps its last 10 revisions,
// as with Helm.
package install
