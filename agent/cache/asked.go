package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/logkey"
)

// When somebody requests a sync or a diff, a counter in the spec changes, and with it
// the digest. A sync of a whole cluster would rewrite each of its sealed specs.
// Instead, the counters of all specs that arrived together are appended to one file,
// each with the digest of the spec that it changes. A line for another digest is
// ignored, so specs and lines can be written in any order, and a kill between them
// leaves the state before or after.

const (
	askedFile = "asked"
	// sealedAsked binds a line to this file.
	sealedAsked = "asked"
	// spareLines: the file is rewritten when it has this many lines more than twice
	// the needed ones.
	spareLines = 1000
)

// ask is people's requests to a service, stored beside its spec.
type ask struct {
	ID string `json:"id"`
	// Base is the digest of the stored spec that it belongs to; empty if there is
	// none.
	Base          string   `json:"base,omitempty"`
	SpecDigest    string   `json:"specDigest,omitempty"`
	SyncRequest   int64    `json:"syncRequest,omitempty"`
	SyncResources []string `json:"syncResources,omitempty"`
	DiffRequest   int64    `json:"diffRequest,omitempty"`
}

// askedFields are the fields of a spec that an ask stores.
var askedFields = sync.OnceValue(func() []protowire.Number {
	fields := (&agentv1.ServiceSpec{}).ProtoReflect().Descriptor().Fields()
	var numbers []protowire.Number
	for _, name := range []protoreflect.Name{"spec_digest", "sync_request", "sync_resources", "diff_request"} {
		numbers = append(numbers, fields.ByName(name).Number())
	}
	return numbers
})

func askOf(spec *agentv1.ServiceSpec, base string) ask {
	return ask{
		ID: spec.GetId(), Base: base, SpecDigest: spec.GetSpecDigest(),
		SyncRequest: spec.GetSyncRequest(), SyncResources: spec.GetSyncResources(), DiffRequest: spec.GetDiffRequest(),
	}
}

func (a ask) onto(spec *agentv1.ServiceSpec) {
	spec.SpecDigest, spec.SyncRequest, spec.SyncResources, spec.DiffRequest = a.SpecDigest, a.SyncRequest, a.SyncResources, a.DiffRequest
}

// storedSpec is what is known of a spec on disk without reading it.
type storedSpec struct {
	digest string
	// rest is a hash over all fields but those of an ask.
	rest [sha256.Size]byte
}

// storedAs describes a stored spec, from its bytes.
func storedAs(spec *agentv1.ServiceSpec, plain []byte) storedSpec {
	h := sha256.New()
	for text := plain; len(text) > 0; {
		number, _, n := protowire.ConsumeField(text)
		if n < 0 {
			return storedSpec{} // equals no other: the spec is written completely
		}
		if !slices.Contains(askedFields(), number) {
			h.Write(text[:n])
		}
		text = text[n:]
	}
	s := storedSpec{digest: spec.GetSpecDigest()}
	h.Sum(s.rest[:0])
	return s
}

// asks are the lines of the file, the last one of each service. Cache.specsMu guards
// them.
type asks struct {
	of    map[string]ask
	lines int
}

func (c *Cache) askedPath() string { return filepath.Join(c.cfg.Dir, askedFile) }

// loadAsked reads the file. Unreadable lines are ignored: the hub has the data.
func (c *Cache) loadAsked() error {
	c.asked = asks{of: map[string]ask{}}
	text, err := os.ReadFile(c.askedPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if line == "" {
			continue
		}
		c.asked.lines++
		var a ask
		plain, err := c.cfg.Sealer.Open(line, sealedAsked)
		if err != nil || json.Unmarshal(plain, &a) != nil {
			continue
		}
		c.asked.note(a)
	}
	return nil
}

func (a *asks) note(one ask) {
	if one.Base == "" {
		delete(a.of, one.ID)
		return
	}
	a.of[one.ID] = one
}

// addAsked appends lines, or rewrites the file with the needed lines if most are
// obsolete. It does not sync, like the specs.
func (c *Cache) addAsked(all []ask) error {
	if len(all) == 0 {
		return nil
	}
	lines, err := c.askedLines(all)
	if err != nil {
		return err
	}
	// The file may end with half a line.
	lines = append([]byte{'\n'}, lines...)
	f, err := os.OpenFile(c.askedPath(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return diskError("store requests to services", err)
	}
	_, err = f.Write(lines)
	if err = errors.Join(err, f.Close()); err != nil {
		return diskError("store requests to services", err)
	}
	c.asked.lines += len(all)
	for _, one := range all {
		c.asked.note(one)
	}
	if c.asked.lines > 2*len(c.asked.of)+spareLines {
		if err := c.compactAsked(); err != nil {
			c.cfg.Log.Warn("cannot compact the file of requests to services", logkey.Error, err)
		}
	}
	return nil
}

// compactAsked rewrites the file with only the needed lines.
func (c *Cache) compactAsked() error {
	all := make([]ask, 0, len(c.asked.of))
	for _, one := range c.asked.of {
		all = append(all, one)
	}
	lines, err := c.askedLines(all)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteUnsynced(c.askedPath(), lines, 0o600); err != nil {
		return diskError("store requests to services", err)
	}
	c.asked.lines = len(all)
	return nil
}

func (c *Cache) askedLines(all []ask) ([]byte, error) {
	var lines bytes.Buffer
	for _, one := range all {
		plain, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		lines.WriteString(c.cfg.Sealer.Seal(plain, sealedAsked))
		lines.WriteByte('\n')
	}
	return lines.Bytes(), nil
}

// PutSpecs stores specs, and returns those that could not be stored, by service id. A
// spec that differs from the stored one only by people's requests is not written
// again.
func (c *Cache) PutSpecs(specs []*agentv1.ServiceSpec) map[string]error {
	failed := map[string]error{}
	c.specsMu.Lock()
	defer c.specsMu.Unlock()
	var beside []ask
	for _, spec := range specs {
		plain, err := proto.MarshalOptions{Deterministic: true}.Marshal(spec)
		if err != nil {
			failed[spec.GetId()] = err
			continue
		}
		now, have := storedAs(spec, plain), c.specs[spec.GetId()]
		if have.digest != "" && have.rest == now.rest {
			if one := askOf(spec, have.digest); spec.GetSpecDigest() != have.digest || c.asked.of[one.ID].Base != "" {
				beside = append(beside, one)
			}
			continue
		}
		if err := c.writeSpec(spec.GetId(), plain, now); err != nil {
			failed[spec.GetId()] = err
		}
	}
	if err := c.addAsked(beside); err != nil {
		for _, one := range beside {
			failed[one.ID] = err
		}
	}
	return failed
}
