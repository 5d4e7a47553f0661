package clusters

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/sdk"
)

type connection struct {
	request     hubv1.CreateClusterRequest
	agent       hubv1.AgentManifestsRequest
	kubeconfig  string
	kubeContext string
	print       bool
	anyImage    bool
	wait        time.Duration
}

func connectCommand(a *command.App) *cobra.Command {
	var conn connection
	c := &cobra.Command{
		Use:   "connect NAME",
		Short: "Register a cluster and install the agent in it",
		Long: `Register a cluster with the hub and apply the agent's manifests to it: a
namespace, a service account with its rights, a Secret with the bootstrap token
and a Deployment. The hub never connects to the cluster; the agent dials out to
the hub. The command waits for the agent's first poll.

Objects of an earlier registration of the same cluster (axle clusters delete
--detach) have no owner. Services with adopt: true take them over.

With --print, the manifests go to standard output, for kubectl or Git. They hold
the bootstrap token, which is valid for one use within an hour.`,
		Example: `  axle clusters connect edge-1 --kubeconfig ~/.kube/edge-1 --tag tier=edge
  axle clusters connect edge-1 --print | kubectl --context edge-1 apply -f -`,
		Args: command.Exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			conn.request.Name = args[0]
			return register(c.Context(), a, &conn)
		},
	}
	flags := c.Flags()
	clusterFlags(c, &conn.request)
	flags.StringVar(&conn.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: $KUBECONFIG or ~/.kube/config)")
	flags.StringVar(&conn.kubeContext, "kube-context", "", "context in the kubeconfig")
	flags.StringVar(&conn.agent.Image, "image", "", "image of the agent (default: the one of the hub's version, in the hub's registry)")
	flags.BoolVar(&conn.anyImage, "skip-image-check", false, "do not ask the registry whether the image exists")
	flags.StringVar(&conn.agent.Namespace, "agent-namespace", "axle-system", "namespace of the agent")
	flags.StringVar(&conn.agent.HubUrl, "agent-hub-url", "", "URL that the agent dials (default: the hub's external URL)")
	flags.StringVar(&conn.agent.PollInterval, "poll-interval", "", "how often the agent polls (default: 2m)")
	flags.StringArrayVar(&conn.agent.Args, "agent-arg", nil, "one more argument of axle-agent run; may be repeated")
	flags.BoolVar(&conn.agent.LeastPrivilege, "least-privilege", false, "grant the agent only what it needs itself; grant the rights for services separately")
	flags.BoolVar(&conn.agent.WithoutAdmins, "without-admins", false, "do not bind the hub's administrators (group axle:admins) to cluster-admin in the cluster")
	flags.BoolVar(&conn.agent.WithoutAccess, "without-access", false, "do not let people see or edit what is in the cluster because the hub lets them read or write it")
	flags.BoolVar(&conn.agent.WithoutPeople, "without-people", false, "do not allow access to the cluster's API through the hub")
	flags.BoolVar(&conn.print, "print", false, "print the manifests instead of applying them")
	flags.DurationVar(&conn.wait, "timeout", 3*time.Minute, "how long to wait for the agent's first poll; 0 does not wait")
	return c
}

func register(ctx context.Context, a *command.App, conn *connection) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	// What the hub refuses, and an image that nobody has, must leave nothing behind.
	planned, err := client.Clusters.AgentManifests(ctx, connect.NewRequest(&conn.agent))
	if err != nil {
		return err
	}
	if !conn.anyImage {
		if err := reachable(ctx, planned.Msg.GetImage()); err != nil {
			if !conn.print {
				return err
			}
			fmt.Fprintf(a.Err, "Warning: %s\n", err)
		}
	}
	var objects *kubeapply.Applier
	if !conn.print {
		// This comes before the token is made: a wrong kubeconfig must leave
		// nothing behind.
		if objects, err = applierFor(conn.kubeconfig, conn.kubeContext); err != nil {
			return err
		}
		if err := keepsOthers(ctx, objects, planned.Msg.GetManifests()); err != nil {
			return err
		}
	}
	conn.request.RenewToken = true
	made, err := client.Clusters.Create(ctx, connect.NewRequest(&conn.request))
	if err != nil {
		return err
	}
	conn.agent.BootstrapToken = made.Msg.GetBootstrapToken()
	rendered, err := client.Clusters.AgentManifests(ctx, connect.NewRequest(&conn.agent))
	if err != nil {
		return err
	}
	manifests := rendered.Msg.GetManifests()
	if conn.print {
		_, err = io.WriteString(a.Out, manifests)
		return err
	}
	if err := objects.ApplyAll(ctx, []byte(manifests), "axle-cli", func(name string) { fmt.Fprintf(a.Err, "%s applied\n", name) }); err != nil {
		return err
	}
	command.NoteAccount(ctx, a, client, made.Msg.GetCluster().GetProject())
	return awaitAgent(ctx, a, client, conn)
}

