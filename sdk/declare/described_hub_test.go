package declare_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/declare"
	"github.com/axle-cd/axle/sdk/manifest"
)

// declared names everything before what it needs.
const declared = `apiVersion: deployments.plural.sh/v1alpha1
kind: NotificationRouter
metadata: {name: failures}
spec:
  projectRef: {name: shop}
  events: [service.update, cluster.create]
  filters: [{cluster: edge-1}, {regex: /api$}]
  sinks: [{name: people}, {name: ci}]
---
apiVersion: deployments.plural.sh/v1alpha1
kind: NotificationSink
metadata: {name: ci}
spec:
  projectRef: {name: shop}
  type: WEBHOOK
  configuration: {webhook: {url: "https://ci.example.com/hooks/1"}}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: NotificationSink
metadata: {name: people}
spec:
  projectRef: {name: shop}
  type: PLURAL
  bindings: [{userEmail: zoe@example.com}, {userEmail: admin@example.com}]
---
apiVersion: axle-cd.github.io/v1alpha1
kind: User
metadata: {name: zoe}
spec: {email: zoe@example.com}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: Project
metadata: {name: shop}
spec: {name: shop}
`

func client(t *testing.T) *sdk.Client {
	t.Helper()
	h := hubtest.New(t, hubtest.Config{})
	c, err := sdk.New(sdk.Config{URL: h.URL, Token: h.AdminToken})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// items reads manifests as the manager operator/1.
func items(t *testing.T, text string) []manifest.Item {
	t.Helper()
	file := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := manifest.Read([]string{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].Management = &hubv1.Management{By: &hubv1.Manager{Tool: "apply", Id: "one"}}
	}
	return all
}

func kindOf(t *testing.T, name string) declare.Kind {
	t.Helper()
	k, ok := declare.Of(name)
	if !ok {
		t.Fatalf("%s has no calls", name)
	}
	return k
}

// TestObjectsByTheirDescription writes, reads, compares and removes objects of kinds
// that only a description declares.
func TestObjectsByTheirDescription(t *testing.T) {
	c, ctx := client(t), t.Context()
	all := items(t, declared)
	for i, want := range []string{"Project", "User", "NotificationSink", "NotificationSink", "NotificationRouter"} {
		if all[i].Kind != want {
			t.Fatalf("item %d is a %s, want a %s", i, all[i].Kind, want)
		}
	}
	for _, item := range all {
		kind := kindOf(t, item.Kind)
		if have, err := kind.Read(ctx, c, &item); err != nil || have != nil {
			t.Errorf("%s before it exists: %v, %v", item.Name, have, err)
		}
		made, err := kind.Write(ctx, c, &item, nil)
		if err != nil {
			t.Fatalf("%s: %v", item.Name, err)
		}
		have, err := kind.Read(ctx, c, &item)
		if err != nil || have == nil || have.ID == "" || have.ID != made.ID || have.By.GetId() != "one" || !kind.Same(c, &item, have) {
			t.Errorf("%s: %+v, %v", item.Name, have, err)
		}
		if hidden := declare.Hides(&item); hidden != (item.Name == "ci") {
			t.Errorf("%s hides a value: %v", item.Name, hidden)
		}
	}
	testChanges(t, c)

	sinks := kindOf(t, "NotificationSink")
	mine, theirs := all[1].Management.GetBy(), &hubv1.Manager{Tool: "apply", Id: "two"}
	if names, err := sinks.Managed(ctx, c, mine); err != nil || !slices.Equal(slices.Sorted(slices.Values(names)), []string{"ci", "people"}) {
		t.Errorf("managed: %v, %v", names, err)
	}
	if names, err := sinks.Managed(ctx, c, theirs); err != nil || len(names) != 0 {
		t.Errorf("managed by another one: %v, %v", names, err)
	}
	var others *declare.OfOthers
	if err := sinks.Remove(ctx, c, "ci", theirs); !errors.As(err, &others) {
		t.Errorf("removed by another manager: %v", err)
	}
	// What names others goes first: the hub keeps a sink that a router names.
	for _, kind := range declare.Rights() {
		names, err := kindOf(t, kind).Managed(ctx, c, mine)
		for _, name := range names {
			err = errors.Join(err, kindOf(t, kind).Remove(ctx, c, name, mine))
		}
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for _, item := range all[1:] {
		if have, err := kindOf(t, item.Kind).Read(ctx, c, &item); err != nil || have != nil {
			t.Errorf("%s stays: %v, %v", item.Name, have, err)
		}
		if err := kindOf(t, item.Kind).Remove(ctx, c, item.Name, mine); err != nil {
			t.Errorf("%s is removed again: %v", item.Name, err)
		}
	}
}

// testChanges compares what the hub has with manifests that differ in one field.
func testChanges(t *testing.T, c *sdk.Client) {
	for _, change := range []struct {
		name, before, after string
		same                bool
	}{
		{"failures", "[{name: people}, {name: ci}]", "[{name: ci}, {name: people}]", true},
		{"failures", "[service.update, cluster.create]", "[service.update]", false},
		{"failures", "cluster: edge-1", "cluster: edge-2", false},
		{"failures", "[{cluster: edge-1}, {regex: /api$}]", "[{regex: /api$}, {cluster: edge-1}]", false},
		{"people", "[{userEmail: zoe@example.com}, {userEmail: admin@example.com}]", "[{userEmail: admin@example.com}, {userEmail: zoe@example.com}]", true},
		{"people", "{userEmail: zoe@example.com}, ", "", false},
		{"people", "type: PLURAL", "type: PLURAL\n  configuration: {plural: {priority: HIGH}}", false},
		{"ci", "hooks/1", "hooks/2", true}, // nobody sees it
	} {
		text := strings.Replace(declared, change.before, change.after, 1)
		if text == declared {
			t.Fatalf("%s is not in the manifests", change.before)
		}
		for _, item := range items(t, text) {
			if item.Name != change.name {
				continue
			}
			kind := kindOf(t, item.Kind)
			have, err := kind.Read(t.Context(), c, &item)
			if err != nil || have == nil || kind.Same(c, &item, have) != change.same {
				t.Errorf("%s with %s: %+v, %v; want same %v", change.name, change.after, have, err, change.same)
			}
		}
	}
}

// TestAKeyThatIsGivenUp is a field that empties another one of the object.
func TestAKeyThatIsGivenUp(t *testing.T) {
	c, ctx := client(t), t.Context()
	item := items(t, strings.Split(declared, "---\n")[1])[0]
	request := item.Request.(*hubv1.ApplyNotificationSinkRequest)
	request.Settings.Project, request.Secret, request.Unsigned = "", "0123456789abcdef", false
	kind := kindOf(t, item.Kind)
	have, err := kind.Write(ctx, c, &item, nil)
	if err != nil || !kind.Same(c, &item, have) {
		t.Fatalf("%+v, %v", have, err)
	}
	request.Secret, request.Unsigned = "", true
	if kind.Same(c, &item, have) {
		t.Error("a signed sink is the same as one that gives the key up")
	}
	if have, err = kind.Write(ctx, c, &item, have); err != nil || !kind.Same(c, &item, have) {
		t.Errorf("%+v, %v", have, err)
	}
}

// TestASinkOfDiscord has its URL from a Secret, as every type that the kind has no field for.
func TestASinkOfDiscord(t *testing.T) {
	c := client(t)
	item := items(t, `apiVersion: v1
kind: Secret
metadata: {name: hook}
stringData: {url: "https://discord.example.com/api/webhooks/1/T0KENT0KENT0KEN"}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: NotificationSink
metadata: {name: gamers}
spec: {type: DISCORD, configuration: {urlSecretRef: {name: hook, key: url}}}
`)[0]
	kind := kindOf(t, item.Kind)
	made, err := kind.Write(t.Context(), c, &item, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := made.Message.(*hubv1.NotificationSink); s.GetHost() != "discord.example.com" || strings.Contains(s.String(), "T0KEN") || !kind.Same(c, &item, made) {
		t.Errorf("%v", s)
	}
}

// TestCallsByName are those of sdk.Objects that the engine above does not make.
func TestCallsByName(t *testing.T) {
	c, ctx := client(t), t.Context()
	if _, ok := c.Objects("HubSettings"); ok {
		t.Error("a kind without calls has some")
	}
	if _, ok := declare.Of("ServiceAccount"); ok || slices.Contains(declare.Rights(), "Group") {
		t.Error("kinds that only the operator reads are applied or pruned")
	}
	sinks, ok := c.Objects("NotificationSink")
	if !ok {
		t.Fatal("sinks have no calls")
	}
	if _, err := sinks.Get(ctx, "none"); !sdk.IsNotFound(err) {
		t.Errorf("a sink that is not there: %v", err)
	}
	request := &hubv1.ApplyNotificationSinkRequest{Name: "inbox", Settings: &hubv1.NotificationSinkSettings{Type: "PLURAL", Users: []string{"admin@example.com"}}}
	for i, want := range []string{"created", "unchanged"} {
		made, result, err := sinks.Write(ctx, request, i > 0)
		if err != nil || result != want || made.(*hubv1.NotificationSink).GetName() != "inbox" {
			t.Errorf("%v, %q, %v; want %q", made, result, err, want)
		}
	}
	if list, err := sinks.List(ctx, nil); err != nil || len(list) != 1 || sdk.Text(list[0], "name") != "inbox" {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := c.Call(ctx, "NotificationSinks/Get", request); !errcode.Is(err, errcode.Internal) {
		t.Errorf("a request of another call: %v", err)
	}
	if _, err := c.Call(ctx, "NotificationSinks/Nothing", request); !errcode.Is(err, errcode.Internal) {
		t.Errorf("a call that is not there: %v", err)
	}
	if err := sinks.Delete(ctx, "inbox", nil); err != nil {
		t.Error(err)
	}
	if list, err := sinks.List(ctx, nil); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}
