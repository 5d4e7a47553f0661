package settings_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/axle-cd/axle/sdk/settings"
)

// What is saved is read again, and only its owner can read the tokens.
func TestSettingsAreTheirOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "axle", "config.yaml")
	getenv := func(string) string { return path }
	want := settings.Settings{Current: "prod", Contexts: map[string]settings.Target{"prod": {URL: "https://hub.example.com", Token: "not a secret", Session: true}}}
	if err := want.Save(getenv); err != nil {
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
