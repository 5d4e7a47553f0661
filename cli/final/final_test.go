package final_test

import (
	"strings"
	"testing"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/final"
)

func TestOnlyWhatWaitingCannotMendIsFinal(t *testing.T) {
	failed := func(source, message string) *hubv1.Service {
		return &hubv1.Service{Sync: "Failed", Errors: []*hubv1.ServiceError{{Source: source, Message: message}}}
	}
	for name, test := range map[string]struct {
		service *hubv1.Service
		// want is in the answer, empty when it may still become ready.
		want string
	}{
		"synced and progressing": {&hubv1.Service{Sync: "Synced", Health: "Progressing"}, ""},
		"degraded":               {&hubv1.Service{Sync: "Synced", Health: "Degraded", Message: "CrashLoopBackOff"}, ""},
		"a template fails":       {failed("render", "deploy.yaml:3: bad indent"), "bad indent"},
		"a source fails":         {failed("source", "it did not answer in time"), ""},
		"the API server is away": {&hubv1.Service{Sync: "Failed", Reason: "APIServerAway", Errors: []*hubv1.ServiceError{{Source: "render", Message: "x"}}}, ""},
		"an object is invalid":   {failed("apply", `apply ConfigMap x: Required value`), "Required value"},
		"a webhook is slow":      {failed("apply", "an admission webhook or the storage is slow"), ""},
		"a hook failed":          {&hubv1.Service{Sync: "Failed", Reason: "HookFailed", Message: "it is tried again"}, ""},
		"refused by limits":      {&hubv1.Service{Sync: "Failed", Reason: "NotPermitted", Message: "namespace x"}, "limits"},
		"an object of others":    {&hubv1.Service{Sync: "Failed", Reason: "NotOurs", Message: "adopt: true"}, "adopt: true"},
		"held for approval":      {&hubv1.Service{Cluster: "c", Name: "w", Sync: "Held", Reason: "PruneHeld"}, "approve-prune c/w"},
		"held by a window":       {&hubv1.Service{Sync: "Held", Reason: "SyncWindow"}, ""},
		"paused":                 {&hubv1.Service{Cluster: "c", Name: "w", Sync: "Paused", Paused: true}, "resume c/w"},
		"a repository refuses":   {&hubv1.Service{Sync: "Failed", Reason: "SourceError", Sources: []*hubv1.ServiceSource{{Repository: "fleet", Error: "https://x: Authentication failed"}}}, "axle repos update fleet"},
		"a repository is away":   {&hubv1.Service{Sync: "Failed", Reason: "SourceError", Sources: []*hubv1.ServiceSource{{Error: "the name cannot be resolved"}}}, ""},
		"the hub was away":       {&hubv1.Service{Sync: "Pending", Reason: "HubAway"}, ""},
		"waits for a dependency": {&hubv1.Service{Sync: "Pending", Reason: "Dependency"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var w final.Watch
			now := time.Unix(1e9, 0)
			test.service.PolledAt = 1
			w.Why(test.service, now)
			test.service.PolledAt = 2
			got := w.Why(test.service, now.Add(final.Settle))
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// A fault of the previous revision is no reason to end: the agent may not have seen
// the new one.
func TestWhatTheAgentSaidBeforeIsNotFinal(t *testing.T) {
	var w final.Watch
	s := &hubv1.Service{Sync: "Failed", PolledAt: 1, Errors: []*hubv1.ServiceError{{Source: "render", Message: "old"}}}
	now := time.Unix(1e9, 0)
	for range 20 {
		if why := w.Why(s, now); why != "" {
			t.Fatalf("no poll since: %s", why)
		}
		now = now.Add(final.Settle)
	}
	s.PolledAt = 2
	s.Sync, s.Errors = "Applying", nil
	if why := w.Why(s, now); why != "" {
		t.Error(why)
	}
	s.Sync, s.Errors = "Failed", []*hubv1.ServiceError{{Source: "render", Message: "new"}}
	if why := w.Why(s, now); why != "" {
		t.Errorf("at once: %s", why)
	}
	if why := w.Why(s, now.Add(final.Settle)); !strings.Contains(why, "new") {
		t.Errorf("never: %q", why)
	}
}
