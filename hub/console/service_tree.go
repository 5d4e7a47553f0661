package console

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/liveapi"
	"github.com/axle-cd/axle/hub/console/packed"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/ownertree"
	"github.com/axle-cd/axle/internal/plain"
)

const (
	// treesAtOnce limits the memory for pages of objects: each has 200 objects
	// and at most 32 MiB.
	treesAtOnce = 4
	// treesWaiting is how many wait, and treeWait how long.
	treesWaiting = 64
	treeWait     = 30 * time.Second
	// treeTimeout limits one tree. What was found by then is shown.
	treeTimeout = 30 * time.Second
)

// ofServiceTree requires reading the service and using its cluster.
func ofServiceTree(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	r := message.(*hubv1.GetServiceTreeRequest).GetRef()
	service, err := s.servicePermission(ctx, action, r)
	if err != nil {
		return nil, err
	}
	cluster, err := s.clusterPermission(ctx, action, r.GetCluster())
	cluster.missing = nil // a caller who may read the service knows its cluster
	return []permission{service, cluster}, err
}

// GetTree reads the cluster as the caller. Each list that it reads is recorded
// as the caller's.
func (s *services) GetTree(ctx context.Context, r *connect.Request[hubv1.GetServiceTreeRequest]) (*connect.Response[hubv1.ServiceTree], error) {
	tree, v, err := s.tree(ctx, r.Peer().Addr, r.Msg.GetRef())
	if err != nil {
		return nil, err
	}
	out := &hubv1.ServiceTree{Failing: tree.Failing, Notes: tree.Notes, ReportedAt: v.ReportedAt, Objects: packed.Nodes(tree.Roots)}
	plain.Message(out, packed.Plain)
	return connect.NewResponse(out), nil
}

// tree finds what the objects of a service own, as the caller.
func (s *Server) tree(ctx context.Context, source string, of *hubv1.ServiceRef) (*ownertree.Tree, fleet.ServiceView, error) {
	v, err := s.config.Fleet.Service(ctx, ref(of))
	if err != nil {
		return nil, v, err
	}
	roots, cut, err := packed.Roots(v.Status.Components)
	if err != nil {
		return nil, v, fmt.Errorf("service %s: %w", v.ID, err)
	}
	cluster, err := s.live().Cluster(ctx, v.Cluster)
	if err != nil {
		return nil, v, err
	}
	held, err := s.trees.Wait(ctx, caller(ctx).Sharing())
	if err != nil {
		return nil, v, err
	}
	defer held.Leave()
	reading, cancel := context.WithTimeout(ctx, treeTimeout)
	defer cancel()
	ask := liveapi.Query{Caller: caller(ctx), Source: address.Host(source), Handle: cluster.Handle}
	tree, err := ownertree.Grow(reading, roots, func(ctx context.Context, path string) ([]byte, error) {
		q := ask
		q.Path = path
		answer, err := s.config.Live.Do(ctx, q)
		return answer.Text, err
	})
	if err != nil {
		return nil, v, err
	}
	if cut {
		tree.Notes = append(tree.Notes, fmt.Sprintf("the agent reported only the %d worst of %d objects", len(roots), v.Status.Counts.Total))
	}
	return tree, v, nil
}

// live answers calls about the live state of clusters.
func (s *Server) live() *liveapi.API {
	return &liveapi.API{
		Clusters: s.config.Live, Find: s.config.Fleet.ClusterNamed, Caller: caller, URL: s.config.ClustersURL, TicketPath: s.config.TicketPath, CAPEM: s.config.CAPEM,
		Tree: func(ctx context.Context, source string, of *hubv1.ServiceRef) (*ownertree.Tree, error) {
			tree, _, err := s.tree(ctx, source, of)
			return tree, err
		},
		Stored: s.observe().SearchStore,
	}
}
