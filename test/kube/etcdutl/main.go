// Command etcdutl restores snapshots of etcd, as the program of this name does: etcd's own code
// in a module of its own, for the test of a cluster that is restored from a backup.
package main

import (
	"os"

	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
)

func main() {
	command := etcdutl.NewSnapshotCommand()
	if command.Execute() != nil {
		os.Exit(1)
	}
}
