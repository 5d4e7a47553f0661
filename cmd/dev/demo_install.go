package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/world"
)

// thisMachine are the values for pods that are processes of this machine: their images,
// ports that are free because all pods share one network, and a Git server on loopback
// without TLS.
const thisMachine = `url: %s
global: {registry: axle.test}
hub:
  image: {repository: axle-hub, tag: dev}
  port: %d
  metricsPort: %d
  upstreamNetworks: [127.0.0.0/8]
  httpUpstreams: true
  args: [--repo-poll-interval=1m]
operator:
  image: {repository: axle-operator, tag: dev}
  adminNamespaces: [platform]
  healthPort: %d
  metricsPort: %d
agent:
  image: {repository: axle-agent, tag: dev}
tls: {mode: devCA}
`

// install puts the hub and the operator into the management cluster, logs in, and
// connects that cluster, all as a user does it.
func (d *demo) install(ctx context.Context) error {
	d.chapter("Install the hub and the operator into the management cluster")
	ports := make([]any, 4)
	for i := range ports {
		free, err := port.Free()
		if err != nil {
			return err
		}
		ports[i] = free
	}
	address := fmt.Sprintf("https://127.0.0.1:%d", ports[0])
	values := filepath.Join(d.world.Dir, "values.yaml")
	if err := os.WriteFile(values, fmt.Appendf(nil, thisMachine, append([]any{address}, ports...)...), 0o600); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "create", "namespace", "platform"); err != nil {
		return err
	}
	out, err := d.axle(ctx, "install", "--kubeconfig", d.world.Cluster(management).Kubeconfig(), "--values", values, "--email", "you@example.test", "--name", "demo")
	if err != nil {
		return err
	}
	fmt.Print(indent(out))
	authority, err := d.world.Kubectl(ctx, management, "--namespace", "axle", "get", "configmap", "axle-ca", "-o", `jsonpath={.data.ca\.pem}`)
	if err != nil {
		return err
	}
	file := filepath.Join(d.world.Dir, "ca.pem")
	if err := os.WriteFile(file, []byte(strings.TrimSpace(authority.Out)+"\n"), 0o600); err != nil {
		return err
	}
	d.world.Hub = world.HubAt(address, file)
	d.say("the hub is on SQLite; it polls Git every minute and agents poll it every 30 s here (2 min each by default); what happens sooner came by a hint")
	return nil
}
