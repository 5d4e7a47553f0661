package terraform

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/terraform/shape"
)

// notResources are calls of kinds that no resource makes, with what stands for them.
var notResources = map[string]string{
	"Services/Apply":               "axle_service creates and updates",
	"Services/Pause":               "a pause is for an incident",
	"Services/Resume":              "a pause is for an incident",
	"Services/Rollback":            "a rollback is for an incident",
	"GlobalServices/PauseRollout":  "a pause is for an incident",
	"GlobalServices/ResumeRollout": "a pause is for an incident",
	"GlobalServices/AbortRollout":  "an abort is for an incident",
	"Backends/Migrate":             "it happens once",
	"Clusters/Move":                "it happens once, and a person looks at its plan: rights end and services may go",
	"Agents/PauseUpgrade":          "a pause is for an incident",
	"Agents/ResumeUpgrade":         "a pause is for an incident",
	"Agents/AbortUpgrade":          "an abort is for an incident",
	"Tokens/CreateBootstrap":       "ephemeral axle_bootstrap_token: its secret may be in no state",
	"ServiceAccounts/CreateToken":  "ephemeral axle_token: its secret may be in no state",
}

// notData are lists without a data source.
var notData = map[string]string{
	"Notifications/List":            "what one person sees",
	"Logins/ListSessions":           "the sessions of one person",
	"Logins/ListApplications":       "the logins of one person",
	"ApplicationClients/ListLogins": "the logins of people, which come and go",
	"Operations/List":               "what people did once",
	"Operations/ListTargets":        "what people did once",
	"ClusterAPI/ListObjects":        "objects of a cluster: the kubernetes provider reads them with ephemeral axle_kubeconfig",
	"ClusterAlerts/List":            "what fires in a cluster now",
	"Clusters/ListComponents":       "what a release of the hub can install on one cluster; a command does",
}

func methods(yield func(service string, m protoreflect.MethodDescriptor)) {
	protoregistry.GlobalFiles.RangeFilesByPackage("axle.hub.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				yield(string(s.Name()), s.Methods().Get(j))
			}
		}
		return true
	})
}

// TestEveryKindIsAResource fails when axle apply can write what no resource can.
func TestEveryKindIsAResource(t *testing.T) {
	requests := map[protoreflect.FullName]string{}
	methods(func(service string, m protoreflect.MethodDescriptor) {
		requests[m.Input().FullName()] = service + "/" + string(m.Name())
	})
	made := map[string]bool{}
	for _, k := range all {
		for _, c := range []*call{k.create, k.update, k.remove} {
			if c != nil {
				made[requests[c.in.ProtoReflect().Descriptor().FullName()]] = true
			}
		}
	}
	for _, w := range kinds.Writes {
		why, exempt := notResources[w.Call]
		switch {
		case !made[w.Call] && !exempt:
			t.Errorf("%s, which the kind %s stands for, has no resource: add it to kinds", w.Call, w.Kind)
		case made[w.Call] && exempt:
			t.Errorf("%s has a resource, and is said to have none: %s", w.Call, why)
		}
	}
}

// TestEveryListIsADataSource fails when the API has a list that no data source reads.
func TestEveryListIsADataSource(t *testing.T) {
	have := map[protoreflect.FullName]bool{}
	for _, l := range lists {
		have[l.call.in.ProtoReflect().Descriptor().FullName()] = true
	}
	found := 0
	methods(func(service string, m protoreflect.MethodDescriptor) {
		if name := string(m.Name()); !strings.HasPrefix(name, "List") || m.IsStreamingServer() {
			return
		}
		found++
		name := service + "/" + string(m.Name())
		if _, exempt := notData[name]; exempt == have[m.Input().FullName()] {
			t.Errorf("%s: has a data source: %v, is exempt: %v", name, have[m.Input().FullName()], exempt)
		}
	})
	if found < 20 {
		t.Errorf("only %d lists were found", found)
	}
}