// keepsOthers returns Conflict where the manifests would replace the agent of another hub.
func keepsOthers(ctx context.Context, objects *kubeapply.Applier, manifests string) error {
	planned, err := kubeapply.Documents([]byte(manifests))
	if err != nil {
		return err
	}
	for _, o := range planned {
		if o.GetKind() != "Deployment" {
			continue
		}
		have, err := objects.Client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return errcode.New(errcode.Unavailable, "look whether the cluster has an agent: %w", err)
		}
		if theirs := hubOf(have); theirs != "" && theirs != hubOf(o) {
			return errcode.New(errcode.Conflict, "Deployment %[1]s of namespace %[2]s is the agent of the hub at %.200[3]q, which would lose the cluster: give --agent-namespace another name to run both agents side by side, or, if this hub is to have the cluster instead, first run kubectl -n %[2]s delete deployment/%[1]s secret/axle-agent-identity", o.GetName(), o.GetNamespace(), theirs)
		}
	}
	return nil
}

// hubOf is the hub's URL in the arguments of an agent's Deployment, empty for none.
func hubOf(o *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		fields, _ := c.(map[string]any)
		args, _, _ := unstructured.NestedStringSlice(fields, "args")
		for _, arg := range args {
			if url, found := strings.CutPrefix(arg, "--hub-url="); found {
				return url
			}
		}
	}
	return ""
}

// awaitAgent waits until the agent has polled.
func awaitAgent(ctx context.Context, a *command.App, client *sdk.Client, conn *connection) error {
	if conn.wait == 0 {
		return nil
	}
	p := a.Begin("waiting for the agent of %s to register", conn.request.GetName())
	defer p.End()
	var last *hubv1.Cluster
	ok, err := a.PollUntil(ctx, conn.wait, func(ctx context.Context) (bool, error) {
		cluster, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: conn.request.GetName()}))
		if err != nil {
			return false, err
		}
		last = cluster.Msg
		if last.GetRegistered() {
			p.Say("the agent of %s registered; waiting for its first poll", conn.request.GetName())
		}
		return last.GetPolledAt() > 0 || last.GetPending(), nil
	})
	if err != nil {
		return err
	}
	if !ok {
		return errcode.New(errcode.Unavailable, "the agent of %s has not polled within %s; look at it with: kubectl -n %s logs deploy/axle-agent", conn.request.GetName(), conn.wait, conn.agent.GetNamespace())
	}
	if last.GetPending() {
		fmt.Fprintf(a.Err, "cluster %s waits for approval: axle clusters approve %s\n", last.GetName(), last.GetName())
		return nil
	}
	_, err = fmt.Fprintf(a.Err, "cluster %s is connected; to take over objects that already exist there, such as those of an earlier registration, create services with adopt: true\n", last.GetName())
	return err
}

// applierFor reaches the cluster of a kubeconfig.
func applierFor(kubeconfig, kubeContext string) (*kubeapply.Applier, error) {
	config, err := command.Kubeconfig(kubeconfig, kubeContext)
	if err != nil {
		return nil, err
	}
	return kubeapply.New(config)
}

// reachable asks the image's registry for the manifest, without logging in. A
// registry that requires a login counts as reachable, because no more can be
// known from here. Names under .test belong to the test bed and are not
// checked.
func reachable(ctx context.Context, image string) error {
	registry, rest, ok := strings.Cut(image, "/")
	if !ok || !strings.ContainsAny(registry, ".:") {
		registry, rest = "registry-1.docker.io", image
	}
	if strings.HasSuffix(strings.Split(registry, ":")[0], ".test") {
		return nil
	}
	name, tag, ok := strings.Cut(rest, ":")
	if before, digest, isDigest := strings.Cut(rest, "@"); isDigest {
		name, tag, ok = before, digest, true
	}
	if !ok {
		tag = "latest"
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+registry+"/v2/"+name+"/manifests/"+tag, nil)
	if err != nil {
		return errcode.New(errcode.Invalid, "image %q is not a valid image reference", image)
	}
	request.Header.Set("Accept", "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.list.v2+json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return errcode.New(errcode.Unavailable, "the agent's image %s cannot be reached from here: %w; pass --image with a registry that the cluster can reach, or --skip-image-check if only the cluster can reach it", image, err)
	}
	_ = response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return errcode.New(errcode.NotFound, "the registry has no image %s; pass --image", image)
	}
	return nil
}
