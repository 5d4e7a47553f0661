package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli"
)

// alone runs a command line that asks no hub, or one that is not there.
func alone(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

// A typing error is answered with what was probably meant, before any hub is asked.
func TestMistypedWordsAreAnswered(t *testing.T) {
	for name, tc := range map[string]struct {
		args string
		want string
	}{
		"a noun":                        {"servces list", `unknown command "servces" for "axle"; did you mean services?`},
		"a verb":                        {"services lst", `unknown command "lst" for "axle services"; did you mean get or list?`},
		"nothing like it":               {"services frobnicate", `unknown command "frobnicate" for "axle services"` + "\n"},
		"a flag":                        {"services list --clustr edge-1", "unknown flag: --clustr; did you mean --cluster?"},
		"a flag's beginning":            {"services list --proj shop", "did you mean --project?"},
		"a flag of all commands":        {"services list --contxt a", "did you mean --context?"},
		"a flag like none":              {"services list --frobnicate", "unknown flag: --frobnicate\n"},
		"a service of nothing":          {"services create edge-1/web", "--repo NAME --ref REF --folder FOLDER"},
		"a service with options alone":  {"services create edge-1/web --namespace web", "--repo NAME --ref REF --folder FOLDER"},
		"outputs of nothing":            {"outputs put database", "axle outputs delete database"},
		"an update of nothing":          {"clusters update edge-1", "--handle, --tag, --metadata, --set or --variables"},
		"a repository as it is":         {"repos update fleet", "--auth none"},
		"a scope of a bootstrap token":  {"tokens create --bootstrap --scope read", "--scope does not work with --bootstrap"},
		"uses of an API token":          {"tokens create ci --max-uses 5", "--max-uses does not work without --bootstrap"},
		"a name of a bootstrap token":   {"tokens create ci --bootstrap", "--name-pattern"},
		"events of a service, no place": {"events --service web", "CLUSTER/web"},
		"a logout of no context":        {"logout --hub http://127.0.0.1:1", "name the context"},
		"a token that nobody gives":     {"login http://127.0.0.1:1", "--browser or --device"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AXLE_HUB_URL", "http://127.0.0.1:1")
			t.Setenv("AXLE_TOKEN", "token")
			code, _, errs := alone(t, strings.Fields(tc.args)...)
			if code != 2 || !strings.Contains(errs, tc.want) {
				t.Errorf("exit %d, standard error %q; want %q in it", code, errs, tc.want)
			}
		})
	}
}

// A user who is not logged in is told where to log in, as far as it is known.
func TestWhoIsNotLoggedInHearsWhere(t *testing.T) {
	t.Setenv("AXLE_HUB_URL", "")
	_, _, errs := alone(t, "whoami")
	if want := "Error: you are not logged in to a hub\nLog in with: axle login URL\n"; errs != want {
		t.Errorf("logged in to none: %q, want %q", errs, want)
	}
	if _, _, errs = alone(t, "logout"); !strings.Contains(errs, "you are not logged in to a hub") {
		t.Errorf("logged out of none: %q", errs)
	}
}

// The versions are an object for programs, also without a hub.
func TestVersionIsReadByPrograms(t *testing.T) {
	t.Setenv("AXLE_HUB_URL", "")
	code, out, errs := alone(t, "version", "-o", "json")
	var v map[string]string
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 || v["version"] == "" || v["go"] == "" {
		t.Errorf("exit %d, %v in %q %s", code, err, out, errs)
	}
}

// auditHub is a hub with one command in a cluster; a double for its table.
type auditHub struct {
	hubv1connect.UnimplementedAuditHandler
}

func (auditHub) List(context.Context, *connect.Request[hubv1.ListAuditRequest]) (*connect.Response[hubv1.ListAuditResponse], error) {
	return connect.NewResponse(&hubv1.ListAuditResponse{Records: []*hubv1.AuditRecord{
		{Seq: 2, Record: `{"at":1,"actor":"ann@example.com","action":"kubernetes","verb":"exec","kind":"pods/exec","namespace":"shop","name":"web-1","cluster_id":"cl_1","result":"ok"}`},
		{Seq: 1, Record: `{"at":1,"actor":"agent of edge-1","action":"/axle.agent.v1.AgentService/Register","kind":"cluster","name":"gone","cluster_id":"cl_2","result":"ok"}`},
	}}), nil
}

type clustersOfAudit struct {
	hubv1connect.UnimplementedClustersHandler
}

func (clustersOfAudit) List(context.Context, *connect.Request[hubv1.ListClustersRequest]) (*connect.Response[hubv1.ListClustersResponse], error) {
	return connect.NewResponse(&hubv1.ListClustersResponse{Clusters: []*hubv1.Cluster{{Id: "cl_1", Name: "edge-1"}}}), nil
}

// A record about a command in a pod names the cluster.
func TestAuditListNamesClusters(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle(hubv1connect.NewAuditHandler(auditHub{}))
	mux.Handle(hubv1connect.NewClustersHandler(clustersOfAudit{}))
	server := httptest.NewServer(mux)
	defer server.Close()
	t.Setenv("AXLE_HUB_URL", server.URL)
	t.Setenv("AXLE_TOKEN", "token")
	code, out, errs := alone(t, "audit", "list")
	for _, line := range []string{"kubernetes exec        edge-1   pods/exec/shop/web-1", "AgentService/Register  cl_2     cluster/gone"} {
		if code != 0 || !strings.Contains(out, line) {
			t.Errorf("exit %d: no %q in\n%s%s", code, line, out, errs)
		}
	}
}

// A name is completed wherever one stands.
func TestNamesAreCompleted(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle(hubv1connect.NewClustersHandler(clustersOfAudit{}))
	server := httptest.NewServer(mux)
	defer server.Close()
	t.Setenv("AXLE_HUB_URL", server.URL)
	t.Setenv("AXLE_TOKEN", "token")
	for _, args := range []string{"services list --cluster", "kubectl --clusters", "auth bind --cluster", "events --cluster", "audit list --cluster"} {
		if code, out, errs := alone(t, append(append([]string{"__complete"}, strings.Fields(args)...), "")...); code != 0 || !strings.HasPrefix(out, "edge-1\n:4\n") {
			t.Errorf("axle %s: exit %d: %q %s", args, code, out, errs)
		}
	}
}
