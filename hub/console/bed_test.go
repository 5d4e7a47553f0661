package console_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/gitserver"
)

// limit is how long anything may take on a loaded machine.
const limit = 60 * time.Second

// bed is a real hub, an administrator's clients and a repository.
type bed struct {
	*hubtest.Hub
	git          *gitserver.Server
	projects     hubv1connect.ProjectsClient
	clusters     hubv1connect.ClustersClient
	repositories hubv1connect.RepositoriesClient
	services     hubv1connect.ServicesClient
	tokens       hubv1connect.TokensClient
	events       hubv1connect.EventsClient
	hub          hubv1connect.HubClient
}

// signedIn sends an administrator's token unless the test chose another.
func signedIn(token string) connect.ClientOption {
	return connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			if r.Header().Get("Authorization") == "" {
				r.Header().Set("Authorization", "Bearer "+token)
			}
			return next(ctx, r)
		}
	}))
}

func newBed(t *testing.T) *bed {
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
	if err := git.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	body := gitserver.Content("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n")
	if _, err := git.Commit(t.Context(), "fleet", "main", "add web", map[string]gitserver.Content{"web/config.yaml": body}); err != nil {
		t.Fatal(err)
	}
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{AllowHTTPUpstreams: true, AgentUpgrades: "manual"}})
	c, as := &http.Client{Timeout: limit}, signedIn(h.AdminToken)
	return &bed{
		Hub: h, git: git,
		projects:     hubv1connect.NewProjectsClient(c, h.URL, as),
		clusters:     hubv1connect.NewClustersClient(c, h.URL, as),
		repositories: hubv1connect.NewRepositoriesClient(c, h.URL, as),
		services:     hubv1connect.NewServicesClient(c, h.URL, as),
		tokens:       hubv1connect.NewTokensClient(c, h.URL, as),
		events:       hubv1connect.NewEventsClient(c, h.URL, as),
		hub:          hubv1connect.NewHubClient(c, h.URL, as),
	}
}

// must makes one call that has to work.
func must[Q, A any](t *testing.T, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q) *A {
	t.Helper()
	answer, err := call(t.Context(), connect.NewRequest(q))
	if err != nil {
		t.Fatalf("%T: %v", q, err)
	}
	return answer.Msg
}

// refused makes one call that has to fail with a code and text.
func refused[Q, A any](t *testing.T, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q, code errcode.Code, text string) {
	t.Helper()
	_, err := call(t.Context(), connect.NewRequest(q))
	if got := codeOf(err); got != code || !strings.Contains(err.Error(), text) {
		t.Errorf("%T: got %q, %v; want %s: %s", q, got, err, code, text)
	}
}

// codeOf is the hub's own code of an answer's error.
func codeOf(err error) errcode.Code {
	var failed *connect.Error
	if !errors.As(err, &failed) {
		return ""
	}
	for _, d := range failed.Details() {
		if v, err := d.Value(); err == nil {
			if detail, ok := v.(*hubv1.ErrorDetail); ok {
				return errcode.Code(detail.GetCode())
			}
		}
	}
	return ""
}

// fleet makes repository fleet and cluster edge-1.
func (b *bed) fleet(t *testing.T) {
	t.Helper()
	must(t, b.repositories.Create, &hubv1.CreateRepositoryRequest{Name: "fleet", Url: b.git.URL("fleet")})
	must(t, b.clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1"})
}

func onEdge(name string) *hubv1.ServiceRef { return &hubv1.ServiceRef{Cluster: "edge-1", Name: name} }

func webSpec() *hubv1.ServiceSpec {
	return &hubv1.ServiceSpec{Repository: "fleet", Git: &hubv1.Git{Ref: "main", Folder: "web"}}
}

// token makes an API token of the administrator with fewer rights.
func (b *bed) token(t *testing.T, scopes ...string) *hubv1.CreatedToken {
	t.Helper()
	return must(t, b.tokens.Create, &hubv1.CreateTokenRequest{Name: strings.Join(scopes, " "), Scopes: scopes})
}

// deployToken registers an agent and returns its token.
func (b *bed) deployToken(t *testing.T, cluster string) (clusterID, bearer string) {
	t.Helper()
	made := must(t, b.clusters.Create, &hubv1.CreateClusterRequest{Name: cluster})
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	uid, boot := "uid-"+cluster, "boot-1"
	r, err := b.Parts().AgentKeys.Register(t.Context(), made.GetBootstrapToken(), agentkey.Registration{
		PublicKey: public, ClusterUID: uid, BootID: boot, AgentVersion: "v0", Proof: ed25519.Sign(private, []byte("axle-register\n"+uid+"\n"+boot)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.ClusterID, r.DeployToken
}

// post sends JSON as a program without a client library does. Headers come in
// pairs.
func post(t *testing.T, origin, procedure, body string, headers ...string) (status int, header http.Header, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, origin+procedure, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(all)
}
