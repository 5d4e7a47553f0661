package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/test/pg"
)

// BenchmarkLists measures reading pages of 100 services and of 100 clusters, the
// tables with the most columns, one service, and writing one.
func BenchmarkLists(b *testing.B) {
	for name, config := range map[string]func() store.Config{
		"sqlite":   func() store.Config { return store.Config{DataDir: b.TempDir()} },
		"postgres": func() store.Config { return store.Config{DataDir: b.TempDir(), DatabaseURL: pg.New(b)} },
	} {
		s, err := store.Open(b.Context(), config())
		if err != nil {
			b.Fatal(err)
		}
		ids, clusters := fillLists(b, s)
		for what, run := range map[string]func(ctx context.Context) (int, error){
			"services": func(ctx context.Context) (int, error) {
				page, err := s.ListServices(ctx, fleet.ServiceFilter{}, fleet.Ref{}, len(ids))
				return len(page), err
			},
			"services-by-id": func(ctx context.Context) (int, error) {
				page, err := s.ServicesByID(ctx, ids)
				return len(page), err
			},
			"clusters-by-id": func(ctx context.Context) (int, error) {
				page, err := s.ClustersByID(ctx, clusters)
				return len(page), err
			},
			"service": func(ctx context.Context) (int, error) {
				_, err := s.ServiceByID(ctx, ids[0])
				return len(ids), err
			},
			"update-service": func(ctx context.Context) (int, error) {
				return len(ids), s.Write(ctx, func(ctx context.Context) error { return s.UpdateService(ctx, listedService(0)) })
			},
		} {
			b.Run(name+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if n, err := run(b.Context()); err != nil || n != len(ids) {
						b.Fatal(n, err)
					}
				}
			})
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func listedService(i int) fleet.StoredService {
	return fleet.StoredService{Service: fleet.Service{
		ID: fmt.Sprintf("svc_%03d", i), ClusterID: fmt.Sprintf("cls_%03d", i), Name: fmt.Sprintf("shop-%03d", i), Namespace: "shop",
		ProjectID: "prj_1", SourceID: "src_1", RepositoryID: "repo_1", Revision: 1, SpecDigest: fmt.Sprintf("s1:%064d", i),
		DeclaredBy: "ann", RevisedAt: 1, CreatedAt: 1, UpdatedAt: 1, SyncResources: []string{"apps/Deployment/shop/web"},
	}}
}

// fillLists creates 100 clusters with a service each.
func fillLists(b *testing.B, s *store.Store) (ids, clusters []string) {
	b.Helper()
	err := s.Write(b.Context(), func(ctx context.Context) error {
		if err := s.InsertProject(ctx, fleet.Project{ID: "prj_1", Name: "retail", CreatedAt: 1}); err != nil {
			return err
		}
		ids, clusters = nil, nil
		for i := range 100 {
			v := listedService(i)
			c := fleet.Cluster{
				ID: v.ClusterID, Name: fmt.Sprintf("edge-%03d", i), Handle: fmt.Sprintf("handle%03d", i), ProjectID: "prj_1", Distro: "k3s",
				Tags: map[string]string{"site": fmt.Sprint(i), "ring": "1"}, KubernetesVersion: "v1.31.0", AgentVersion: "0.1.0", Nodes: 3,
			}
			r := fleet.StoredRevision{Revision: fleet.Revision{
				ServiceID: v.ID, Number: 1, SpecDigest: v.SpecDigest, By: "ann", CreatedAt: 1,
				Content: fleet.Content{RepositoryID: "repo_1", SourceRevision: fmt.Sprintf("%040d", i), Digest: fmt.Sprintf("axle1:%064d", i), Message: "one", Author: "eve"},
			}}
			v.Revision = 0
			err := errors.Join(s.InsertCluster(ctx, c), s.InsertService(ctx, v))
			_, bad := s.InsertRevision(ctx, r, 10)
			err = errors.Join(err, bad, s.UpdateService(ctx, listedService(i)))
			if err != nil {
				return err
			}
			ids, clusters = append(ids, v.ID), append(clusters, c.ID)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return ids, clusters
}
