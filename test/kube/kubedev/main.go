// Command kubedev is the Kubernetes control plane of the test bed in one
// binary: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and
// kwok, chosen by the name it is started under. One binary is linked once,
// where five would cost five times the link. Nothing that ships imports it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kwok":
		os.Exit(runKwok())
	default:
		fmt.Fprintf(os.Stderr, "kubedev: unknown program %q: start this binary as etcd, kube-apiserver, kube-controller-manager, kube-scheduler or kwok\n", name)
		os.Exit(2)
	}
}
