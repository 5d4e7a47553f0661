package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/test/node"
	"github.com/axle-cd/axle/test/node/story"
)

// realNode is one run of the node command.
type realNode struct {
	dir      string
	versions []string
	progress
}

func nodeCommand() *cobra.Command {
	var r realNode
	c := &cobra.Command{
		Use:   "node",
		Short: "Run a real node with the images of this checkout",
		Long: `Make releases of this checkout, start one real Kubernetes node on this machine with an
API server and a registry, and push the releases there. Then say what to type. The node
reaches no other address. Ctrl-C ends it and removes all of it, except the releases.

It needs root, and a kernel that permits network namespaces; what is missing is named.`,
		Example: `  dev node
  dev node --versions 1.0.0,1.1.0      # a second one, to upgrade to
  dev node --versions ''               # the node alone`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r.started = time.Now()
			return r.run(c.Context())
		},
	}
	f := c.Flags()
	f.StringVar(&r.dir, "dir", filepath.Join("bin", "node"), "folder for the releases")
	flagvalue.List(f, &r.versions, "versions", "versions of the releases, all of this checkout", "1.0.0")
	return c
}

func (r *realNode) run(ctx context.Context) (err error) {
	if lacks := node.Missing(); len(lacks) > 0 { // before the releases, which take minutes
		return fmt.Errorf("this machine cannot run a node:\n%w", errors.Join(lacks...))
	}
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return err
	}
	releases, err := story.Make(ctx, r.dir, r.say, r.versions...)
	if err != nil {
		return err
	}
	n, err := node.Start(ctx, node.Config{Progress: r.say})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	for _, release := range releases {
		r.say("pushing release %s to %s", release.Version, node.Registry)
		push := exec.CommandContext(ctx, release.Client, "bundle", "push", release.Dir, node.Registry, "--plain-http", "--quiet")
		push.Stderr = os.Stderr
		if err := push.Run(); err != nil {
			return fmt.Errorf("axle bundle push: %w", err)
		}
	}
	r.next(n, releases)
	<-ctx.Done()
	r.say("ending the node")
	return nil
}

// next prints what to type.
func (r *realNode) next(n *node.Node, releases []story.Release) {
	fmt.Printf("\nThe node runs. Type in another terminal:\n\n  export KUBECONFIG=%s\n  kubectl get nodes,pods -A\n", n.Cluster.Kubeconfig())
	for i, release := range releases {
		if i == 0 {
			fmt.Printf("  %s install --registry %s --url https://%s --dev-ca --set service.type=LoadBalancer --set 'hub.upstreamNetworks={%s}' --email you@example.com\n",
				release.Client, node.Registry, node.Balancer, node.Network)
			continue
		}
		fmt.Printf("  %s upgrade\n", release.Client)
	}
	fmt.Printf("\nPods pull from %s alone; the image %s is there, too. This machine is %s for them. Logs are in %s.\nCtrl-C ends the node.\n", node.Registry, node.Guest, node.Host, filepath.Join(n.Dir(), "programs"))
}
