package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

func three() []*hubv1.Service {
	return []*hubv1.Service{
		{Cluster: "edge", Name: "web", Sync: "Synced", Health: "Healthy", Namespace: "shop", PolledAt: 1},
		{Cluster: "edge", Name: "api", Sync: "Held", Reason: "PruneHeld", Health: "Degraded"},
		{Cluster: "edge", Name: "new", Sync: "Pending", Deleting: true},
	}
}

func TestServicesListKeepsWhatIsAskedFor(t *testing.T) {
	for args, want := range map[string]string{
		"":                                    "edge/web edge/api edge/new",
		"--health degraded":                   "edge/api",
		"--health Healthy,Degraded":           "edge/web edge/api",
		"--health unknown":                    "edge/new",
		"--sync held":                         "edge/api",
		"--sync Deleting":                     "edge/new",
		"--sync Pending":                      "",
		"--sync Synced --health Degraded":     "",
		"--sync Synced,Held --health Healthy": "edge/web",
	} {
		code, out, errs := run(t, &hub{services: three()}, append([]string{"services", "list", "-q"}, strings.Fields(args)...)...)
		if got := strings.Join(strings.Fields(out), " "); code != 0 || got != want {
			t.Errorf("services list %s: exit %d, %q, want %q %s", args, code, got, want, errs)
		}
	}
	if code, _, errs := run(t, &hub{}, "services", "list", "--health", "broken"); code != 2 || !strings.Contains(errs, `--health "broken" is not one of Healthy, `) {
		t.Errorf("an unknown word: exit %d, %s", code, errs)
	}
}

func TestListsHaveTheFormatsOfKubectl(t *testing.T) {
	h := &hub{services: three()[:2]}
	for _, tc := range []struct{ args, want string }{
		{"services list -o jsonpath={[*].name}", "web api\n"},
		{"services list -o go-template={{range.}}{{.cluster}}/{{.name}};{{end}}", "edge/web;edge/api;\n"},
		{"services get edge/web -o jsonpath={.health}", "Healthy\n"},
		{"services get edge/web edge/api -o jsonpath={[*].health}", "Healthy Degraded\n"},
		{"services get edge/web edge/api -q", "edge/web\nedge/api\n"},
		{"services get web api --cluster edge -o name", "edge/web\nedge/api\n"},
	} {
		if code, out, errs := run(t, h, strings.Fields(tc.args)...); code != 0 || out != tc.want {
			t.Errorf("axle %s: exit %d, %q, want %q %s", tc.args, code, out, tc.want, errs)
		}
	}
	_, table, _ := run(t, h, "services", "list")
	_, bare, _ := run(t, h, "services", "list", "--no-headers")
	_, wide, _ := run(t, h, "services", "list", "-o", "wide")
	if head, rest, _ := strings.Cut(table, "\n"); !strings.HasPrefix(head, "CLUSTER") || strings.Count(rest, "\n") != 2 || strings.Contains(table, "NAMESPACE") {
		t.Errorf("table\n%s", table)
	}
	if strings.Count(bare, "\n") != 2 || strings.Contains(bare, "CLUSTER") {
		t.Errorf("without headers\n%s", bare)
	}
	if !strings.Contains(wide, "NAMESPACE") || !strings.Contains(wide, "shop") {
		t.Errorf("wide\n%s", wide)
	}
	// A template that is wrong is found before the hub is asked.
	h.err = errors.New("asked")
	if code, _, errs := run(t, h, "services", "list", "-o", "jsonpath={.name"); code != 2 || strings.Contains(errs, "asked") {
		t.Errorf("a wrong template: exit %d, %s", code, errs)
	}
}

// interrupt stops a command once it has printed something.
type interrupt struct {
	bytes.Buffer
	stop func()
	at   string
}

func (i *interrupt) Write(p []byte) (int, error) {
	n, err := i.Buffer.Write(p)
	if strings.Contains(i.String(), i.at) {
		i.stop()
	}
	return n, err
}

// serve runs a command line against doubles, until it has printed a text.
func serve(t *testing.T, mux *http.ServeMux, until string, args ...string) (code int, out, errs string) {
	t.Helper()
	server := httptest.NewServer(mux)
	defer server.Close()
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("AXLE_HUB_URL", server.URL)
	t.Setenv("AXLE_TOKEN", "token")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	to := &interrupt{stop: stop, at: until}
	var stderr bytes.Buffer
	code = cli.Run(ctx, args, cli.Streams{In: strings.NewReader(""), Out: to, Err: &stderr})
	return code, to.String(), stderr.String()
}

