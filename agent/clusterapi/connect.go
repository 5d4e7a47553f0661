package clusterapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/aliases"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/internal/kubeobj"
)

const (
	// agentNamespace, agentName and identitySecret are where the agent's objects are that
	// the hub sends.
	agentNamespace = "axle-system"
	agentName      = "axle-agent"
	identitySecret = "axle-agent-identity"
	// kubeconfigSuffix follows the name of a cluster in the name of Cluster API's Secret.
	kubeconfigSuffix = "-kubeconfig"
	// manager is that of axle clusters connect, so that either may repeat the other's work.
	manager = "axle-cli"
	// requestLimit bounds one request to a new cluster.
	requestLimit = 15 * time.Second
	// maxAnswer bounds one answer of a cluster, in bytes: its OpenAPI has some 5 MB.
	maxAnswer = 32 << 20
	// patience is how long an agent may take to register. It is a little more than its
	// token lives.
	patience = time.Hour + 5*time.Minute
)

// connect returns whether a cluster is connected, and what it waits for if not.
func (c *Clusters) connect(ctx context.Context, one *child) (connected bool, why string, err error) {
	state, why, err := c.join(ctx, place{one.namespace, one.name}, &one.inquiry, func(ctx context.Context) (*agentv1.Child, error) {
		return c.config.Hub.EnrollChild(ctx, &agentv1.EnrollChildRequest{BootId: c.config.BootID, ServiceId: one.service})
	})
	if errcode.Is(err, errcode.Conflict) {
		one.inquiry = asking{c.config.Clock.Now(), err.Error()}
		return false, one.inquiry.refused, nil
	}
	return state.clusterID != "", why, err
}

// join installs an agent in a cluster that has none, with what the hub answers. It returns
// what the cluster has of an agent, and what it waits for unless that is connected.
func (c *Clusters) join(ctx context.Context, of place, asked *asking, ask func(context.Context) (*agentv1.Child, error)) (state installation, why string, err error) {
	conf, why, err := c.reach(ctx, of)
	if err != nil || why != "" {
		return state, why, err
	}
	client, err := kubernetes.NewForConfig(conf)
	if err != nil {
		return state, "", errcode.New(errcode.Unprocessable, "its kubeconfig cannot be used")
	}
	state, err = installed(ctx, client)
	switch {
	case err != nil || state.clusterID != "":
		return state, "", err
	case asked.refused != "" && !state.since.After(asked.at) && c.config.Clock.Now().Sub(asked.at) < patience:
		return state, asked.refused, nil
	case !state.since.IsZero() && c.config.Clock.Now().Sub(later(state.since, asked.at)) < patience:
		return state, "its agent is installed and has not registered yet", nil
	}
	asked.refused = ""
	got, err := ask(ctx)
	if err != nil {
		return state, "", err
	}
	if err := install(ctx, conf, got.GetManifests()); err != nil {
		return state, "", err
	}
	asked.at = c.config.Clock.Now()
	return state, "its agent was installed and has not registered yet", nil
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// reach returns how to reach a cluster, or what it waits for.
func (c *Clusters) reach(ctx context.Context, of place) (*rest.Config, string, error) {
	text, why, err := c.kubeconfig(ctx, of)
	if err != nil || why != "" {
		return nil, why, err
	}
	conf, err := restConfig(text)
	if err != nil {
		return nil, "", errcode.New(errcode.Unprocessable, "Secret %s/%s: %w", of.namespace, of.name+kubeconfigSuffix, err)
	}
	return conf, "", nil
}

// kubeconfig returns that of a cluster, or what it waits for.
func (c *Clusters) kubeconfig(ctx context.Context, of place) (text []byte, why string, err error) {
	name := of.name + kubeconfigSuffix
	secret, err := c.config.Client.CoreV1().Secrets(of.namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, "its control plane has no kubeconfig yet", nil
	}
	if err != nil {
		return nil, "", errcode.New(errcode.Unavailable, "read Secret %s/%s: %w", of.namespace, name, err)
	}
	if secret.Type != kubeobj.ClusterSecret {
		return nil, "", errcode.New(errcode.Unprocessable, "Secret %s/%s has the type %s, and not %s of Cluster API", of.namespace, name, secret.Type, kubeobj.ClusterSecret)
	}
	return secret.Data["value"], "", nil
}

// restConfig reads a kubeconfig. It may not run programs or name files: those would be the
// agent's.
func restConfig(text []byte) (*rest.Config, error) {
	if aliases.Check(text) != nil {
		return nil, errNone
	}
	raw, err := clientcmd.Load(text)
	if err != nil {
		return nil, errNone // the error may quote it
	}
	for _, cluster := range raw.Clusters {
		if cluster.CertificateAuthority != "" || cluster.InsecureSkipTLSVerify || cluster.ProxyURL != "" {
			return nil, errcode.New(errcode.Unprocessable, "its kubeconfig names a file or a proxy, or does not verify the control plane")
		}
	}
	for _, user := range raw.AuthInfos {
		if user.Exec != nil || user.AuthProvider != nil || user.ClientCertificate != "" || user.ClientKey != "" || user.TokenFile != "" {
			return nil, errcode.New(errcode.Unprocessable, "its kubeconfig runs a program or names a file; an agent uses only credentials that are in it")
		}
	}
	conf, err := clientcmd.NewDefaultClientConfig(*raw, nil).ClientConfig()
	if err != nil {
		return nil, errcode.New(errcode.Unprocessable, "its kubeconfig is not complete")
	}
	conf.Timeout, conf.UserAgent = requestLimit, agentName
	conf.Wrap(func(next http.RoundTripper) http.RoundTripper { return boundedAnswers{next} })
	return conf, nil
}

// boundedAnswers bounds the answers of a cluster, which may be anybody's.
type boundedAnswers struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b boundedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}

