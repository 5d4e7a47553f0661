package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube/kubelet"
)

// programs are the files that the process kubelet runs, by image name.
type programs struct {
	mu    sync.Mutex
	files map[string]string
}

func (p *programs) set(files map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files == nil {
		p.files = map[string]string{}
	}
	maps.Copy(p.files, files)
}

func (p *programs) find(name, version string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if file, ok := p.files[name+":"+version]; ok {
		return file, true
	}
	file, ok := p.files[name]
	return file, ok
}

func (p *programs) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := map[string]bool{}
	for key := range p.files {
		name, _, _ := strings.Cut(key, ":")
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// SetBinary gives the process kubelet another program: name is "<name>" or
// "<name>:<version>" as in ClusterConfig.Binaries. Running containers keep theirs;
// the next start uses the new file.
func (c *Cluster) SetBinary(name, path string) { c.binaries.set(map[string]string{name: path}) }

// startKubelet starts the process kubelet and waits for its node.
func (c *Cluster) startKubelet(ctx context.Context, client kubernetes.Interface) error {
	own, err := c.ConfigFor(kubeletUser, masters)
	if err != nil {
		return err
	}
	ownClient, err := kubernetes.NewForConfig(own)
	if err != nil {
		return err
	}
	serving, err := c.ca.serving(ProcessNode, loopback)
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(serving.cert, serving.key)
	if err != nil {
		return err
	}
	trust := x509.NewCertPool()
	trust.AddCert(c.ca.cert)
	if err := os.MkdirAll(c.path("kubelet"), 0o755); err != nil {
		return err
	}
	k, err := kubelet.New(kubelet.Config{
		Client: ownClient, Node: ProcessNode, Dir: c.path("kubelet"), APIServer: strings.TrimPrefix(c.URL(), "https://"),
		Certificate: certificate, ClientCA: trust,
		Binary: c.binaries.find, Names: c.binaries.names, Start: child.Start,
		Plain: c.cfg.PlainProcesses, Images: c.cfg.Images,
		Log: c.bed.log.With("cluster", c.cfg.Name),
	})
	if err != nil {
		return err
	}
	c.background(func(ctx context.Context) {
		if err := k.Run(ctx); err != nil && ctx.Err() == nil {
			c.bed.log.Error("run the process kubelet", "cluster", c.cfg.Name, "err", err)
		}
	})
	return eventually.Wait(ctx, startLimit, func() error { return nodeReady(ctx, client, ProcessNode) })
}

// KubeletAddress is where the process kubelet listens, for a client with a certificate of
// the cluster's authority (ConfigFor). It serves what the containers use under /metrics/cadvisor.
func (c *Cluster) KubeletAddress(ctx context.Context) (string, error) {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return "", err
	}
	node, err := client.CoreV1().Nodes().Get(ctx, ProcessNode, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("find the process kubelet of cluster %s: %w", c.cfg.Name, err)
	}
	return net.JoinHostPort(loopback, strconv.Itoa(int(node.Status.DaemonEndpoints.KubeletEndpoint.Port))), nil
}
