package clusterapi

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

// Child is what connects a cluster that was made from a template.
type Child struct {
	fleet.Cluster
	// Manifests are the agent's objects, with a bootstrap token for that cluster, which is
	// secret and ends at ExpiresAt.
	Manifests string
	ExpiresAt int64
}

// Enroll returns what connects the cluster that a service of a management cluster makes.
// Everything about the new cluster is from its row, nothing from the caller. It may be
// repeated until an agent has registered: an answer may have been lost, and each one ends the
// token of the one before. NotFound for a service that makes no cluster there, Conflict for a
// cluster that is connected or is being destroyed; the cluster is returned with it.
func (s *Clusters) Enroll(ctx context.Context, managementID, serviceID string) (c Child, err error) {
	token := ""
	err = s.config.Write(ctx, func(ctx context.Context) (err error) {
		if c.Cluster, err = s.config.Fleet.Child(ctx, managementID, serviceID); err != nil {
			return err
		}
		switch {
		case c.Origin.Destroying:
			return errcode.New(errcode.Conflict, "cluster %s is being destroyed", c.Name)
		case c.Registered():
			return errcode.New(errcode.Conflict, "cluster %s is connected already, and only once by its management cluster; axle clusters create %s --renew-token makes a token for an agent that lost its identity", c.Name, c.Name)
		}
		token, c.ExpiresAt, err = s.config.Token(ctx, c.Cluster)
		return err
	})
	if err != nil {
		return c, err
	}
	c.Manifests, err = s.config.Manifests(token)
	return c, err
}

// Manifests returns the agent's objects with a token.
func (s *Clusters) Manifests(token string) (string, error) { return s.config.Manifests(token) }
