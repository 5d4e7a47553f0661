package kube

import (
	"context"
	"fmt"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/test/program"
)

// startControllers starts the controller-manager and waits until it has made
// what every pod needs: the default service account and the CA's ConfigMap.
func (c *Cluster) startControllers(ctx context.Context, client kubernetes.Interface) error {
	p, err := c.startPart("kube-controller-manager",
		"--kubeconfig="+c.kubeconfigPath(controllersUser),
		"--secure-port=0",
		"--leader-elect=false",
		"--root-ca-file="+c.path("ca.crt"),
		"--service-account-private-key-file="+c.path("service-account.key"),
		"--cluster-signing-cert-file=", "--cluster-signing-key-file=",
		// Nodes here send no heartbeats, and there is no cloud provider.
		"--controllers=*,-node-lifecycle-controller,-taint-eviction-controller,-node-ipam-controller,-service-lb-controller,-node-route-controller,-cloud-node-lifecycle-controller",
		"--kube-api-qps=500", "--kube-api-burst=1000",
		// What writes the status of a quota itself waits for this, else 5 min.
		"--resource-quota-sync-period=20s",
	)
	if err != nil {
		return err
	}
	return p.WaitReady(ctx, func(ctx context.Context) error {
		core := client.CoreV1()
		if _, err := core.ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
			return err
		}
		if _, err := core.ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
			return err
		}
		view, err := client.RbacV1().ClusterRoles().Get(ctx, "view", metav1.GetOptions{})
		if err == nil && len(view.Rules) == 0 {
			return fmt.Errorf("the cluster role view has no rules yet")
		}
		return err
	})
}

// startScheduler starts kube-scheduler. It is ready when it binds pods, which callers
// wait for.
func startScheduler(c *Cluster) error {
	kubeconfig, err := c.KubeconfigFor("kube-scheduler", masters)
	if err != nil {
		return err
	}
	_, err = c.startPart("kube-scheduler", "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0")
	return err
}

// startPart starts a program that hangs on the API server and is stopped with
// the cluster.
func (c *Cluster) startPart(name string, args ...string) (*program.Program, error) {
	p, err := program.Start(c.dir, filepath.Join(c.bed.bin, name), args)
	if err != nil {
		return nil, err
	}
	c.closers = append(c.closers, p.Kill)
	return p, nil
}