// namesOfSecrets are attributes with the name of a Secret of Kubernetes, or of a key in it.
var namesOfSecrets = map[string]bool{"application.secret": true, "application.client_secret_key": true}

// TestAttributes checks what holds for the attributes of all kinds.
func TestAttributes(t *testing.T) {
	for _, k := range all {
		for _, key := range k.keys {
			if n := shape.Find(k.attributes, key); n == nil || !n.Immutable {
				t.Errorf("%s: the key %s is no attribute, or can change", k.name, key)
			}
		}
		if k.get == nil && k.list == nil {
			t.Errorf("%s: no call reads it", k.name)
		}
		var walk func(at string, nodes []*shape.Node)
		walk = func(at string, nodes []*shape.Node) {
			for _, n := range nodes {
				if n.VersionOf == "" && !n.WriteOnly && strings.Contains(n.Name, "secret") && !strings.Contains(n.Name, "pull_secrets") && !strings.Contains(n.Name, "secret_refs") && !namesOfSecrets[k.name+"."+n.Name] {
					t.Errorf("axle_%s.%s%s is in states; is it a secret?", k.name, at, n.Name)
				}
				walk(at+n.Name+".", n.Children)
			}
		}
		walk("", k.attributes)
	}
}

func TestHandle(t *testing.T) {
	for text, want := range map[string]string{
		"Prod EU (1)": "prod-eu-1", "edge-1": "edge-1", "--a__b--": "a-b", "arn:aws:eks:eu-1:1:cluster/prod": "arn-aws-eks-eu-1-1-cluster-prod",
		"Übung": "bung", "": "", "!!": "", strings.Repeat("ab-", 40): strings.TrimSuffix(strings.Repeat("ab-", 21), "-"),
	} {
		if got := handleOf(text); got != want || got != "" && !rule.Label.Valid(got) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzHandle(f *testing.F) {
	f.Add("Prod EU (1)")
	f.Fuzz(func(t *testing.T, text string) {
		if got := handleOf(text); got != "" && (!rule.Label.Valid(got) || slices.Contains([]byte(got), '.')) {
			t.Errorf("%q: %q is no name", text, got)
		}
	})
}

// TestNamesAreThoseOfTheHub tries names that the hub takes for one kind and not for another.
func TestNamesAreThoseOfTheHub(t *testing.T) {
	long := strings.Repeat("a", 200)
	tests := map[string]struct{ good, bad []string }{
		"project":             {[]string{"shop-1"}, []string{"shop.eu", "shop-", "Shop", long}},
		"cluster":             {[]string{"edge-1"}, []string{"edge.1", "edge-", long}},
		"repository":          {[]string{"fleet.git", long}, []string{"Fleet", "fleet_1"}},
		"webhook":             {[]string{"github.shop", long}, []string{"GitHub", "a-"}},
		"global_service":      {[]string{"web"}, []string{"web.eu"}},
		"managed_namespace":   {[]string{"shop"}, []string{"shop.eu"}},
		"service_context":     {[]string{"Prod_1.eu"}, []string{"-prod", long}},
		"login_provider":      {[]string{"okta"}, []string{"okta.eu", strings.Repeat("a", 41)}},
		"notification_sink":   {[]string{"team.ops", long}, []string{"Ops", "a_b"}},
		"notification_router": {[]string{"team.ops", long}, []string{"Ops", "a_b"}},
	}
	for _, k := range all {
		tc, ok := tests[k.name]
		if !ok {
			continue
		}
		delete(tests, k.name)
		check := shape.Find(k.attributes, "name").Check()
		for _, name := range tc.good {
			if err := check(name); err != nil {
				t.Errorf("%s: %v", k.name, err)
			}
		}
		for _, name := range tc.bad {
			if check(name) == nil {
				t.Errorf("%s: %q is planned, and no hub makes it", k.name, name)
			}
		}
	}
	if len(tests) > 0 {
		t.Errorf("not tried: %v", tests)
	}
}
