// Package operator runs the operator of a management cluster: it reads custom
// resources there and writes what they declare to the hub.
//
// It sets up what a controller needs (the client of the cluster, leader election,
// metrics, health probes, the client of the hub); operator/controller has the
// controllers, and says what they do and do not do. cmd/axle-operator calls it, and
// test/operator runs it against a real API server and a real hub.
//
// ApplyDefinitions installs the CRDs; Run needs them in the cluster and installs nothing. It authenticates to the hub
// with the projected token of its ServiceAccount, or with a token of the hub from a
// file. One replica at a time acts; the others wait for its lease (15 s
// after it died, at once after it ended).
package operator
