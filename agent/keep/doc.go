// Package keep decides when a cluster keeps what it has although the hub's list says
// something else: the hub restored that list from a backup, or the list was read from
// a disk that is older than the cluster's inventory.
//
// It changes nothing and makes no requests. agent/poll calls it for each entry of a
// list, and once when the inventories are read.
package keep
