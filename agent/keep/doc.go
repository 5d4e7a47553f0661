// Package keep decides when a cluster keeps what it has although a list of the
// hub names something else: the hub knows that from a backup, or the list lay on
// a disk that is older than the cluster's inventory.
//
// It changes nothing and asks nobody. agent/poll calls it for each entry of a
// list, and once when the inventories are read.
package keep
