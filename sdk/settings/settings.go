// Package settings reads and writes the file of contexts: the hubs that a person is
// logged in to with axle login, and their tokens there. The command line writes it, and
// the Terraform provider reads it.
//
// Invariant: only its owner can read the file.
package settings

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
)

// Target is one hub and the credentials for it.
type Target struct {
	URL   string `json:"url"`
	Token string `json:"token,omitempty"`
	// CA is PEM certificates to trust in place of the system's.
	CA string `json:"ca,omitempty"`
	// Session is true if axle login obtained the token; axle logout then ends
	// it.
	Session bool `json:"session,omitempty"`
}

// Settings is the file of contexts, by their names, with the name of the current
// one.
type Settings struct {
	Current  string            `json:"current"`
	Contexts map[string]Target `json:"contexts"`
}

// path is $AXLE_CONFIG, or axle/config.yaml in the user's configuration folder.
func path(getenv func(string) string) (string, error) {
	if path := getenv("AXLE_CONFIG"); path != "" {
		return path, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", errcode.New(errcode.Invalid, "no folder for settings: %w; set AXLE_CONFIG", err)
	}
	return filepath.Join(dir, "axle", "config.yaml"), nil
}

// Load reads the file. A missing one is an empty one.
func Load(getenv func(string) string) (Settings, error) {
	s := Settings{Contexts: map[string]Target{}}
	path, err := path(getenv)
	if err != nil {
		return s, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, errcode.New(errcode.Invalid, "read settings: %w", err)
	}
	if err := yaml.UnmarshalStrict(data, &s); err != nil {
		return s, errcode.New(errcode.Invalid, "settings %s: %w; fix or remove the file and log in again", path, err)
	}
	if s.Contexts == nil {
		s.Contexts = map[string]Target{}
	}
	return s, nil
}

// Change changes the file. Nobody else who changes it does so meanwhile.
func Change(getenv func(string) string, change func(*Settings) error) error {
	path, err := path(getenv)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return errcode.New(errcode.Invalid, "write settings: %w", err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return errcode.New(errcode.Invalid, "write settings: %w", err)
	}
	defer lock.Close() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return errcode.New(errcode.Invalid, "write settings: lock %s: %w", lock.Name(), err)
	}
	s, err := Load(getenv)
	if err != nil {
		return err
	}
	if err := change(&s); err != nil {
		return err
	}
	data, err := yaml.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, data, 0o600)
}