var errNone = errcode.New(errcode.Unprocessable, "it holds no kubeconfig")

// installation is what a new cluster has of an agent.
type installation struct {
	// clusterID is that of the agent's identity at a hub, empty without one.
	clusterID string
	// since is when the agent's Deployment was created, the zero time without one.
	since time.Time
}

func installed(ctx context.Context, client kubernetes.Interface) (at installation, err error) {
	unanswered := func(err error) error {
		return errcode.New(errcode.Unavailable, "its control plane does not answer: %w", err)
	}
	secret, err := client.CoreV1().Secrets(agentNamespace).Get(ctx, identitySecret, metav1.GetOptions{})
	if err != nil && !absent(err) {
		return at, unanswered(err)
	}
	if err == nil {
		at.clusterID = identified(secret)
	}
	deployment, err := client.AppsV1().Deployments(agentNamespace).Get(ctx, agentName, metav1.GetOptions{})
	if err != nil && !absent(err) {
		return at, unanswered(err)
	}
	if err == nil {
		at.since = deployment.CreationTimestamp.Time
	}
	return at, nil
}

// absent reports whether an API server said that an object does not exist. A load balancer in
// front of one that is away also answers 404, and knows nothing of objects.
func absent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
}

// identified returns the id in an agent's Secret, once it has an identity of a hub: the keys
// are in it before.
func identified(secret *corev1.Secret) string {
	var identity struct {
		ClusterID string `json:"clusterID"`
	}
	if json.Unmarshal(secret.Data["identity.json"], &identity) != nil {
		return ""
	}
	return identity.ClusterID
}

// install applies the agent's objects, the Deployment last: where it is, all others are.
func install(ctx context.Context, conf *rest.Config, manifests string) error {
	objects, err := kubeapply.Documents([]byte(manifests))
	if err != nil {
		return err
	}
	applier, err := kubeapply.New(conf)
	if err != nil {
		return err
	}
	for _, last := range []bool{false, true} {
		for _, o := range objects {
			if deploys(o) != last {
				continue
			}
			if err := applier.Apply(ctx, o, manager); err != nil {
				return err
			}
		}
	}
	return nil
}

func deploys(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" }
