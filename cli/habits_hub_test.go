package cli_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/hub/hubtest"
)

// TestTheHabitsOnARealHub makes, shows and deletes things of many kinds on a
// real hub, as scripts do.
func TestTheHabitsOnARealHub(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("AXLE_HUB_URL", h.URL)
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	run := func(args ...string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		return code, stdout.String(), stderr.String()
	}
	// does runs a command that must work.
	does := func(line string) string {
		t.Helper()
		code, out, errs := run(strings.Fields(line)...)
		if code != 0 {
			t.Fatalf("axle %s: exit %d: %s%s", line, code, out, errs)
		}
		return out
	}

	for _, line := range []string{"groups create web", "groups create ops", "projects create shop", "projects create blog", "serviceaccounts create ci", "servicecontexts create prod region=eu"} {
		does(line)
	}
	secret := does("webhooks create github --provider github -o jsonpath={.secret}")
	if token := does("tokens create script --scope read -o go-template={{.secret}}"); len(strings.TrimSpace(token)) < 20 || len(strings.TrimSpace(secret)) < 16 {
		t.Errorf("the secrets are %q and %q", token, secret)
	}
	for line, want := range map[string]string{
		"groups get web ops -o jsonpath={[*].name}":             "web ops\n",
		"projects get shop blog -q":                             "shop\nblog\n",
		"projects get shop -o jsonpath={.limits.namespaces}":    "[]\n",
		"serviceaccounts list -q":                               "ci\n",
		"webhooks list -o jsonpath={[0].provider}":              "github\n",
		"servicecontexts get prod -o jsonpath={.values.region}": "eu\n",
		"clusters list -o json":                                 "[]\n",
	} {
		if out := does(line); out != want {
			t.Errorf("axle %s: %q, want %q", line, out, want)
		}
	}

	// What scripts read keeps its names.
	for line, keys := range map[string]string{
		"projects get shop -o json":         "name description clusters services createdAt createdAge id limits",
		"groups get web -o json":            "name description members createdAt createdAge id",
		"tokens list -o json":               "id kind name owner scopes createdAt expiresAt lastUsedAt lastUsedAge project usesLeft namePattern endsWith madeBy",
		"users list -o json":                "name kind admin groups createdAt createdAge id",
		"serviceaccounts list -o json":      "id name admin createdAt tokens lastUsedAt lastUsedAge",
		"webhooks list -o json":             "name provider repository url createdAt deliveredAt deliveredAge outcome",
		"events -o json":                    "id at age kind object by message",
		"agents status -o json":             "version hubVersion phase wave waves message by updatedAt updatedAge targets",
		"backends migrate --status -o json": "from to phase copied deleted left problem startedAt finishedAt",
	} {
		out := does(line)
		var item map[string]any
		if list := []map[string]any{}; json.Unmarshal([]byte(out), &list) == nil && len(list) > 0 {
			item = list[0]
		} else if err := json.Unmarshal([]byte(out), &item); err != nil {
			t.Errorf("axle %s: %v in %s", line, err, out)
			continue
		}
		for _, key := range strings.Fields(keys) {
			if _, ok := item[key]; !ok {
				t.Errorf("axle %s: no %s in %s", line, key, out)
			}
		}
	}

	var events []struct{ At, Kind string }
	if err := json.Unmarshal([]byte(does("events --since 1h -o json")), &events); err != nil || len(events) == 0 || !slices.IsSortedFunc(events, func(a, b struct{ At, Kind string }) int { return strings.Compare(b.At, a.At) }) {
		t.Errorf("events of the last hour: %v %+v", err, events)
	}
	if out := does("events --since 2999-01-01T00:00:00Z -o json"); out != "[]\n" {
		t.Errorf("events of the future: %s", out)
	}

	does("groups delete web ops")
	does("projects delete shop blog --yes")
	code, _, errs := run("groups", "get", "web", "-o", "json")
	var failure struct {
		Code     string
		ExitCode int
	}
	if err := json.Unmarshal([]byte(errs), &failure); err != nil || code != 4 || failure.Code != "not_found" || failure.ExitCode != 4 {
		t.Errorf("a group that was deleted: exit %d, %v in %s", code, err, errs)
	}
	if code, _, errs = run("projects", "delete", "default", "none"); code == 0 || !strings.Contains(errs, "default: ") {
		t.Errorf("of several, the one that failed is named: exit %d, %s", code, errs)
	}
	if code, _, errs = run("services", "get", "edge/web"); code != 4 {
		t.Errorf("no such service: exit %d, %s", code, errs)
	}
	t.Setenv("AXLE_TOKEN", "axle_none")
	if code, _, errs = run("projects", "list"); code != 5 {
		t.Errorf("a token that is none: exit %d, %s", code, errs)
	}
	if out := does("version --client -o jsonpath={.version}"); !strings.HasSuffix(out, "\n") || len(out) < 4 {
		t.Errorf("the version is %q", out)
	}
}
