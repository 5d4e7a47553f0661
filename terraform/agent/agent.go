package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/terraform/shape"
)

const (
	// fieldManager is who applies the agent's objects.
	fieldManager = "axle-terraform"
	// agentLabel joins the bindings of an agent, so that one request deletes them.
	agentLabel = "axle-cd.github.io/agent"
	// agentWait is how long the first poll of a new agent may take.
	agentWait = "3m"
	// reachLimit bounds each request to a cluster.
	reachLimit = 30 * time.Second
	// polls is how old the last poll of an agent may be that runs.
	polls = 10 * time.Minute
	// leaving bounds the removal of an agent through its own tunnel.
	leaving = time.Minute
)

// settings are the attributes of agent that say what is installed.
var settings = shape.Of((&hubv1.AgentManifestsRequest{}).ProtoReflect().Descriptor(), object.Fields{
	"AgentManifestsRequest.bootstrap_token": {Skip: true},
	"AgentManifestsRequest.namespace":       {Default: "axle-system"},
	"AgentManifestsRequest.image":           {Text: "Image of the agent when it is installed; later the hub's upgrades own it. Empty is that of the hub's version in the hub's registry."},
	"AgentManifestsRequest.poll_interval":   {Text: "How often it polls. Empty is `2m`.", Format: object.Duration},
	"AgentManifestsRequest.least_privilege": {Default: false},
	"AgentManifestsRequest.without_admins":  {Default: false},
	"AgentManifestsRequest.without_people":  {Default: false},
})

// Attribute is agent of axle_cluster.
func Attribute() schema.Attribute {
	secret := func(says string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, WriteOnly: true, MarkdownDescription: says}
	}
	attributes := shape.Resource(settings)
	attributes["kubeconfig_wo"] = secret("A kubeconfig of the cluster, as text.")
	attributes["kubeconfig_context_wo"] = secret("The context in the kubeconfig; empty is the current one.")
	attributes["cluster_wo"] = schema.SingleNestedAttribute{
		Optional: true, WriteOnly: true, MarkdownDescription: "How to reach the cluster, in place of a kubeconfig.",
		Attributes: map[string]schema.Attribute{
			"host":                   secret("The API server, such as `https://10.0.0.1:6443`."),
			"cluster_ca_certificate": secret("The authority of its certificate, PEM."),
			"token":                  secret("A bearer token."),
			"client_certificate":     secret("A client certificate, PEM."),
			"client_key":             secret("Its key, PEM."),
			"exec": schema.SingleNestedAttribute{
				Optional: true, WriteOnly: true, MarkdownDescription: "A program that prints a credential, such as `aws eks get-token`.",
				Attributes: map[string]schema.Attribute{
					"api_version": secret("`client.authentication.k8s.io/v1` by default."),
					"command":     secret("The program."),
					"args":        schema.ListAttribute{ElementType: types.StringType, Optional: true, WriteOnly: true, MarkdownDescription: "Its arguments."},
					"env":         schema.MapAttribute{ElementType: types.StringType, Optional: true, WriteOnly: true, MarkdownDescription: "Its environment, beside that of the provider."},
				},
			},
		},
	}
	attributes["in_cluster"] = schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), MarkdownDescription: "Use the service account of the pod that Terraform runs in. The default is `false`."}
	attributes["wait"] = schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(agentWait), Validators: []validator.String{shape.Checked(waits)}, MarkdownDescription: "How long to wait for the agent's first poll; `0s` does not wait. The default is `" + agentWait + "`."}
	attributes["manifests"] = schema.StringAttribute{Computed: true, MarkdownDescription: "The digest of the objects that are installed, without the token. Another version of the hub may have other objects: a plan then shows it, and an apply installs them and leaves the image to the hub's upgrades."}
	return schema.SingleNestedAttribute{
		Optional: true, Attributes: attributes,
		MarkdownDescription: "Installs the agent: a namespace, its account with its rights, and a Deployment, by server-side apply. How to reach the cluster is in no state. So the objects are removed through the hub when the resource is destroyed, or in place with `in_cluster`; where the agent does not answer, what stays is named.",
	}
}

