package identity

import (
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
)

func TestBadBindingsAreRefused(t *testing.T) {
	good := NewBinding{SubjectKind: KindUser, Subject: "ann@example.com", Actions: []Action{ActionRead}, Level: LevelProject, ObjectID: "prj_1"}
	tests := map[string]struct {
		change func(*NewBinding)
		code   errcode.Code
		says   string
	}{
		"as it is":               {func(*NewBinding) {}, "", ""},
		"the hub":                {func(n *NewBinding) { n.Level, n.ObjectID = LevelHub, "" }, "", ""},
		"all actions":            {func(n *NewBinding) { n.Actions = boundActions }, "", ""},
		"no subject":             {func(n *NewBinding) { n.Subject = "" }, errcode.Invalid, "subject"},
		"a long subject":         {func(n *NewBinding) { n.Subject = strings.Repeat("a", 201) }, errcode.Invalid, "subject"},
		"a cluster as subject":   {func(n *NewBinding) { n.SubjectKind = KindCluster }, errcode.Invalid, "kind of subject"},
		"no kind of subject":     {func(n *NewBinding) { n.SubjectKind = "" }, errcode.Invalid, "kind of subject"},
		"no action":              {func(n *NewBinding) { n.Actions = nil }, errcode.Invalid, "at least one"},
		"admin":                  {func(n *NewBinding) { n.Actions = []Action{ActionRead, ActionAdmin} }, errcode.Invalid, "cannot be bound"},
		"self":                   {func(n *NewBinding) { n.Actions = []Action{ActionSelf} }, errcode.Invalid, "cannot be bound"},
		"deliver":                {func(n *NewBinding) { n.Actions = []Action{ActionDeliver} }, errcode.Invalid, "cannot be bound"},
		"an empty action":        {func(n *NewBinding) { n.Actions = []Action{""} }, errcode.Invalid, "cannot be bound"},
		"no level":               {func(n *NewBinding) { n.Level = "" }, errcode.Invalid, "whole hub"},
		"an unknown level":       {func(n *NewBinding) { n.Level = "namespace" }, errcode.Invalid, "whole hub"},
		"the hub with an object": {func(n *NewBinding) { n.Level = LevelHub }, errcode.Invalid, "whole hub"},
		"a project without one":  {func(n *NewBinding) { n.ObjectID = "" }, errcode.Invalid, "whole hub"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			n := good
			tc.change(&n)
			if err := n.check(); errcode.Of(err) != tc.code || tc.code != "" && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q: %s", err, tc.code, tc.says)
			}
		})
	}
}

func TestNames(t *testing.T) {
	users := map[string]bool{
		"ann@example.com": true, "Ann <ann@example.com>": true, "": false, "ann": false, "system:admin@x": false, `"system:masters"@x.org`: false,
		`"axle:admins"@x.org`: false, "a b@x.org": false, "ann@example.com\nbob@example.com": false, strings.Repeat("a", 200) + "@x.org": false,
	}
	for name, good := range users {
		if got, err := checkUserName(KindUser, name); (err == nil) != good {
			t.Errorf("user %q is kept as %q, %v; want good %v", name, got, err, good)
		}
	}
	accounts := map[string]bool{"ci": true, "ci.deploy-1": true, "": false, "system:serviceaccount:x": false, "CI": false, "-ci": false, "ci-": false, "a/b": false, "ann@example.com": false, strings.Repeat("a", 64): false}
	for name, good := range accounts {
		if _, err := checkUserName(KindServiceAccount, name); (err == nil) != good {
			t.Errorf("service account %q: %v, want good %v", name, err, good)
		}
	}
	// Names of groups are checked before anything is read or written.
	for _, name := range []string{"", "axle:admins", "Axle:x", "system:masters", "SYSTEM:masters", "kubeadm:cluster-admins", "oidc:web", " web", "web ", "a\nb", "a,b", strings.Repeat("a", 200)} {
		if _, err := new(groups).CreateGroup(t.Context(), "ann", name, ""); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("group %q: %v", name, err)
		}
	}
}

// FuzzBinding searches for input that check accepts and that no binding may
// have, and for names that a cluster would treat as its own.
func FuzzBinding(f *testing.F) {
	f.Add("user", "ann@example.com", "read,write", "project", "prj_1")
	f.Add("group", "system:masters", "admin", "hub", "")
	f.Add("service_account", "ci", "read,,git", "service", "x\x00y")
	f.Fuzz(func(t *testing.T, kind, subject, actions, level, id string) {
		n := NewBinding{SubjectKind: Kind(kind), Subject: subject, Level: Level(level), ObjectID: id}
		for _, a := range strings.Split(actions, ",") {
			n.Actions = append(n.Actions, Action(a))
		}
		if n.check() == nil {
			for _, a := range n.Actions {
				if a == ActionAdmin || a == ActionSelf || a == ActionDeliver || tokenScopes[a] == "" {
					t.Errorf("action %q can be bound", a)
				}
			}
			at := object{n.Level, n.ObjectID}
			if !slices.Contains(Scope{Project: id, Cluster: id, Service: id}.objects(nil), at) {
				t.Errorf("a binding at %v reaches nothing", at)
			}
		}
		for _, k := range []Kind{KindUser, KindServiceAccount} {
			if name, err := checkUserName(k, subject); err == nil && (reserved(name) || strings.ContainsAny(name, " \r\n\t\x00") || name == "") {
				t.Errorf("%s %q is kept as %q", k, subject, name)
			}
		}
	})
}
