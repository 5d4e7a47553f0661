// Package report tells the hub what this cluster's services are like: it makes a status
// from what is known of a service, and sends those that changed.
//
// It runs no passes and reads nothing from the cluster. agent/poll says which services
// to check and gives it their state.
//
// Invariants: equal states give equal bytes; a change is sent within about a second, at
// most 500 statuses and 6 MiB a report; a report names the hash that the hub has, so that
// a lost or reordered one is noticed; everything is sent every 2 h, and when the hub's
// hash differed twice; every text passes the service's scrubber.
package report
