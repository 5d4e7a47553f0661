package apply_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/syncwindow"
)

// A person asks for a sync, and nothing is to do: no request is sent, and a
// restart knows as much as before.
func TestASyncThatFindsNothingSendsNothing(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	service.Revision, service.Settings = "r1", "settings"
	b.pass(service, fourObjects)

	mark := b.mark()
	for _, again := range []string{"s2", "s3"} {
		service.SpecDigest = again
		service.SyncRequest++
		result, ok := b.engine.Confirm(service)
		if !ok || result.Sync != apply.SyncSynced || result.Phase != apply.PhaseApplied {
			t.Fatalf("got %+v, %v", result, ok)
		}
		if state, _ := b.engine.State(service.ID); state.SpecDigest != again || state.SyncRequest != service.SyncRequest {
			t.Errorf("the state is %+v", state)
		}
	}
	service.SpecDigest, service.SyncRequest = "s4", 9
	if result := b.pass(service, fourObjects); result.Unchanged != 4 {
		t.Errorf("a whole pass: %+v", result)
	}
	if sent := b.requests(mark); len(sent) != 0 {
		t.Errorf("syncs without a change send requests:\n%s", sent)
	}
	b.engine = b.restart(nil)
	mark = b.mark()
	if result := b.pass(service, fourObjects); result.Unchanged != 4 {
		t.Errorf("after a restart: %+v", result)
	}
	if sent := b.requests(mark); len(sent) != 0 {
		t.Errorf("the first pass after a restart sends requests:\n%s", sent)
	}
}

// Whatever is not as the last pass left it is for a whole pass to see.
func TestConfirmSaysNo(t *testing.T) {
	b := newBed(t, nil)
	prepare := func(t *testing.T) apply.Service {
		service := newService("d1")
		service.Revision, service.Settings = "r1", "settings"
		b.pass(service, configMap("a", "v1"), configMap("b", "v1"))
		if _, ok := b.engine.Confirm(service); !ok {
			t.Fatal("a service that was just applied is not confirmed")
		}
		return service
	}
	window, err := syncwindow.Parse(syncwindow.Spec{Kind: syncwindow.Deny, Schedule: "* * * * *", Duration: "1h", Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*apply.Service){
		"other files":         func(s *apply.Service) { s.TarballDigest, s.Revision = "d2", "r2" },
		"other settings":      func(s *apply.Service) { s.Settings = "others" },
		"settings unknown":    func(s *apply.Service) { s.Settings = "" },
		"a prune is released": func(s *apply.Service) { s.PruneApproval = 1 },
		"another mode":        func(s *apply.Service) { s.Strict = true },
		"windows judge by it": func(s *apply.Service) { s.Windows = []syncwindow.Window{window} },
		"not all is known":    func(s *apply.Service) { s.Partial = "discovery failed" },
		"an object was deleted": func(s *apply.Service) {
			if err := b.admin.CoreV1().ConfigMaps(s.Namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		"an object was changed": func(s *apply.Service) {
			object, err := b.configMap(s.Namespace, "b")
			if err != nil {
				t.Fatal(err)
			}
			object.Data["key"] = "v2"
			if _, err := b.admin.CoreV1().ConfigMaps(s.Namespace).Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			service := prepare(t)
			change(&service)
			if result, ok := b.engine.Confirm(service); ok {
				t.Errorf("it is confirmed: %+v", result)
			}
		})
	}
}

// A sync that a person asked for once opens a window once, also after a
// restart: what windows judge by is stored.
func TestASyncOpensAWindowOnce(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	service.Revision, service.Settings = "r1", "settings"
	b.pass(service, configMap("a", "v1"))
	window, err := syncwindow.Parse(syncwindow.Spec{Kind: syncwindow.Deny, Schedule: "* * * * *", Duration: "1h", Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	service.Windows = []syncwindow.Window{window}
	service.SpecDigest, service.SyncRequest = "s2", 1
	if result := b.pass(service, configMap("a", "v1")); result.Phase != apply.PhaseApplied {
		t.Fatalf("a sync of what is applied: %+v", result)
	}
	b.engine = b.restart(nil)
	service.TarballDigest, service.Revision, service.SpecDigest = "d2", "r2", "s3"
	if result := b.pass(service, configMap("a", "v2")); result.Reason != apply.ReasonWindow || result.Again <= time.Second {
		t.Errorf("a request that was taken up opened the window again: %+v", result)
	}
}