func waits(text string) error {
	if d, err := time.ParseDuration(text); err != nil || d < 0 {
		return errcode.New(errcode.Invalid, "%.80q is not a duration such as 3m", text)
	}
	return nil
}

// request is the request for an agent's objects.
func request(agent map[string]tftypes.Value) (*hubv1.AgentManifestsRequest, error) {
	wanted := &hubv1.AgentManifestsRequest{}
	return wanted, shape.Fill(wanted.ProtoReflect(), settings, shape.Values{Plan: agent})
}

// Agents installs agents for one hub. It keeps what the hub rendered in this run:
// clusters with the same settings have the same objects.
type Agents struct {
	Client *sdk.Client
	By     *hubv1.Manager

	mu   sync.Mutex
	seen map[string]string
}

// Digest is that of an agent's objects without a token.
func (a *Agents) Digest(ctx context.Context, agent map[string]tftypes.Value) (string, error) {
	wanted, err := request(agent)
	if err != nil {
		return "", err
	}
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(wanted)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if digest, ok := a.seen[string(key)]; ok {
		return digest, nil
	}
	answer, err := a.Client.Clusters.AgentManifests(ctx, connect.NewRequest(wanted))
	if err != nil {
		return "", sdk.Error(err, a.Client.URL)
	}
	sum := sha256.Sum256([]byte(answer.Msg.GetManifests()))
	if a.seen == nil {
		a.seen = map[string]string{}
	}
	a.seen[string(key)] = hex.EncodeToString(sum[:])
	return a.seen[string(key)], nil
}

// restConfig is how to reach a cluster, from the configuration of agent.
func restConfig(config map[string]tftypes.Value) (*rest.Config, error) {
	text := func(of map[string]tftypes.Value, name string) string { return shape.TextOf(of[name]) }
	if kubeconfig := text(config, "kubeconfig_wo"); kubeconfig != "" {
		parsed, err := clientcmd.Load([]byte(kubeconfig))
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "agent.kubeconfig_wo is no kubeconfig")
		}
		made, err := clientcmd.NewNonInteractiveClientConfig(*parsed, text(config, "kubeconfig_context_wo"), &clientcmd.ConfigOverrides{}, nil).ClientConfig()
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "agent.kubeconfig_wo: %w", err)
		}
		return made, nil
	}
	c := shape.Fields(config["cluster_wo"])
	if c == nil {
		var in bool
		if shape.IsSet(config["in_cluster"]) && config["in_cluster"].As(&in) == nil && in {
			made, err := rest.InClusterConfig()
			if err != nil {
				return nil, errcode.New(errcode.Invalid, "agent.in_cluster: %w", err)
			}
			return made, nil
		}
		return nil, errcode.New(errcode.Invalid, "agent has no way to reach the cluster: set kubeconfig_wo, cluster_wo or in_cluster")
	}
	made := &rest.Config{Host: text(c, "host"), BearerToken: text(c, "token"), TLSClientConfig: rest.TLSClientConfig{
		CAData: []byte(text(c, "cluster_ca_certificate")), CertData: []byte(text(c, "client_certificate")), KeyData: []byte(text(c, "client_key")),
	}}
	if made.Host == "" {
		return nil, errcode.New(errcode.Invalid, "agent.cluster_wo.host is missing")
	}
	if exec := shape.Fields(c["exec"]); exec != nil {
		made.ExecProvider = &clientcmdapi.ExecConfig{Command: text(exec, "command"), APIVersion: text(exec, "api_version"), InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
		if made.ExecProvider.APIVersion == "" {
			made.ExecProvider.APIVersion = "client.authentication.k8s.io/v1"
		}
		var args []tftypes.Value
		if shape.IsSet(exec["args"]) {
			if err := exec["args"].As(&args); err != nil {
				return nil, err
			}
		}
		for _, a := range args {
			made.ExecProvider.Args = append(made.ExecProvider.Args, shape.TextOf(a))
		}
		for name, v := range shape.Fields(exec["env"]) {
			made.ExecProvider.Env = append(made.ExecProvider.Env, clientcmdapi.ExecEnvVar{Name: name, Value: shape.TextOf(v)})
		}
	}
	return made, nil
}

