package skew_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
)

// risk is a line of axle hub at-risk.
type risk struct{ Kind, Object, Why, Command string }

// A hub of today on the data of one that permitted more delivers what that one delivered,
// plans of Terraform are empty, tokens are what their scopes say, and what a person must
// decide is listed with the command that settles it.
func TestAnUpgradeLeavesWhatIsDelivered(t *testing.T) {
	if *recordFleet {
		makeFleet(t)
		return
	}
	text, err := os.ReadFile(filepath.Join(fleetDir, fleetFile))
	must(t, err)
	var r recordedFleet
	must(t, json.Unmarshal(text, &r))
	var listed []risk
	must(t, json.Unmarshal([]byte(commands(t, olderHub(t), r.Tokens["admin"])("axle upgrade --check -o json")), &listed))
	upstreams(t)
	h := hubOn(t, fleetDir, r.At, r.Tokens["admin"])
	admin := caller{t, h.URL, h.AdminToken}
	same := func(when string, now, was any) {
		t.Helper()
		if diff := cmp.Diff(was, now); diff != "" {
			t.Errorf("%s, other things are delivered (-before +today):\n%s", when, diff)
		}
	}
	recorded := filepath.Join(fleetDir, examplesDir)
	plan := func(when string) {
		t.Helper()
		x := newTerraform(t, h, recorded)
		if out := x.run("plan", "-no-color"); !strings.Contains(out, "No changes.") {
			t.Errorf("%s, the plan is\n%s", when, out)
		}
		// A plan does not show what only the hub sets.
		x.run("apply", "-refresh-only", "-auto-approve", "-no-color")
		was, now := attributes(t, recorded, ""), attributes(t, x.dir, h.URL)
		for address := range was {
			for name := range now[address] {
				if _, had := was[address][name]; !had {
					delete(now[address], name) // an attribute that came later
				}
			}
		}
		if diff := cmp.Diff(was, now); diff != "" {
			t.Errorf("%s, the state has other attributes (-recorded +today):\n%s", when, diff)
		}
	}
	same("after the upgrade", lists(t, h), r.Lists)
	for name, was := range r.Configurations {
		same("after the upgrade, to "+name, configuration(admin, name), was)
	}
	plan("after the upgrade")
	scopes(t, h.URL, r.Tokens)

	axle := commands(t, h.URL, h.AdminToken)
	var risks []risk
	must(t, json.Unmarshal([]byte(axle("axle hub at-risk -o json")), &risks))
	var lines []string
	for _, v := range risks {
		lines = append(lines, v.Kind+" "+v.Object)
		t.Logf("%s %s: %s\n%s", v.Kind, v.Object, v.Why, v.Command)
	}
	if !slices.Equal(lines, atRisk) {
		t.Errorf("at risk are\n%q, want\n%q", lines, atRisk)
	}
	// The command of today lists it of the hub of before, which has no such call.
	bySubject := cmpopts.SortSlices(func(a, b risk) bool { return a.Kind+" "+a.Object < b.Kind+" "+b.Object })
	if diff := cmp.Diff(risks, listed, bySubject); diff != "" {
		t.Errorf("before the upgrade, axle upgrade --check lists something else (-after +before):\n%s", diff)
	}
	for _, v := range risks {
		axle(v.Command)
		if _, move, plans := strings.Cut(v.Command, " && "); plans && strings.HasSuffix(move, " --plan") {
			axle(strings.TrimSuffix(move, " --plan")) // once the plan was read
		}
	}
	eventually.For(t, limit, "nothing is at risk", func() error {
		if left := strings.TrimSpace(axle("axle hub at-risk -o json")); left != "[]" {
			return fmt.Errorf("settled, there are still %s", left)
		}
		return nil
	})
	// A service that had the hub's name is gone from the hub; a handle is in what services
	// are given, so there are other specs. Nothing else is delivered otherwise.
	same("once all is settled", delivered(lists(t, h)), delivered(r.Lists))
	plan("once all is settled")
}

// attributes are those of each resource in the state of a folder, with the address of the
// hub, empty for the recorded one, as HUB.
func attributes(t *testing.T, dir, hub string) map[string]map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	must(t, err)
	var state struct {
		Resources []struct {
			Type, Name string
			Instances  []struct{ Attributes map[string]any }
		}
	}
	must(t, json.Unmarshal(text, &state))
	out := map[string]map[string]any{}
	for _, r := range state.Resources {
		for i, instance := range r.Instances {
			out[fmt.Sprintf("%s.%s[%d]", r.Type, r.Name, i)] = instance.Attributes
		}
	}
	if hub == "" {
		hub, _, _ = strings.Cut(out["axle_login_provider.company[0]"]["callback_url"].(string), "/login/")
	}
	for _, values := range out {
		for name, value := range values {
			if text, ok := value.(string); ok {
				values[name] = strings.ReplaceAll(text, hub, "HUB")
			}
		}
	}
	return out
}

