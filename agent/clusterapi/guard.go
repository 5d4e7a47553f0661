package clusterapi

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Maker returns the service that makes a cluster in a namespace, empty for none: what is in
// there makes its holder an administrator of that cluster, and is for that service only.
func (c *Clusters) Maker(namespace string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.makers[namespace]
}

// Credential reports whether a Secret is one of Cluster API's, whoever made the cluster. An
// agent that may not read Secrets has none to protect: Cluster API is not for its cluster.
func (c *Clusters) Credential(ctx context.Context, namespace, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	secret, err := c.config.Client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return false, nil
	case err != nil:
		return false, errcode.New(errcode.Unavailable, "the agent cannot read the type of Secret %s/%s: %w", namespace, name, err)
	}
	return secret.Type == kubeobj.ClusterSecret, nil
}

// Asker is the person for whom the hub asks for a credential, within the agent's policy.
type Asker interface {
	// Administrates reports whether it is an administrator of the hub.
	Administrates() bool
	// Allowed reports whether the policy lets the person read a path of the API server.
	Allowed(path string) bool
}

// Kubeconfig returns the credential of a cluster that a service makes, to an administrator.
func (c *Clusters) Kubeconfig(ctx context.Context, by Asker, service string) (*agentv1.CredentialAnswer, error) {
	if !by.Administrates() {
		return nil, errcode.New(errcode.Forbidden, "only an administrator of the hub gets the credential of a cluster, with a token of the scope admin")
	}
	c.mu.Lock()
	i := slices.IndexFunc(c.all, func(one *child) bool { return one.service == service })
	var at place
	if i >= 0 {
		at = place{c.all[i].namespace, c.all[i].name}
	}
	c.mu.Unlock()
	if i < 0 {
		return nil, errcode.New(errcode.NotFound, "service %.80q makes no cluster here", service)
	}
	if !by.Allowed("/api/v1/namespaces/" + at.namespace + "/secrets/" + at.name + kubeconfigSuffix) {
		return nil, errcode.New(errcode.Forbidden, "the agent of this cluster lets nobody read the credential of cluster %s through the hub (--proxy and the flags beside it)", at.name)
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	text, why, err := c.kubeconfig(ctx, at)
	if err == nil && why != "" {
		err = errcode.New(errcode.Unavailable, "cluster %s: %s", at.name, why)
	}
	if err != nil {
		return nil, err
	}
	if _, err := restConfig(text); err != nil {
		return nil, err // it would run or read something where it is used
	}
	return &agentv1.CredentialAnswer{Kubeconfig: text}, nil
}
