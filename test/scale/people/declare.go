package people

import (
	"context"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// Settled bounds how long what was declared may take to show as it should.
const Settled = 2 * time.Minute

// Cluster makes a cluster ahead of its agent and returns its bootstrap token.
func (p *People) Cluster(ctx context.Context, name string, tags map[string]string) (token string, err error) {
	made, err := p.API.Clusters.Create(ctx, connect.NewRequest(&hubv1.CreateClusterRequest{Name: name, Tags: tags}))
	if err != nil {
		return "", fmt.Errorf("cluster %s: %w", name, err)
	}
	return made.Msg.GetBootstrapToken(), nil
}

// Repository makes a Git repository with files and adds it to the hub.
func (p *People) Repository(ctx context.Context, git *gitserver.Server, name string, files map[string]string) error {
	if err := git.Create(ctx, name); err != nil {
		return err
	}
	if _, err := git.Commit(ctx, name, "main", "begin", files); err != nil {
		return err
	}
	return p.AddRepository(ctx, name, git.URL(name))
}

// AddRepository adds a Git repository to the hub.
func (p *People) AddRepository(ctx context.Context, name, url string) error {
	_, err := p.API.Repositories.Create(ctx, connect.NewRequest(&hubv1.CreateRepositoryRequest{Name: name, Type: "git", Url: url}))
	if err != nil {
		return fmt.Errorf("repository %s: %w", name, err)
	}
	return nil
}

// Service declares a service from a folder.
func (p *People) Service(ctx context.Context, cluster, name, repository, ref, folder string) error {
	spec := &hubv1.ServiceSpec{Repository: repository, Git: &hubv1.Git{Ref: ref, Folder: folder}}
	_, err := p.API.Services.Create(ctx, connect.NewRequest(&hubv1.CreateServiceRequest{Ref: ServiceRef(cluster, name), Spec: spec}))
	if err != nil {
		return fmt.Errorf("service %s/%s: %w", cluster, name, err)
	}
	return nil
}

// ServiceRef names a service.
func ServiceRef(cluster, name string) *hubv1.ServiceRef {
	return &hubv1.ServiceRef{Cluster: cluster, Name: name}
}

// Services returns all, page by page.
func (p *People) Services(ctx context.Context) ([]*hubv1.Service, error) {
	var all []*hubv1.Service
	for token := ""; ; {
		page, err := p.API.Services.List(ctx, connect.NewRequest(&hubv1.ListServicesRequest{PageSize: 500, PageToken: token}))
		if err != nil {
			return nil, err
		}
		all = append(all, page.Msg.GetServices()...)
		if token = page.Msg.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}

// Produced waits until a service's source has content at a revision, any when
// it is empty.
func (p *People) Produced(ctx context.Context, cluster, name, revision string) error {
	return eventually.Wait(ctx, Settled, func() error {
		got, err := p.API.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: ServiceRef(cluster, name)}))
		if err != nil {
			return err
		}
		if at := got.Msg.GetDesiredRevision(); at == "" || !strings.HasPrefix(at, revision) {
			return fmt.Errorf("%s/%s is at %q", cluster, name, at)
		}
		return nil
	})
}

// Refresh lets the hub fetch now.
func (p *People) Refresh(ctx context.Context, repository string) error {
	_, err := p.API.Repositories.Refresh(ctx, connect.NewRequest(&hubv1.RefreshRepositoryRequest{Name: repository, Wait: true}))
	return err
}

// App is the folder of an application: three objects.
func App(name, greeting string) map[string]string {
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

// Healthy says why a service is not.
func Healthy(one *hubv1.Service) error {
	if one.GetSync() != "Synced" || one.GetHealth() != "Healthy" {
		return fmt.Errorf("%s, %s: %s", one.GetSync(), one.GetHealth(), one.GetMessage())
	}
	return nil
}