func TestAWatchIsEndedByAnInterrupt(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle(hubv1connect.NewServicesHandler(&hub{services: three()}))
	if code, out, errs := serve(t, mux, "Degraded", "services", "list", "--watch"); code != 0 || !strings.HasPrefix(out, "CLUSTER") || errs != "" {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	code, out, errs := serve(t, mux, "edge/api", "services", "list", "--watch", "-o", "name")
	if code != 0 || !strings.HasPrefix(out, "edge/web\nedge/api\n") || errs != "" {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// eventHub has three events.
type eventHub struct {
	hubv1connect.UnimplementedEventsHandler
}

func (eventHub) List(_ context.Context, r *connect.Request[hubv1.ListEventsRequest]) (*connect.Response[hubv1.ListEventsResponse], error) {
	answer := &hubv1.ListEventsResponse{}
	for id := int64(3); id > r.Msg.GetAfter(); id-- {
		answer.Events = append(answer.Events, &hubv1.Event{Id: id, At: id * 3600 * 1e6, Kind: "service.updated", Object: "edge/web"})
	}
	return connect.NewResponse(answer), nil
}

func TestEventsHaveTimesAndAnOrder(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle(hubv1connect.NewEventsHandler(eventHub{}))
	_, out, _ := serve(t, mux, "never", "events", "--no-headers")
	if want := "1970-01-01T03:00:00Z  service.updated  edge/web  -  -\n1970-01-01T02:00:00Z"; !strings.HasPrefix(out, want) {
		t.Errorf("newest first:\n%s, want\n%s", out, want)
	}
	code, out, errs := serve(t, mux, "T03:00:00Z", "events", "--follow", "--since", "1970-01-01T02:00:00Z")
	if first, second := strings.Index(out, "T02:00:00Z"), strings.Index(out, "T03:00:00Z"); code != 0 || first < 0 || second < first || strings.Contains(out, "T01:00:00Z") || !strings.HasPrefix(out, "TIME") {
		t.Errorf("exit %d: oldest first, from two o'clock:\n%s%s", code, out, errs)
	}
	if code, _, errs = serve(t, mux, "never", "events", "--since", "yesterday"); code != 2 || !strings.Contains(errs, "--since") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// An error is for programs what the output is for them.
func TestErrorsAreReadByPrograms(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		word string
	}{
		"services get edge/none -o json":   {4, "not_found"},
		"services get web -o json":         {2, "usage"},
		"services list --nonsense -ojson":  {2, "usage"},
		"services list -o json --nonsense": {2, "usage"},
		"frobnicate --output=json":         {2, "usage"},
	} {
		code, out, errs := run(t, &hub{}, strings.Fields(args)...)
		var f struct {
			Code     string
			Message  string
			ExitCode int
		}
		if err := json.Unmarshal([]byte(errs), &f); err != nil || out != "" {
			t.Errorf("axle %s: %v in %q, %q", args, err, errs, out)
			continue
		}
		if code != want.code || f.ExitCode != want.code || f.Code != want.word || f.Message == "" {
			t.Errorf("axle %s: exit %d, %+v; want %d and %s", args, code, f, want.code, want.word)
		}
	}
	h := &hub{err: connect.NewError(connect.CodePermissionDenied, errors.New("you may not"))}
	if code, _, errs := run(t, h, "services", "list"); code != 5 || !strings.HasPrefix(errs, "Error: ") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestVersionIsAFlagToo(t *testing.T) {
	t.Setenv("AXLE_HUB_URL", "")
	if code, out, errs := alone(t, "--version"); code != 0 || !strings.HasPrefix(out, "axle ") || strings.Count(out, "\n") != 1 {
		t.Errorf("exit %d: %q %s", code, out, errs)
	}
}

// versionHub is a hub of another version.
type versionHub struct {
	hubv1connect.UnimplementedSessionsHandler
	version string
}

func (h versionHub) WhoAmI(context.Context, *connect.Request[hubv1.WhoAmIRequest]) (*connect.Response[hubv1.Identity], error) {
	return connect.NewResponse(&hubv1.Identity{HubVersion: h.version}), nil
}

func TestVersionWarnsOfSkew(t *testing.T) {
	for version, warns := range map[string]bool{"0.1.0": false, "0.2.0": false, "0.9.0": true, "3.0.0": true} {
		mux := http.NewServeMux()
		mux.Handle(hubv1connect.NewSessionsHandler(versionHub{version: version}))
		code, out, errs := serve(t, mux, "never", "version")
		if code != 0 || !strings.Contains(out, "hub  "+version) || strings.Contains(errs, "Warning") != warns {
			t.Errorf("hub %s: exit %d, %q, %q", version, code, out, errs)
		}
	}
}

func TestArgumentsAreCompleted(t *testing.T) {
	for args, want := range map[string]string{
		"services get":                        "edge/web\nedge/api\nedge/new\n:4\n",
		"services delete edge/web":            "edge/api\nedge/new\n:4\n",
		"services get --cluster edge":         "web\napi\nnew\n:4\n",
		"services rollback edge/web":          ":4\n",
		"services create x --depends-on":      ":4\n",
		"services create edge/x --depends-on": "web\napi\nnew\n:4\n",
		"logs":                                "edge/web\nedge/api\nedge/new\n:4\n",
	} {
		code, out, errs := run(t, &hub{services: three()}, append(append([]string{"__complete"}, strings.Fields(args)...), "")...)
		if code != 0 || out != want {
			t.Errorf("axle %s: exit %d, %q, want %q %s", args, code, out, want, errs)
		}
	}
}
