package clusters

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/deploy"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// releaseImage is where releases are published; the tag is the version.
const releaseImage = "ghcr.io/axle-cd/axle-agent"

type connection struct {
	request      hubv1.CreateClusterRequest
	kubeconfig   string
	kubeContext  string
	image        string
	namespace    string
	hubURL       string
	pollInterval string
	args         []string
	least        bool
	noAdmins     bool
	noPeople     bool
	print        bool
	anyImage     bool
	wait         time.Duration
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
	flags.StringVar(&conn.image, "image", releaseImage+":"+buildinfo.Version, "image of the agent")
	flags.BoolVar(&conn.anyImage, "skip-image-check", false, "do not ask the registry whether the image exists")
	flags.StringVar(&conn.namespace, "agent-namespace", "axle-system", "namespace of the agent")
	flags.StringVar(&conn.hubURL, "agent-hub-url", "", "URL that the agent dials (default: the hub's external URL)")
	flags.StringVar(&conn.pollInterval, "poll-interval", "", "how often the agent polls (default: 2m)")
	flags.StringArrayVar(&conn.args, "agent-arg", nil, "one more argument of axle-agent run; may be repeated")
	flags.BoolVar(&conn.least, "least-privilege", false, "grant the agent only what it needs itself; grant the rights for services separately")
	flags.BoolVar(&conn.noAdmins, "without-admins", false, "do not bind the hub's administrators (group axle:admins) to cluster-admin in the cluster")
	flags.BoolVar(&conn.noPeople, "without-people", false, "do not allow access to the cluster's API through the hub")
	flags.BoolVar(&conn.print, "print", false, "print the manifests instead of applying them")
	flags.DurationVar(&conn.wait, "timeout", 3*time.Minute, "how long to wait for the agent's first poll; 0 does not wait")
	return c
}

func register(ctx context.Context, a *command.App, conn *connection) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	if !conn.anyImage {
		if err := reachable(ctx, conn.image); err != nil {
			if !conn.print {
				return err
			}
			fmt.Fprintf(a.Err, "Warning: %s\n", err)
		}
	}
	var objects *applier
	if !conn.print {
		// This comes before the token is made: a wrong kubeconfig must leave
		// nothing behind.
		if objects, err = newApplier(conn.kubeconfig, conn.kubeContext); err != nil {
			return err
		}
	}
	conn.request.RenewToken = true
	made, err := client.Clusters.Create(ctx, connect.NewRequest(&conn.request))
	if err != nil {
		return err
	}
	hubURL := cmp.Or(conn.hubURL, made.Msg.GetHubUrl())
	if hubURL == "" {
		t, err := a.Target()
		if err != nil {
			return err
		}
		hubURL = t.URL
	}
	manifests, err := deploy.Agent{
		Namespace: conn.namespace, Image: conn.image, HubURL: hubURL, BootstrapToken: made.Msg.GetBootstrapToken(),
		CAPEM: made.Msg.GetCaPem(), PollInterval: conn.pollInterval, Version: buildinfo.Version,
		Args: conn.args, LeastPrivilege: conn.least, WithoutAdmins: conn.noAdmins, WithoutPeople: conn.noPeople,
	}.Manifests()
	if err != nil {
		return err
	}
	if conn.print {
		_, err = a.Out.Write(manifests)
		return err
	}
	if err := objects.apply(ctx, manifests, func(name string) { fmt.Fprintf(a.Err, "%s applied\n", name) }); err != nil {
		return err
	}
	return awaitAgent(ctx, a, client, conn)
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
		return errcode.New(errcode.Unavailable, "the agent of %s has not polled within %s; look at it with: kubectl -n %s logs deploy/axle-agent", conn.request.GetName(), conn.wait, conn.namespace)
	}
	if last.GetPending() {
		fmt.Fprintf(a.Err, "cluster %s waits for approval: axle clusters approve %s\n", last.GetName(), last.GetName())
		return nil
	}
	_, err = fmt.Fprintf(a.Err, "cluster %s is connected; to take over objects that already exist there, such as those of an earlier registration, create services with adopt: true\n", last.GetName())
	return err
}

// applier writes objects to one cluster.
type applier struct {
	client dynamic.Interface
	mapper meta.RESTMapper
	host   string
}

func newApplier(kubeconfig, kubeContext string) (*applier, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: kubeContext}).ClientConfig()
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "cannot load a kubeconfig for the cluster: %w; pass --kubeconfig", err)
	}
	config.Timeout = 30 * time.Second
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "kubeconfig: %w", err)
	}
	apis, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "kubeconfig: %w", err)
	}
	if _, err := apis.ServerVersion(); err != nil {
		return nil, errcode.New(errcode.Unavailable, "the cluster at %s does not answer: %w", config.Host, err)
	}
	return &applier{client: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(apis)), host: config.Host}, nil
}

// apply writes each document by server-side apply, in order.
func (p *applier) apply(ctx context.Context, manifests []byte, wrote func(name string)) error {
	for document := range strings.SplitSeq(string(manifests), "\n---\n") {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return errcode.New(errcode.Internal, "the agent's manifests are not YAML: %w", err)
		}
		kind := object.GroupVersionKind()
		mapping, err := p.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return errcode.New(errcode.Unavailable, "the cluster at %s: %w", p.host, err)
		}
		var resource dynamic.ResourceInterface = p.client.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			resource = p.client.Resource(mapping.Resource).Namespace(object.GetNamespace())
		}
		if _, err := resource.Apply(ctx, object.GetName(), &object, metav1.ApplyOptions{FieldManager: "axle-cli", Force: true}); err != nil {
			return errcode.New(errcode.Unavailable, "apply %s %s: %w", kind.Kind, object.GetName(), err)
		}
		wrote(strings.ToLower(kind.Kind) + "/" + object.GetName())
	}
	return nil
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
