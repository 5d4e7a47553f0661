package console_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// clients make calls as one person.
type clients struct {
	fleet        hubv1connect.FleetClient
	projects     hubv1connect.ProjectsClient
	clusters     hubv1connect.ClustersClient
	repositories hubv1connect.RepositoriesClient
	services     hubv1connect.ServicesClient
	users        hubv1connect.UsersClient
	bindings     hubv1connect.BindingsClient
	tokens       hubv1connect.TokensClient
}

// bearer sends a token with each call.
type bearer string

func (b bearer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		r.Header().Set("Authorization", "Bearer "+string(b))
		return next(ctx, r)
	}
}

func (b bearer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, s connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, s)
		conn.RequestHeader().Set("Authorization", "Bearer "+string(b))
		return conn
	}
}

func (b bearer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

func clientsOf(url, token string) clients {
	c, as := &http.Client{}, connect.WithInterceptors(bearer(token))
	return clients{
		fleet: hubv1connect.NewFleetClient(c, url, as), projects: hubv1connect.NewProjectsClient(c, url, as), clusters: hubv1connect.NewClustersClient(c, url, as),
		repositories: hubv1connect.NewRepositoriesClient(c, url, as), services: hubv1connect.NewServicesClient(c, url, as),
		users: hubv1connect.NewUsersClient(c, url, as), bindings: hubv1connect.NewBindingsClient(c, url, as), tokens: hubv1connect.NewTokensClient(c, url, as),
	}
}

// fleetBed is a real hub with two projects, shop and lab, each with a repository, a cluster
// whose agent polls and a service, and a reader of lab.
type fleetBed struct {
	*hubtest.Hub
	git   *gitserver.Server
	admin clients
	// reader may read project lab alone.
	reader      clients
	readerToken string
	commits     map[string]string
	clusters    map[string]string
}

// fails makes one call that must not work.
func fails[Q, A any](t *testing.T, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	_, err := call(ctx, connect.NewRequest(q))
	if err == nil {
		t.Errorf("%T works", q)
	}
	return err
}

func newFleetBed(t *testing.T) *fleetBed {
	t.Helper()
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := git.Close(); err != nil {
			t.Error(err)
		}
	})
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{AllowHTTPUpstreams: true, AgentUpgrades: "manual"}})
	b := &fleetBed{Hub: h, git: git, admin: clientsOf(h.URL, h.AdminToken), clusters: map[string]string{}, commits: map[string]string{}}
	for _, project := range []string{"shop", "lab"} {
		if err := git.Create(t.Context(), project); err != nil {
			t.Fatal(err)
		}
		body := gitserver.Content("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n")
		if b.commits[project], err = git.Commit(t.Context(), project, "main", "add web of "+project, map[string]gitserver.Content{"web/config.yaml": body}); err != nil {
			t.Fatal(err)
		}
		must(t, b.admin.projects.Create, &hubv1.CreateProjectRequest{Name: project})
		must(t, b.admin.repositories.Create, &hubv1.CreateRepositoryRequest{Name: project + "-config", Project: project, Url: git.URL(project)})
		b.cluster(t, "edge-"+project, project, map[string]string{"tier": project})
		b.service(t, "edge-"+project, "web", project)
	}
	made := must(t, b.admin.users.Create, &hubv1.CreateUserRequest{Email: "reader@example.com", TokenScopes: []string{"read"}})
	must(t, b.admin.bindings.Create, &hubv1.CreateBindingRequest{SubjectKind: "user", Subject: "reader@example.com", Actions: []string{"read"}, Place: &hubv1.Place{Project: "lab"}})
	b.readerToken = made.GetToken()
	b.reader = clientsOf(h.URL, b.readerToken)
	for _, project := range []string{"shop", "lab"} {
		b.reports(t, "edge-"+project, "web", fleet.Synced, fleet.Healthy)
	}
	return b
}

