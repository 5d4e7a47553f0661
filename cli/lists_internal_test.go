package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/hub/hubtest"
)

// recorder stands in front of a hub and notes the calls with their requests.
type recorder struct {
	*httptest.Server
	mu    sync.Mutex
	calls []recordedCall
}

type recordedCall struct {
	// method is the service and the call, such as Services/List.
	method  string
	request protoreflect.Message
}

func record(t *testing.T, hubURL string) *recorder {
	t.Helper()
	to, err := url.Parse(hubURL)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		r.note(t, q.URL.Path, body)
		proxy.ServeHTTP(w, q)
	}))
	t.Cleanup(r.Close)
	return r
}

// note decodes a unary call. Streams have other bytes and are left out.
func (r *recorder) note(t *testing.T, path string, body []byte) {
	service, method, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if !ok || err != nil {
		return
	}
	call := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method))
	if call.IsStreamingServer() {
		return
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(call.Input().FullName())
	if err != nil {
		t.Error(err)
		return
	}
	request := kind.New()
	if err := proto.Unmarshal(body, request.Interface()); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, recordedCall{string(found.Name()) + "/" + method, request})
}

// taken returns the calls since the last time.
func (r *recorder) taken() []recordedCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

// listCalls are the lists of axle: with every flag that selects, the one call that
// each makes and the fields that it sends. An entry whose request has no size says
// why the list is short.
var listCalls = []struct{ line, method, fields, short string }{
	{"services list --cluster edge-1 --project shop --name web --managed-by none --sync held,Deleting --health degraded", "Services/List",
		`{"cluster":"edge-1","project":"shop","name":"web","pageSize":500,"managedByTool":"none","sync":["Held","Deleting"],"health":["Degraded"],"brief":true}`, ""},
	{"services list --limit 7", "Services/List", `{"pageSize":7,"brief":true}`, ""},
	{"clusters list --project shop --tag tier=edge --freshness stale --managed-by none", "Clusters/List",
		`{"project":"shop","tags":{"tier":"edge"},"managedByTool":"none","pageSize":500,"freshness":["Stale"]}`, ""},
	{"repos list --project shop --managed-by none", "Repositories/List", `{"project":"shop","managedByTool":"none","pageSize":500}`, ""},
	{"globalservices list", "GlobalServices/List", `{"pageSize":500}`, ""},
	{"namespaces list", "ManagedNamespaces/List", `{"pageSize":500}`, ""},
	{"rollouts list", "GlobalServices/List", `{"pageSize":500}`, ""},
	{"operations list --limit 9", "Operations/List", `{"limit":9}`, ""},
	{"notifications list --unread --limit 8", "Notifications/List", `{"unread":true,"limit":8}`, ""},
	{"audit list --limit 6 --result ok", "Audit/List", `{"result":"ok","limit":6}`, ""},
	{"projects list --managed-by none", "Projects/List", `{"managedByTool":"none"}`, "one for each team"},
	{"servicecontexts list --managed-by none", "Contexts/List", `{"managedByTool":"none"}`, "names and keys of what people wrote"},
	{"outputs list --managed-by none", "Outputs/List", `{"managedByTool":"none"}`, "names and keys of what people wrote"},
	{"backends list", "Backends/List", `{}`, "a few for each hub"},
	{"webhooks list", "Webhooks/List", `{}`, "a few for each hub"},
	{"notifications sinks list", "NotificationSinks/List", `{}`, "a few for each team"},
	{"notifications routers list", "NotificationRouters/List", `{}`, "a few for each team"},
	{"users list", "Users/List", `{}`, "one for each person"},
	{"groups list", "Groups/List", `{}`, "a few for each team"},
	{"serviceaccounts list", "ServiceAccounts/List", `{}`, "a few for each team"},
	{"tokens list", "Tokens/List", `{}`, "one's own"},
	{"sessions list", "Logins/ListSessions", `{}`, "one's own"},
	{"providers list", "Providers/List", `{}`, "a few for each hub"},
	{"federation list", "Federation/List", `{}`, "a few for each hub"},
	{"hub sync-windows list", "Hub/GetSyncWindows", `{}`, "a few for each hub"},
	{"clusters pools list --quiet edge-1", "Clusters/Get", `{"name":"edge-1"}`, "those of one cluster, at most 50"},
	{"clusters machines list --quiet edge-1", "Clusters/Get", `{"name":"edge-1"}`, "those of one cluster, at most 100"},
	{"clusters orphans list --quiet edge-1", "Clusters/Get", `{"name":"edge-1"}`, "those of one cluster that a backup brought back, at most 5"},
	{"clusters api list --on edge-1", "Clusters/ListComponents", `{"cluster":"edge-1"}`, "those of the hub's list, six"},
	{"context list", "", "", "of the settings file"},
}

// Each list makes one call, to the hub's list of that noun, and the hub selects. A list
// that grows with the fleet is asked for in pages.
func TestListsAreTheHubs(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	r := record(t, h.URL)
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("AXLE_HUB_URL", r.URL)
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	axle := func(line string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := Run(t.Context(), strings.Fields(line), Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != 0 {
			t.Errorf("axle %s: exit %d: %s", line, code, errs.String())
		}
	}
	axle("projects create shop")
	axle("clusters create edge-1 --project shop --tag tier=edge")
	covered := map[string]bool{}
	calls := slices.Clone(listCalls)
	for _, k := range object.Stored() {
		calls = append(calls, struct{ line, method, fields, short string }{k.Noun + " list", k.Calls.Path(k.Calls.List), `{"pageSize":500}`, ""})
	}
	for _, tc := range calls {
		path, _, _ := strings.Cut(tc.line, " --")
		covered[path] = true
		r.taken()
		axle(tc.line + " -o json")
		calls := r.taken()
		if tc.method == "" {
			if len(calls) != 0 {
				t.Errorf("axle %s calls %s", tc.line, calls[0].method)
			}
			continue
		}
		if len(calls) != 1 || calls[0].method != tc.method {
			t.Errorf("axle %s makes %d calls: %v", tc.line, len(calls), calls)
			continue
		}
		want := calls[0].request.New()
		if err := protojson.Unmarshal([]byte(tc.fields), want.Interface()); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(want.Interface(), calls[0].request.Interface()) {
			t.Errorf("axle %s sends %v, want %v", tc.line, calls[0].request.Interface(), want.Interface())
		}
		if sized := bounded(calls[0].request); sized == (tc.short != "") {
			t.Errorf("axle %s: the size of its answer is bounded: %v; and it is short for the reason %q", tc.line, sized, tc.short)
		}
	}
	every(t, func(c *cobra.Command, path string) {
		if c.Name() == "list" && !covered[path] {
			t.Errorf("axle %s is in no row of this test: which call does it make, and is its answer bounded?", path)
		}
	})
}

// bounded reports whether a request limits the size of its answer.
func bounded(request protoreflect.Message) bool {
	for _, name := range []protoreflect.Name{"page_size", "limit"} {
		if field := request.Descriptor().Fields().ByName(name); field != nil && request.Get(field).Int() > 0 {
			return true
		}
	}
	return false
}
