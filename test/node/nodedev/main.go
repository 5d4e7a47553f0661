// Command nodedev is the part of Kubernetes that runs on a node, kubelet and kube-proxy in
// one binary, chosen by the name it is started under. One binary is linked once. Nothing
// that ships imports it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/component-base/cli"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "kubelet":
		os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
	case "kube-proxy":
		os.Exit(cli.Run(proxy.NewProxyCommand()))
	default:
		fmt.Fprintf(os.Stderr, "nodedev: unknown program %q: start this binary as kubelet or kube-proxy\n", name)
		os.Exit(2)
	}
}