// cluster makes a cluster whose agent registered and polled.
func (b *fleetBed) cluster(t *testing.T, name, project string, tags map[string]string) {
	t.Helper()
	made := must(t, b.admin.clusters.Create, &hubv1.CreateClusterRequest{Name: name, Project: project, Tags: tags})
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	uid, boot := "uid-"+name, "boot-1"
	r, err := b.Parts().AgentKeys.Register(t.Context(), made.GetBootstrapToken(), agentkey.Registration{
		PublicKey: public, ClusterUID: uid, BootID: boot, AgentVersion: "v0", Proof: ed25519.Sign(private, []byte("axle-register\n"+uid+"\n"+boot)),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.clusters[name] = r.ClusterID
	b.Parts().Fleet.Seen(r.ClusterID, time.Now())
	b.indexed(t, name, "")
}

// indexed waits until the index has a cluster, with a verdict unless that is empty: lists,
// summaries and changes read it.
func (b *fleetBed) indexed(t *testing.T, cluster, verdict string) {
	t.Helper()
	eventually.For(t, limit, "the index has "+cluster, func() error {
		for _, r := range must(t, b.admin.fleet.QueryClusters, &hubv1.QueryClustersRequest{}).GetRows() {
			if r.GetCluster().GetName() == cluster && (verdict == "" || r.GetVerdict() == verdict) {
				return nil
			}
		}
		return fmt.Errorf("it has no %s cluster %s", verdict, cluster)
	})
}

func (b *fleetBed) service(t *testing.T, cluster, name, project string) *hubv1.Service {
	t.Helper()
	return must(t, b.admin.services.Create, &hubv1.CreateServiceRequest{
		Ref: &hubv1.ServiceRef{Cluster: cluster, Name: name}, Project: project,
		Spec: &hubv1.ServiceSpec{Repository: project + "-config", Git: &hubv1.Git{Ref: "main", Folder: "web"}, Namespace: "apps"},
	})
}

// reports reports, as the cluster's agent does, that a service has what is desired.
func (b *fleetBed) reports(t *testing.T, cluster, name string, sync fleet.Sync, health fleet.Health) {
	t.Helper()
	var v fleet.ServiceView
	eventually.For(t, limit, "the service has content", func() (err error) {
		if v, err = b.Parts().Fleet.Service(t.Context(), fleet.Ref{Cluster: cluster, Name: name}); err == nil && v.Desired.Digest == "" {
			err = errors.New("no content yet")
		}
		return err
	})
	status := fleet.Status{
		Sync: sync, Health: health, Message: "as reported", TarballDigest: v.Desired.Digest, SpecDigest: v.SpecDigest, Revision: v.Revision, SourceRevision: v.Desired.SourceRevision,
	}
	_, err := b.Parts().Fleet.StoreReports(t.Context(), fleet.ReportBatch{ClusterID: v.ClusterID, Reports: []fleet.Report{{
		ServiceID: v.ID, NewHash: fmt.Sprintf("%s-%s-%d", sync, health, time.Now().UnixNano()), Status: status,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	// A row that the index does not have yet is not the row as reported.
	eventually.For(t, limit, "the report shows", func() error {
		for _, r := range must(t, b.admin.fleet.QueryServices, &hubv1.QueryServicesRequest{}).GetRows() {
			switch {
			case r.GetId() != v.ID:
			case r.GetSync() == string(sync) && r.GetHealth() == string(health):
				return nil
			default:
				return fmt.Errorf("%s/%s is %s, %s", r.GetCluster(), r.GetName(), r.GetSync(), r.GetHealth())
			}
		}
		return fmt.Errorf("%s/%s has no row", cluster, name)
	})
}

// silence makes a cluster Stale: its agent polled long ago. What a hub knows of polls
// only grows, so the cluster's interval shrinks instead.
func (b *fleetBed) silence(t *testing.T, cluster string) {
	t.Helper()
	id := b.clusters[cluster]
	b.Parts().Fleet.Polls.SetInterval(id, 1)
	eventually.For(t, limit, cluster+" is stale", func() error {
		if fresh, _ := b.Parts().Fleet.Freshness(id); fresh != fleet.Stale {
			return fmt.Errorf("%s is %s", cluster, fresh)
		}
		return nil
	})
	b.indexed(t, cluster, "Stale")
}
