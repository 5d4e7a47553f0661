// Package credentialapi answers Clusters.AdminKubeconfig: it asks the agent of a management
// cluster for the credential of a cluster that a service of the hub makes there.
//
// It stores nothing and reads no Secret itself: agent/clusterapi does, and answers only an
// administrator whom the agent's policy lets read that Secret. hub/console calls it, after it
// found that the caller is an administrator; the call is recorded there, without its answer.
//
// Invariants: the agent is asked by the id of the service that the hub itself wrote, so no
// caller chooses a namespace or a Secret. No error has a part of an answer.
package credentialapi

import (
	"context"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/liveapi"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// path names the question in records; no API server serves it.
	path = "/axle/credential"
	// maxAnswer bounds the agent's answer: a Secret has at most 1 MiB.
	maxAnswer = 2 << 20
)

// Credentials answers the call. All fields are required.
type Credentials struct {
	// Live reaches the clusters.
	Live *liveapi.API
	// Fleet knows which service of which management cluster makes a cluster.
	Fleet interface {
		ClusterNamed(ctx context.Context, name string) (fleet.Cluster, error)
		Service(ctx context.Context, ref fleet.Ref) (fleet.ServiceView, error)
	}
	// Proved returns an error for a caller who must prove again who it is.
	Proved func(ctx context.Context) error
}

// AdminKubeconfig implements hubv1connect.ClustersHandler.
func (c *Credentials) AdminKubeconfig(ctx context.Context, r *connect.Request[hubv1.AdminKubeconfigRequest]) (*connect.Response[hubv1.AdminKubeconfigResponse], error) {
	if err := c.Proved(ctx); err != nil {
		return nil, err
	}
	have, err := c.Fleet.ClusterNamed(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	if !have.Origin.Known() {
		return nil, errcode.New(errcode.Unprocessable, "cluster %s was not made from a template, so the hub knows no agent that has its credentials", have.Name)
	}
	service, err := c.Fleet.Service(ctx, fleet.Ref{Cluster: have.Origin.Management, Name: have.Origin.Service})
	if err != nil {
		return nil, err
	}
	management, err := c.Live.Cluster(ctx, have.Origin.Management)
	if err != nil {
		return nil, err
	}
	answer, err := c.Live.Clusters.Do(ctx, liveapi.Query{
		Caller: c.Live.Caller(ctx), Source: address.Host(r.Peer().Addr), Handle: management.Handle, Path: path, Credential: service.ID,
	})
	if err != nil {
		return nil, err
	}
	var credential agentv1.CredentialAnswer
	if len(answer.Text) > maxAnswer || bounded.Proto(answer.Text, &credential, bounded.Most(maxAnswer)) != nil {
		return nil, errcode.New(errcode.Unavailable, "the agent's answer is not a credential")
	}
	return connect.NewResponse(&hubv1.AdminKubeconfigResponse{Kubeconfig: string(credential.GetKubeconfig())}), nil
}
