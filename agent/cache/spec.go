package cache

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const listFile = "list.json"

// serviceID is what may become a file name.
var serviceID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// PutSpec seals and stores a service's spec.
func (c *Cache) PutSpec(spec *agentv1.ServiceSpec) error {
	path, err := c.specPath(spec.GetId())
	if err != nil {
		return err
	}
	plain, err := proto.Marshal(spec)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteUnsynced(path, []byte(c.cfg.Sealer.Seal(plain, sealedFor(spec.GetId()))), 0o600); err != nil {
		return diskError("store a spec", err)
	}
	return nil
}

// Specs returns all stored specs by service id. One that does not open is
// removed: the hub has it.
func (c *Cache) Specs() (map[string]*agentv1.ServiceSpec, error) {
	dir := filepath.Join(c.cfg.Dir, specsDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, diskError("read the specs", err)
	}
	specs := map[string]*agentv1.ServiceSpec{}
	for _, e := range entries {
		spec, err := c.readSpec(e.Name())
		if err == nil {
			specs[spec.GetId()] = spec
			continue
		}
		c.cfg.Log.Warn("a stored spec cannot be used and will be fetched again", logkey.Service, e.Name(), logkey.Error, err)
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return nil, diskError("remove a spec", err)
		}
	}
	return specs, nil
}

func (c *Cache) readSpec(id string) (*agentv1.ServiceSpec, error) {
	path, err := c.specPath(id)
	if err != nil {
		return nil, err
	}
	sealed, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	plain, err := c.cfg.Sealer.Open(string(sealed), sealedFor(id))
	if err != nil {
		return nil, err
	}
	var spec agentv1.ServiceSpec
	if err := proto.Unmarshal(plain, &spec); err != nil {
		return nil, err
	}
	if spec.GetId() != id {
		return nil, errcode.New(errcode.Internal, "it is the spec of another service")
	}
	return &spec, nil
}

// DropSpec forgets a service's spec.
func (c *Cache) DropSpec(id string) error {
	path, err := c.specPath(id)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return diskError("remove a spec", err)
	}
	return nil
}

func (c *Cache) specPath(id string) (string, error) {
	if !serviceID.MatchString(id) {
		return "", errcode.New(errcode.Invalid, "service id %.80q cannot be stored", id)
	}
	return filepath.Join(c.cfg.Dir, specsDir, id), nil
}

func sealedFor(id string) string { return "spec " + id }

// Remembered is what must survive a restart beside trees and specs.
type Remembered struct {
	// Signed is the last list as the hub signed it.
	Signed []byte `json:"signed,omitempty"`
	ETag   string `json:"etag,omitempty"`
	// Seen is the highest position taken, in the form of the headers.
	Seen string `json:"seen,omitempty"`
	// Deletes says what deletes wait for, empty when they do not.
	Deletes string `json:"deletes,omitempty"`
}

// Remember stores it.
func (c *Cache) Remember(r Remembered) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(c.cfg.Dir, listFile), text, 0o600); err != nil {
		return diskError("store the list", err)
	}
	return nil
}

// Recall returns what was remembered, the zero value when nothing was. A file
// that cannot be read counts as none: the hub has the list. The caller checks
// the signature again.
func (c *Cache) Recall() (Remembered, error) {
	var r Remembered
	text, err := os.ReadFile(filepath.Join(c.cfg.Dir, listFile))
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, diskError("read the stored list", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		c.cfg.Log.Warn("the stored list is damaged and will be fetched again", logkey.Error, err)
		return Remembered{}, nil
	}
	return r, nil
}
