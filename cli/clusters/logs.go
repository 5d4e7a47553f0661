package clusters

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/podlogs"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
)

// logsWithin bounds reading logs that are not followed.
const logsWithin = 5 * time.Minute

// Logs shows the logs of a service's pods.
func Logs(a *command.App) *cobra.Command {
	var cluster string
	var o podlogs.Options
	c := &cobra.Command{
		Use: "logs CLUSTER/SERVICE", Short: "Show the logs of a service's pods, through the hub", Args: command.Exactly(1),
		Long: `Show the logs of all containers of a service's pods. They are read from the cluster
now, through the hub and the agent, with your name and your rights there. If there are
several logs, each line begins with its pod and its container.

With --follow, the command ends when all logs have ended, when it is interrupted, or
after an hour, when its credential for the cluster ends. It does not follow pods that
start later.`,
		Example: `  axle logs edge-1/web
  axle logs edge-1/web --follow --tail 20
  axle logs edge-1/web --container proxy --since 1h --timestamps`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.Tail < -1 || o.Since < 0 {
				return exitcode.Usagef("--tail is a number of lines, or -1 for all; --since is a duration such as 1h")
			}
			client, ref, err := a.Service(args[0], cluster)
			if err != nil {
				return err
			}
			ctx := c.Context()
			if !o.Follow {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, logsWithin)
				defer cancel()
			}
			tree, err := client.Services.GetTree(ctx, connect.NewRequest(&hubv1.GetServiceTreeRequest{Ref: ref}))
			if err != nil {
				return err
			}
			pods := podsOf(tree.Msg.GetObjects(), nil)
			if len(pods) == 0 {
				return errcode.New(errcode.NotFound, "service %s/%s has no pods that you may see; %s", ref.GetCluster(), ref.GetName(),
					cmp.Or(strings.Join(tree.Msg.GetNotes(), "; "), "axle services tree "+ref.GetCluster()+"/"+ref.GetName()+" shows its objects"))
			}
			err = readLogs(ctx, a, ref.GetCluster(), pods, o)
			if o.Follow && errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&cluster, "cluster", "", "cluster, if the argument is only SERVICE")
	f.StringVarP(&o.Container, "container", "c", "", "only this container, which may be an init container (default: all that are not)")
	f.BoolVarP(&o.Follow, "follow", "f", false, "keep printing what the containers write")
	f.Int64Var(&o.Tail, "tail", 100, "how many lines of each log, from its end; -1 for all")
	f.DurationVar(&o.Since, "since", 0, "only lines since a duration ago, such as 1h")
	f.BoolVar(&o.Previous, "previous", false, "the logs of the run before, of a container that restarted")
	f.BoolVar(&o.Timestamps, "timestamps", false, "begin each line with its time")
	return c
}

// podsOf finds the pods in a tree.
func podsOf(nodes []*hubv1.TreeNode, found []podlogs.Pod) []podlogs.Pod {
	for _, n := range nodes {
		if o := n.GetObject(); o.GetKind() == "Pod" && o.GetGroup() == "" {
			found = append(found, podlogs.Pod{Namespace: o.GetNamespace(), Name: o.GetName()})
		}
		found = podsOf(n.GetChildren(), found)
	}
	return found
}

// readLogs reads logs with a credential of its own for the cluster.
func readLogs(ctx context.Context, a *command.App, cluster string, pods []podlogs.Pod, o podlogs.Options) error {
	if err := tunnelReady(ctx, a, cluster); err != nil {
		return err
	}
	made, err := credential(ctx, a, cluster, 0)
	if err != nil {
		return err
	}
	t, err := a.Target()
	if err != nil {
		return err
	}
	config := &rest.Config{Host: made.GetServer(), BearerToken: made.GetToken(), UserAgent: "axle/" + buildinfo.Version, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(cmp.Or(made.GetCaPem(), t.CA))}}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return errcode.New(errcode.Invalid, "reach the API of cluster %s: %w", cluster, err)
	}
	reader := podlogs.Reader{HTTP: client, Server: made.GetServer(), Out: a.Out, Err: a.Err, Options: o}
	return reader.Read(ctx, pods)
}