// Reach returns the cluster of a configuration after it has answered. It comes before
// anything is written: a wrong kubeconfig must leave nothing behind.
func Reach(ctx context.Context, config map[string]tftypes.Value) (*kubeapply.Applier, error) {
	made, err := restConfig(config)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		made.Timeout = min(reachLimit, time.Until(deadline))
	}
	return kubeapply.New(made)
}

// Install applies the agent's objects and waits for its first poll. token is that of a
// new cluster; empty asks for one, if no agent has registered.
func (a *Agents) Install(ctx context.Context, to *kubeapply.Applier, name string, agent map[string]tftypes.Value, token string) error {
	wanted, err := request(agent)
	if err != nil {
		return err
	}
	have, err := a.Client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: name}))
	if err != nil {
		return sdk.Error(err, a.Client.URL)
	}
	if token == "" && !have.Msg.GetRegistered() {
		renewed, err := a.Client.Clusters.Create(ctx, connect.NewRequest(&hubv1.CreateClusterRequest{Name: name, RenewToken: true, Management: &hubv1.Management{By: a.By}}))
		if err != nil {
			return sdk.Error(err, a.Client.URL)
		}
		token = renewed.Msg.GetBootstrapToken()
	}
	wanted.BootstrapToken = token
	if wanted.GetImage() == "" {
		// The hub's upgrades own the image of an agent that runs.
		wanted.Image = runningImage(ctx, to, wanted.GetNamespace())
	}
	answer, err := a.Client.Clusters.AgentManifests(ctx, connect.NewRequest(wanted))
	if err != nil {
		return sdk.Error(err, a.Client.URL)
	}
	objects, err := kubeapply.Documents([]byte(answer.Msg.GetManifests()))
	if err != nil {
		return err
	}
	binding := ""
	for _, object := range objects {
		switch object.GetKind() {
		case "Secret":
			if token == "" {
				continue // the agent has its identity
			}
		case "ClusterRoleBinding":
			if binding == "" {
				binding = object.GetName()
			}
			object.SetLabels(map[string]string{agentLabel: binding})
		}
		if err := to.Apply(ctx, object, fieldManager); err != nil {
			return err
		}
	}
	limit, _ := time.ParseDuration(shape.TextOf(agent["wait"]))
	if limit == 0 {
		return nil
	}
	return a.firstPoll(ctx, name, wanted.GetNamespace(), limit)
}

// runningImage is the image of the agent in a cluster, empty for none.
func runningImage(ctx context.Context, to *kubeapply.Applier, namespace string) string {
	wanted := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
	wanted.SetNamespace(namespace)
	resource, err := to.Resource(wanted)
	if err != nil {
		return ""
	}
	have, err := resource.Get(ctx, "axle-agent", metav1.GetOptions{})
	if err != nil {
		return ""
	}
	containers, _, _ := unstructured.NestedSlice(have.Object, "spec", "template", "spec", "containers")
	for _, one := range containers {
		if c, ok := one.(map[string]any); ok {
			image, _ := c["image"].(string)
			return image
		}
	}
	return ""
}

// firstPoll waits until an agent has polled, or waits for approval.
func (a *Agents) firstPoll(ctx context.Context, name, namespace string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	backoff := jitter.Backoff{Min: 200 * time.Millisecond, Max: 3 * time.Second}
	for {
		have, err := a.Client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: name}))
		if err == nil && (have.Msg.GetPolledAt() > 0 || have.Msg.GetPending()) {
			return nil
		}
		if jitter.Wait(ctx, 200*time.Millisecond+backoff.Next()) != nil {
			return errcode.New(errcode.Unavailable, "the agent of %s has not polled within %s; look at it with: kubectl -n %s logs deploy/axle-agent", name, limit, namespace)
		}
	}
}

