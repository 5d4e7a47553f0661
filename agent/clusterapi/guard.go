package clusterapi

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
