package node

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// The addresses of the node. They are private ones that hosts rarely use; a machine that
// does is told so by the route that cannot be added.
const (
	// Host is this machine as the node sees it: registry, API server, and what callers
	// serve to pods.
	Host = "10.89.0.2"
	// Address is the node.
	Address = "10.89.0.1"
	// Balancer is the address of the first Service of type LoadBalancer; others follow.
	Balancer = "10.89.0.10"
	// Network has Host, Address and all load balancers.
	Network = "10.89.0.0/24"
	// Elsewhere is another address of this machine, to which the node has no route.
	Elsewhere = "10.89.1.2"
	// ElsewhereRegistry is where nothing listens; the node would speak HTTP to it.
	ElsewhereRegistry = Elsewhere + ":5000"

	podNetwork = "10.244.0.0/24"
)

// namespace is the node's, link its end on this machine, uplink the other end.
const (
	namespace = "axle-node"
	link      = "axle-node"
	uplink    = "uplink"
)

// enter is the command that runs another one in the node's network. ip netns exec would
// mount /sys anew, and the node would lose its cgroups.
var enter = []string{"nsenter", "--net=/run/netns/" + namespace}

// network makes the namespace and one pair of links, without a default route. Pods speak
// with the host under the node's address, so that the host needs no route to them.
func network(ctx context.Context) error {
	return runAll(ctx,
		"ip netns add "+namespace,
		"ip link add "+link+" type veth peer name "+uplink+" netns "+namespace,
		"ip address add "+Host+"/24 dev "+link,
		"ip address add "+Elsewhere+"/32 dev "+link,
		"ip link set "+link+" up",
		"ip -n "+namespace+" link set lo up",
		"ip -n "+namespace+" address add "+Address+"/24 dev "+uplink,
		"ip -n "+namespace+" link set "+uplink+" up",
		strings.Join(enter, " ")+" sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'",
		strings.Join(enter, " ")+` nft -f - <<'RULES'
table ip axle_node {
  chain out {
    type nat hook postrouting priority srcnat; policy accept;
    oifname "`+uplink+`" ip saddr `+podNetwork+` masquerade
  }
}
RULES`)
}

// addAddress gives the node one more address.
func addAddress(ctx context.Context, address string) error {
	return runAll(ctx, "ip -n "+namespace+" address replace "+address+"/32 dev "+uplink)
}

// runAll runs commands of a shell until one fails.
func runAll(ctx context.Context, commands ...string) error {
	for _, command := range commands {
		out, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput()
		if err != nil {
			line, _, _ := strings.Cut(command, "\n")
			return fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
