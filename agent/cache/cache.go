package cache

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/seal"
	"github.com/axle-cd/axle/internal/tarball"
)

const (
	treesDir      = "cache"
	specsDir      = "specs"
	unfinished    = "unfinished-"
	recordSuffix  = ".json"
	refreshedFile = "refreshed.json"
)

// Config is what a Cache needs.
type Config struct {
	// Dir is the agent's data folder.
	Dir string
	// Sealer seals specs.
	Sealer *seal.Sealer
	// Limits bound one tree; zero means the defaults of package tarball.
	Limits tarball.Limits
	// Clock is the real one when nil.
	Clock clock.Clock
	// Observe, if set, is called after each download.
	Observe func(Transfer)
	// Boot names the machine's present boot; empty asks the kernel.
	Boot string
	// Log is silent when nil.
	Log *slog.Logger
}

// Cache keeps trees, specs and the list. It is safe for concurrent use; only one
// process may use a folder.
type Cache struct {
	cfg   Config
	trees string

	mu        sync.Mutex
	records   map[digest.Digest]record
	using     map[digest.Digest]int
	busy      map[digest.Digest]chan struct{}
	refreshed map[string]moments
	// last is the content that each service had last.
	last map[string]digest.Digest
	// doubted are trees from before the machine booted, not checked yet.
	doubted map[digest.Digest]bool

	// specsMu guards the fields about stored specs.
	specsMu sync.Mutex
	specs   map[string]storedSpec
	asked   asks
}

// record is what is known of a tree.
type record struct {
	// Bytes is the unpacked size, TarballBytes that of the download.
	Bytes        int64 `json:"bytes"`
	TarballBytes int64 `json:"tarballBytes"`
	// Boot is the boot of the machine during which the tree was last known to be
	// complete. Trees are not synced, and after a power failure files may lack bytes
	// although they are listed.
	Boot string `json:"boot,omitempty"`
}

// bootID is the machine's present boot. It is empty if unknown; then each start of
// the agent checks the trees it finds.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// New opens the folder and removes what a killed process left unfinished.
func New(cfg Config) (*Cache, error) {
	if cfg.Dir == "" || cfg.Sealer == nil {
		return nil, errcode.New(errcode.Internal, "a cache needs a folder and a sealer")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.Real{}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Transfer) {}
	}
	if cfg.Boot == "" {
		cfg.Boot = bootID()
	}
	c := &Cache{
		cfg: cfg, doubted: map[digest.Digest]bool{}, trees: filepath.Join(cfg.Dir, treesDir),
		records: map[digest.Digest]record{}, using: map[digest.Digest]int{},
		busy: map[digest.Digest]chan struct{}{}, refreshed: map[string]moments{},
		last: map[string]digest.Digest{}, specs: map[string]storedSpec{},
	}
	for _, dir := range []string{cfg.Dir, c.trees, filepath.Join(cfg.Dir, specsDir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, diskError("create the data folder", err)
		}
		if err := atomicfile.RemoveUnfinished(dir); err != nil {
			return nil, diskError("clean the data folder", err)
		}
	}
	if err := c.load(); err != nil {
		return nil, diskError("read the data folder", err)
	}
	if err := c.loadAsked(); err != nil {
		return nil, diskError("read the data folder", err)
	}
	c.loadRefreshed()
	for service, a := range c.Applied() {
		c.last[service] = digest.Digest(a.TarballDigest)
	}
	if err := c.sweepPartials(nil); err != nil {
		return nil, diskError("clean the data folder", err)
	}
	return c, nil
}

// load finds the complete trees and removes all others.
func (c *Cache) load() error {
	entries, err := os.ReadDir(c.trees)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), recordSuffix)
		d, err := digest.Parse(digest.Prefix + name)
		if err == nil && !e.IsDir() {
			if r, ok := c.readRecord(d); ok {
				c.records[d] = r
				if r.Boot == "" || r.Boot != c.cfg.Boot {
					c.doubted[d] = true
				}
			}
		}
	}
	for _, e := range entries {
		d := digest.Digest(digest.Prefix + strings.TrimSuffix(e.Name(), recordSuffix))
		if _, ok := c.records[d]; ok {
			continue
		}
		if err := os.RemoveAll(filepath.Join(c.trees, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cache) readRecord(d digest.Digest) (record, bool) {
	var r record
	text, err := os.ReadFile(c.recordPath(d))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return r, false
	}
	info, err := os.Stat(c.treePath(d))
	return r, err == nil && info.IsDir()
}

func (c *Cache) treePath(d digest.Digest) string { return filepath.Join(c.trees, d.Hex()) }

func (c *Cache) recordPath(d digest.Digest) string { return c.treePath(d) + recordSuffix }

// Keep removes all trees but the named ones, those in use, and the previous tree of a
// service whose named tree is not here yet. It forgets other services. services maps
// service ids to digests.
func (c *Cache) Keep(services map[string]digest.Digest) error {
	keep := map[digest.Digest]bool{}
	for _, d := range services {
		keep[d] = true
	}
	errs := []error{c.sweepPartials(keep)}
	c.mu.Lock()
	for service, d := range services {
		if _, here := c.records[d]; !here {
			keep[c.last[service]] = true
		}
	}
	var gone []digest.Digest
	for d := range c.records {
		if !keep[d] && c.using[d] == 0 && c.busy[d] == nil {
			gone = append(gone, d)
			delete(c.records, d)
		}
	}
	for id := range c.refreshed {
		if _, ok := services[id]; !ok {
			delete(c.refreshed, id)
		}
	}
	for id := range c.last {
		if _, ok := services[id]; !ok {
			delete(c.last, id)
		}
	}
	c.mu.Unlock()
	for _, d := range gone {
		errs = append(errs, c.remove(d))
	}
	return errors.Join(errs...)
}

// remove deletes a tree, its record first: a tree without a record is not used.
func (c *Cache) remove(d digest.Digest) error {
	c.cfg.Log.Debug("removing a tree from the cache", logkey.Digest, d.Short())
	if err := os.Remove(c.recordPath(d)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return diskError("remove a tree", err)
	}
	if err := os.RemoveAll(c.treePath(d)); err != nil {
		return diskError("remove a tree", err)
	}
	return nil
}

// diskError explains an error of the data folder.
func diskError(what string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return errcode.New(errcode.Exhausted,
			"%s: the disk of the agent's data folder is full; free some space or enlarge the volume; applied objects stay as they are: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