// atRisk is what somebody must decide about the fleet.
var atRisk = []string{
	"hub_cluster cluster mgmt", "service_account service till/payroll", "group group kubeadm:cluster-admins", "handle cluster mine", "service service mine/axle-agent",
	"source service kiosk/logs", "source service till/by-url", "source service till/two", "source service till/web", "tag cluster edge-1", "tag cluster kiosk", "tag cluster mine", "tag cluster till",
}

// delivered is what each service of the lists has.
func delivered(all map[string]desiredList) map[string]string {
	out := map[string]string{}
	for cluster, list := range all {
		for _, s := range list.Services {
			if s.Name != "axle-agent" {
				out[cluster+"/"+s.Name] = s.Namespace + " " + s.TarballDigest + " " + s.Parts
			}
		}
	}
	return out
}

// scopes holds that tokens of before do what their scopes say, and no more.
func scopes(t *testing.T, hub string, tokens map[string]string) {
	t.Helper()
	const protect = `{"ref": {"cluster": "till", "name": "plain"}, "spec": {"protect": true}, "fields": ["protect"], "dryRun": true}`
	for _, tt := range []struct {
		token, procedure, request string
		want                      int
	}{
		{"admin", "Hub/AtRisk", `{}`, http.StatusOK},
		{"admin-read", "Services/List", `{}`, http.StatusOK},
		{"admin-read", "Services/Update", protect, http.StatusForbidden},
		{"admin-read", "Hub/AtRisk", `{}`, http.StatusForbidden},
		{"admin-write", "Services/Update", protect, http.StatusOK},
		{"admin-write", "Users/Create", `{"email": "more@example.com"}`, http.StatusForbidden},
		{"owner", "Services/Update", protect, http.StatusOK},
		{"stranger", "Services/Update", protect, http.StatusNotFound},
		{"stranger", "Services/Get", `{"ref": {"cluster": "till", "name": "plain"}}`, http.StatusNotFound},
		// What nobody may make anew.
		{"admin", "Groups/Create", `{"name": "kubeadm:cluster-admins"}`, http.StatusBadRequest},
		{"stranger", "Clusters/Create", `{"name": "more", "handle": "till", "project": "lab"}`, http.StatusConflict},
		{"owner", "Services/Apply", `{"ref": {"cluster": "till", "name": "more"}, "spec": {"serviceAccount": "payments/deployer", "namespace": "payments", "repository": "fleet-of-store", "git": {"ref": "main", "folder": "web"}}}`, http.StatusForbidden},
		{"owner", "Services/Apply", `{"ref": {"cluster": "till", "name": "more"}, "spec": {"git": {"url": "` + sharedURL + `", "ref": "main", "folder": "web"}}}`, http.StatusBadRequest},
	} {
		if status, text := (caller{t, hub, tokens[tt.token]}).try(tt.procedure, "%s", tt.request); status != tt.want {
			t.Errorf("%s %s by %s: %d, want %d: %s", tt.procedure, tt.request, tt.token, status, tt.want, text)
		}
	}
}

// olderHub answers what the hub of the fleet answered while it was the one of before, and
// returns its address. It has no calls but the recorded ones.
func olderHub(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(fleetDir, answersFile))
	must(t, err)
	var answers map[string]json.RawMessage
	must(t, json.Unmarshal(text, &answers))
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		procedure := strings.TrimPrefix(r.URL.Path, "/axle.hub.v1.")
		answer, known := answers[procedure]
		if !known {
			http.NotFound(w, r)
			return
		}
		encoded, err := inCodecOf(r, procedure, answer)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, _ = w.Write(encoded) // a command that went away has failed by itself
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// inCodecOf is a recorded answer in the encoding of the request. What today's messages
// do not know is left out, as a client would.
func inCodecOf(r *http.Request, procedure string, answer []byte) ([]byte, error) {
	if r.Header.Get("Content-Type") == "application/json" {
		return answer, nil
	}
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("axle.hub.v1." + strings.ReplaceAll(procedure, "/", ".")))
	if err != nil {
		return nil, err
	}
	method, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no call", procedure)
	}
	m := dynamicpb.NewMessage(method.Output())
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(answer, m); err != nil {
		return nil, err
	}
	return proto.Marshal(m)
}

// commands returns what runs lines of a shell with the axle command of this tree.
func commands(t *testing.T, hub, token string) func(line string) (out string) {
	t.Helper()
	program, err := bin.Path(t.Context(), "axle", bin.Options{})
	must(t, err)
	env := append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "AXLE_CONFIG="+filepath.Join(t.TempDir(), "none.yaml"), "AXLE_HUB_URL="+hub, "AXLE_TOKEN="+token)
	return func(line string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		c := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", line)
		c.Env = env
		var said strings.Builder
		c.Stderr = &said
		out, err := c.Output()
		if err != nil {
			t.Errorf("%s: %v\n%s%s", line, err, out, said.String())
		}
		return string(out)
	}
}
