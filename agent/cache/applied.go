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

// Applied is how people call what is applied of a service. The cluster's
// inventory has the digests; these are the words that go with them.
type Applied struct {
	TarballDigest  string `json:"tarballDigest"`
	SpecDigest     string `json:"specDigest"`
	Revision       int64  `json:"revision"`
	SourceRevision string `json:"sourceRevision"`
}

// PutApplied stores the words for all services.
func (c *Cache) PutApplied(all map[string]Applied) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteUnsynced(filepath.Join(c.cfg.Dir, appliedFile), text, 0o600); err != nil {
		return diskError("note what is applied", err)
	}
	return nil
}

// Applied returns them; none when there is no file, or a damaged one.
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
		c.cfg.Log.Warn("the names of what is applied cannot be read", logkey.Error, err)
		return map[string]Applied{}
	}
	return all
}
