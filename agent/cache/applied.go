package cache

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/logkey"
)

const appliedFile = "applied.json"

// Applied is the human-readable names of what is applied of a service. The cluster's
// inventory has the digests; these names belong to them.
type Applied struct {
	TarballDigest  string `json:"tarballDigest"`
	SpecDigest     string `json:"specDigest"`
	Revision       int64  `json:"revision"`
	SourceRevision string `json:"sourceRevision"`
}

// PutApplied stores the names for all services.
func (c *Cache) PutApplied(all map[string]Applied) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteUnsynced(filepath.Join(c.cfg.Dir, appliedFile), text, 0o600); err != nil {
		return diskError("store the names of what is applied", err)
	}
	return nil
}

// Applied returns the names; none if the file is missing or damaged.
func (c *Cache) Applied() map[string]Applied {
	all := map[string]Applied{}
	text, err := os.ReadFile(filepath.Join(c.cfg.Dir, appliedFile))
	if errors.Is(err, os.ErrNotExist) {
		return all
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || all == nil {
		c.cfg.Log.Warn("cannot read the names of what is applied", logkey.Error, err)
		return map[string]Applied{}
	}
	return all
}
