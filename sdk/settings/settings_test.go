package settings_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/axle-cd/axle/sdk/settings"
)

// What is saved is read again, and only its owner can read the tokens.
func TestSettingsAreTheirOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "axle", "config.yaml")
	getenv := func(string) string { return path }
	want := settings.Settings{Current: "prod", Contexts: map[string]settings.Target{"prod": {URL: "https://hub.example.com", Token: "not a secret", Session: true}}}
	if err := settings.Change(getenv, func(s *settings.Settings) error { *s = want; return nil }); err != nil {
		t.Fatal(err)
	}
	if got, err := settings.Load(getenv); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for file, bits := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != bits {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
}

// TestChangesAtOnceAreAllKept: of logins to two hubs at once, one was lost.
func TestChangesAtOnceAreAllKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "axle", "config.yaml")
	getenv := func(name string) string { return map[string]string{"AXLE_CONFIG": path}[name] }
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := settings.Change(getenv, func(s *settings.Settings) error {
				s.Contexts[fmt.Sprint("hub-", i)] = settings.Target{URL: "https://hub.example.com"}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s, err := settings.Load(getenv)
	if err != nil || len(s.Contexts) != 20 {
		t.Errorf("%d contexts are left of 20, %v", len(s.Contexts), err)
	}
	refused := errors.New("refused")
	if err := settings.Change(getenv, func(s *settings.Settings) error { s.Contexts = nil; return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	if s, err := settings.Load(getenv); err != nil || len(s.Contexts) != 20 {
		t.Errorf("a change that failed was written: %d contexts, %v", len(s.Contexts), err)
	}
	for _, name := range []string{path, path + ".lock"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