// Remove removes an agent's objects, with the pod's own account or through the hub, and
// returns a warning about what stays; empty is none.
func (a *Agents) Remove(ctx context.Context, name string, agent map[string]tftypes.Value) string {
	ctx, cancel := context.WithTimeout(ctx, leaving)
	defer cancel()
	left, err := a.remove(ctx, name, agent)
	if err == nil && len(left) == 0 {
		return ""
	}
	text := "Not removed: " + strings.Join(left, ", ")
	if err != nil {
		text = err.Error()
	}
	return fmt.Sprintf("%s\n\nUnless another agent is installed there now, remove it with:\n\n  kubectl delete namespace %s\n  kubectl delete clusterrolebinding -l %s", text, shape.TextOf(agent["namespace"]), agentLabel)
}

// remove deletes the namespace first, and the rights that the requests themselves
// need together, in one request at the end.
func (a *Agents) remove(ctx context.Context, name string, agent map[string]tftypes.Value) (left []string, err error) {
	var to *kubeapply.Applier
	config, err := restConfig(map[string]tftypes.Value{"in_cluster": agent["in_cluster"]})
	if err == nil {
		to, err = kubeapply.New(config)
	} else {
		to, err = a.through(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	wanted, err := request(agent)
	if err != nil {
		return nil, err
	}
	answer, err := a.Client.Clusters.AgentManifests(ctx, connect.NewRequest(wanted))
	if err != nil {
		return nil, sdk.Error(err, a.Client.URL)
	}
	objects, err := kubeapply.Documents([]byte(answer.Msg.GetManifests()))
	if err != nil {
		return nil, err
	}
	var last []*unstructured.Unstructured
	for _, object := range objects {
		switch object.GetKind() {
		case "CustomResourceDefinition":
			continue // others may have objects of these kinds
		case "ClusterRoleBinding":
			last = append(last, object)
			continue
		}
		if err := deleteOne(ctx, to, object); err != nil {
			left = append(left, kubeapply.Name(object))
		}
	}
	if len(last) == 0 {
		return left, nil
	}
	resource, err := to.Resource(last[0])
	if err != nil {
		return left, err
	}
	// The rights of these requests are in what they delete, so it is one request.
	err = resource.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: agentLabel + "=" + last[0].GetName()})
	if err == nil {
		return left, nil
	}
	for _, object := range last {
		if err := deleteOne(ctx, to, object); err != nil {
			left = append(left, kubeapply.Name(object))
		}
	}
	return left, nil
}

// through reaches a cluster by the tunnel of its own agent. That of an agent that polls
// may be about to connect; one that never polled has none.
func (a *Agents) through(ctx context.Context, name string) (*kubeapply.Applier, error) {
	have, err := a.Client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: name}))
	if err != nil {
		return nil, sdk.Error(err, a.Client.URL)
	}
	if have.Msg.GetPolledAt() == 0 {
		return nil, errcode.New(errcode.Unavailable, "no agent of cluster %s has reached the hub", name)
	}
	made, err := a.Client.ClusterAPI.CreateCredential(ctx, connect.NewRequest(&hubv1.CreateClusterCredentialRequest{Cluster: name}))
	if err != nil {
		return nil, sdk.Error(err, a.Client.URL)
	}
	config := &rest.Config{Host: made.Msg.GetServer(), BearerToken: made.Msg.GetToken(), TLSClientConfig: rest.TLSClientConfig{CAData: []byte(made.Msg.GetCaPem())}}
	backoff := jitter.Backoff{Min: 200 * time.Millisecond, Max: 3 * time.Second}
	for {
		to, err := kubeapply.New(config)
		if err == nil || time.Since(time.UnixMicro(have.Msg.GetPolledAt())) > polls || jitter.Wait(ctx, 200*time.Millisecond+backoff.Next()) != nil {
			return to, err
		}
	}
}

func deleteOne(ctx context.Context, to *kubeapply.Applier, object *unstructured.Unstructured) error {
	resource, err := to.Resource(object)
	if err != nil {
		return err
	}
	if err := resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// Known reports whether all that is installed is known.
func Known(agent map[string]tftypes.Value) bool {
	return !slices.ContainsFunc(settings, func(n *shape.Node) bool { return !agent[n.Name].IsKnown() })
}
