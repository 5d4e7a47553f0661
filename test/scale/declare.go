package scale

import (
	"context"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
)

// cluster makes a cluster ahead of its agent and returns its bootstrap token.
func (s *Seeded) cluster(ctx context.Context, name string, tags map[string]string) (token string, err error) {
	made, err := s.API.Clusters.Create(ctx, connect.NewRequest(&hubv1.CreateClusterRequest{Name: name, Tags: tags}))
	if err != nil {
		return "", fmt.Errorf("cluster %s: %w", name, err)
	}
	return made.Msg.GetBootstrapToken(), nil
}

// join makes a cluster and lets its simulated agent register.
func (s *Seeded) join(ctx context.Context, m Member) (*Cluster, error) {
	token, err := s.cluster(ctx, m.Name, m.Tags)
	if err != nil {
		return nil, err
	}
	m.Token, m.Tags = token, nil // the row has them already
	return s.Fleet.Join(ctx, m)
}

// repository makes a Git repository with files and adds it to the hub.
func (s *Seeded) repository(ctx context.Context, name string, files map[string]string) error {
	if err := s.World.Git.Create(ctx, name); err != nil {
		return err
	}
	if _, err := s.World.Git.Commit(ctx, name, "main", "begin", files); err != nil {
		return err
	}
	return s.add(ctx, name, s.World.Git.URL(name))
}

func (s *Seeded) add(ctx context.Context, name, url string) error {
	_, err := s.API.Repositories.Create(ctx, connect.NewRequest(&hubv1.CreateRepositoryRequest{Name: name, Type: "git", Url: url}))
	if err != nil {
		return fmt.Errorf("repository %s: %w", name, err)
	}
	return nil
}

// service declares a service from a folder.
func (s *Seeded) service(ctx context.Context, cluster, name, repository, ref, folder string) error {
	spec := &hubv1.ServiceSpec{Repository: repository, Git: &hubv1.Git{Ref: ref, Folder: folder}}
	_, err := s.API.Services.Create(ctx, connect.NewRequest(&hubv1.CreateServiceRequest{Ref: serviceRef(cluster, name), Spec: spec}))
	if err != nil {
		return fmt.Errorf("service %s/%s: %w", cluster, name, err)
	}
	return nil
}

func serviceRef(cluster, name string) *hubv1.ServiceRef {
	return &hubv1.ServiceRef{Cluster: cluster, Name: name}
}

// services returns all, page by page.
func (s *Seeded) services(ctx context.Context) ([]*hubv1.Service, error) {
	var all []*hubv1.Service
	for token := ""; ; {
		page, err := s.API.Services.List(ctx, connect.NewRequest(&hubv1.ListServicesRequest{PageSize: 500, PageToken: token}))
		if err != nil {
			return nil, err
		}
		all = append(all, page.Msg.GetServices()...)
		if token = page.Msg.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}

// until lets all clusters poll until each service satisfies want, which says
// what is still missing.
func (s *Seeded) until(ctx context.Context, want func(*hubv1.Service) error) error {
	return eventually.Wait(ctx, settled, func() error {
		// A cluster whose content is not there yet tries again.
		polled := s.Fleet.PassAll(ctx, nil)
		services, err := s.services(ctx)
		if err != nil {
			return err
		}
		for _, one := range services {
			if err := want(one); err != nil {
				return fmt.Errorf("%s/%s: %w", one.GetCluster(), one.GetName(), err)
			}
		}
		return polled
	})
}

// produced waits until a service's source has content at a revision, any when
// it is empty.
func (s *Seeded) produced(ctx context.Context, cluster, name, revision string) error {
	return eventually.Wait(ctx, settled, func() error {
		got, err := s.API.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: serviceRef(cluster, name)}))
		if err != nil {
			return err
		}
		if at := got.Msg.GetDesiredRevision(); at == "" || !strings.HasPrefix(at, revision) {
			return fmt.Errorf("%s/%s is at %q", cluster, name, at)
		}
		return nil
	})
}

// refresh lets the hub fetch now.
func (s *Seeded) refresh(ctx context.Context, repository string) error {
	_, err := s.API.Repositories.Refresh(ctx, connect.NewRequest(&hubv1.RefreshRepositoryRequest{Name: repository, Wait: true}))
	return err
}

// app is the folder of an application: three objects.
func app(name, greeting string) map[string]string {
	return map[string]string{
		"apps/" + name + "/deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ` + name + `
spec:
  replicas: 2
  selector:
    matchLabels: {app: ` + name + `}
  template:
    metadata:
      labels: {app: ` + name + `}
    spec:
      containers:
        - name: ` + name + `
          image: registry.example.test/` + name + `:1.4.2
`,
		"apps/" + name + "/service.yaml": `apiVersion: v1
kind: Service
metadata:
  name: ` + name + `
spec:
  selector: {app: ` + name + `}
  ports:
    - port: 80
`,
		"apps/" + name + "/config.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: ` + name + `
data:
  greeting: ` + greeting + `
`,
	}
}
