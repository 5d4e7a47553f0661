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

// serviceID is a service id that can be used as a file name.
var serviceID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// PutSpec seals and stores a service's spec.
func (c *Cache) PutSpec(spec *agentv1.ServiceSpec) error {
	return c.PutSpecs([]*agentv1.ServiceSpec{spec})[spec.GetId()]
}

// writeSpec writes a spec's file.
func (c *Cache) writeSpec(id string, plain []byte, as storedSpec) error {
	path, err := c.specPath(id)
	if err != nil {
		return err
	}
	delete(c.specs, id)
	if err := atomicfile.WriteUnsynced(path, []byte(c.cfg.Sealer.Seal(plain, sealedFor(id))), 0o600); err != nil {
		return diskError("store a spec", err)
	}
	c.specs[id] = as
	if one, there := c.asked.of[id]; there && one.Base == as.digest {
		return c.addAsked([]ask{{ID: id}}) // requests to an earlier copy of the same spec
	}
	delete(c.asked.of, id)
	return nil
}

// Specs returns all stored specs by service id. A spec that cannot be decrypted is
// removed: the hub has it.
func (c *Cache) Specs() (map[string]*agentv1.ServiceSpec, error) {
	dir := filepath.Join(c.cfg.Dir, specsDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, diskError("read the specs", err)
	}
	c.specsMu.Lock()
	defer c.specsMu.Unlock()
	specs := map[string]*agentv1.ServiceSpec{}
	clear(c.specs)
	for _, e := range entries {
		spec, as, err := c.readSpec(e.Name())
		if err == nil {
			specs[spec.GetId()] = spec
			c.specs[spec.GetId()] = as
			continue
		}
		c.cfg.Log.Warn("ignoring an unusable stored spec; it will be fetched again", logkey.Service, e.Name(), logkey.Error, err)
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return nil, diskError("remove a spec", err)
		}
	}
	for id, one := range c.asked.of {
		if spec := specs[id]; spec != nil && one.Base == spec.GetSpecDigest() {
			one.onto(spec)
		} else {
			delete(c.asked.of, id)
		}
	}
	if c.asked.lines > len(c.asked.of) {
		if err := c.compactAsked(); err != nil {
			c.cfg.Log.Warn("cannot compact the file of requests to services", logkey.Error, err)
		}
	}
	return specs, nil
}

func (c *Cache) readSpec(id string) (*agentv1.ServiceSpec, storedSpec, error) {
	path, err := c.specPath(id)
	if err != nil {
		return nil, storedSpec{}, err
	}
	sealed, err := os.ReadFile(path)
	if err != nil {
		return nil, storedSpec{}, err
	}
	plain, err := c.cfg.Sealer.Open(string(sealed), sealedFor(id))
	if err != nil {
		return nil, storedSpec{}, err
	}
	var spec agentv1.ServiceSpec
	if err := proto.Unmarshal(plain, &spec); err != nil {
		return nil, storedSpec{}, err
	}
	if spec.GetId() != id {
		return nil, storedSpec{}, errcode.New(errcode.Internal, "it is the spec of another service")
	}
	return &spec, storedAs(&spec, plain), nil
}

// DropSpec forgets a service's spec.
func (c *Cache) DropSpec(id string) error {
	path, err := c.specPath(id)
	if err != nil {
		return err
	}
	c.specsMu.Lock()
	defer c.specsMu.Unlock()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return diskError("remove a spec", err)
	}
	delete(c.specs, id)
	return nil
}

func (c *Cache) specPath(id string) (string, error) {
	if !serviceID.MatchString(id) {
		return "", errcode.New(errcode.Invalid, "service id %.80q cannot be stored", id)
	}
	return filepath.Join(c.cfg.Dir, specsDir, id), nil
}

func sealedFor(id string) string { return "spec " + id }

// Remembered is what must survive a restart besides trees and specs.
type Remembered struct {
	// Signed is the last list as the hub signed it.
	Signed []byte `json:"signed,omitempty"`
	ETag   string `json:"etag,omitempty"`
	// Seen is the highest position accepted, in the format of the headers.
	Seen string `json:"seen,omitempty"`
	// Shown proves that the hub named a position, up to that one.
	Shown string `json:"shown,omitempty"`
	// Deletes says what deletes wait for, empty if they do not wait.
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

// Recall returns what was remembered, or the zero value. An unreadable file counts as
// missing: the hub has the list. The caller must verify the signature again.
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
		c.cfg.Log.Warn("ignoring the damaged stored list; it will be fetched again", logkey.Error, err)
		return Remembered{}, nil
	}
	return r, nil
}
