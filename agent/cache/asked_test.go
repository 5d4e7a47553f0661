package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/axle-cd/axle/agent/cache"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/seal"
)

// sealed opens caches of one key.
func sealed(t *testing.T) func(*cache.Config) {
	t.Helper()
	sealer, err := seal.OpenFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return func(cfg *cache.Config) { cfg.Sealer = sealer }
}

func specNamed(id string, ask int64) *agentv1.ServiceSpec {
	return &agentv1.ServiceSpec{
		Id: id, Name: id, SpecDigest: fmt.Sprintf("s1:%s-%d", id, ask), SyncRequest: ask,
		Secrets: map[string]string{"password": "hunter2", "user": "joe"}, Display: &agentv1.Display{Revision: 3},
	}
}

func putSpecs(t *testing.T, c *cache.Cache, specs ...*agentv1.ServiceSpec) {
	t.Helper()
	if failed := c.PutSpecs(specs); len(failed) > 0 {
		t.Fatal(failed)
	}
}

func recalled(t *testing.T, c *cache.Cache) map[string]*agentv1.ServiceSpec {
	t.Helper()
	specs, err := c.Specs()
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

// files are the stored specs with what tells whether one was written again.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(dir, "specs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, "specs", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text) // sealed twice it differs
	}
	return all
}

// A sync or a diff that is asked for writes no spec, and is there after a
// restart; anything else of a spec is written.
func TestASyncRequestWritesNoSpec(t *testing.T) {
	change := map[string]struct {
		edit  func(*agentv1.ServiceSpec)
		whole bool
	}{
		"a sync":          {func(s *agentv1.ServiceSpec) { s.SyncRequest = 7 }, false},
		"of some objects": {func(s *agentv1.ServiceSpec) { s.SyncRequest, s.SyncResources = 7, []string{"v1/ConfigMap/a"} }, false},
		"a diff":          {func(s *agentv1.ServiceSpec) { s.DiffRequest = 2 }, false},
		"only the digest": {func(*agentv1.ServiceSpec) {}, false},
		"a release":       {func(s *agentv1.ServiceSpec) { s.PruneApproval = 1 }, true},
		"a secret":        {func(s *agentv1.ServiceSpec) { s.Secrets["password"] = "other" }, true},
		"a revision":      {func(s *agentv1.ServiceSpec) { s.Display.Revision = 4 }, true},
		"a namespace":     {func(s *agentv1.ServiceSpec) { s.Namespace = "other" }, true},
	}
	for name, tc := range change {
		t.Run(name, func(t *testing.T) {
			dir, same := t.TempDir(), sealed(t)
			c := open(t, dir, same)
			putSpecs(t, c, specNamed("s1", 0), specNamed("s2", 0))
			before := files(t, dir)
			now := specNamed("s1", 0)
			now.SpecDigest = "s1:new"
			tc.edit(now)
			for range 2 { // the second restart finds what the first left
				putSpecs(t, c, proto.CloneOf(now), specNamed("s2", 0))
				after := files(t, dir)
				if (before["s1"] != after["s1"]) != tc.whole || before["s2"] != after["s2"] {
					t.Errorf("written again: %v, %v", before["s1"] != after["s1"], before["s2"] != after["s2"])
				}
				c = open(t, dir, same)
				if diff := cmp.Diff(map[string]*agentv1.ServiceSpec{"s1": now, "s2": specNamed("s2", 0)}, recalled(t, c), protocmp.Transform()); diff != "" {
					t.Errorf("after a restart (-want +got):\n%s", diff)
				}
				before = files(t, dir)
				tc.whole = false
			}
			text, err := os.ReadFile(filepath.Join(dir, "asked"))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			for _, word := range []string{"s1:new", "ConfigMap", "hunter2"} {
				if strings.Contains(string(text), word) {
					t.Errorf("%s can be read in the file: %s", word, text)
				}
			}
		})
	}
}

// However much of the last addition came onto the disk, each spec is one that
// was given, with the digest that goes with it; and what comes next counts.
func TestAKillWhileAskingLeavesOldOrNew(t *testing.T) {
	dir, same := t.TempDir(), sealed(t)
	c := open(t, dir, same)
	putSpecs(t, c, specNamed("s1", 0), specNamed("s2", 0))
	putSpecs(t, c, specNamed("s1", 1), specNamed("s2", 1))
	path := filepath.Join(dir, "asked")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	putSpecs(t, c, specNamed("s1", 2), specNamed("s2", 2))
	after, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(after, before) {
		t.Fatalf("the file was written anew, %v", err)
	}
	live := c
	for cut := len(before); cut <= len(after); cut += 7 {
		if err := os.WriteFile(path, after[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		c := open(t, dir, same)
		for id, got := range recalled(t, c) {
			n := got.GetSyncRequest()
			if diff := cmp.Diff(specNamed(id, n), got, protocmp.Transform()); diff != "" || n != 1 && n != 2 || cut == len(after) && n != 2 {
				t.Fatalf("cut at %d of %d: %s", cut, len(after), diff)
			}
		}
		// And without a restart in between: what comes next comes behind half a
		// line.
		if err := os.WriteFile(path, after[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		putSpecs(t, live, specNamed("s1", 3), specNamed("s2", 3))
		for id, got := range recalled(t, open(t, dir, same)) {
			if got.GetSyncRequest() != 3 || got.GetSpecDigest() != specNamed(id, 3).GetSpecDigest() {
				t.Fatalf("cut at %d of %d, and then asked again: %v", cut, len(after), got)
			}
		}
	}
}

// A request to one spec does not affect another one, or the same one when it arrives
// again.
func TestWhatIsAskedGoesWithItsSpec(t *testing.T) {
	dir, same := t.TempDir(), sealed(t)
	c := open(t, dir, same)
	putSpecs(t, c, specNamed("s1", 0))
	putSpecs(t, c, specNamed("s1", 1))
	other := specNamed("s1", 2)
	other.Secrets["password"] = "other"
	path := filepath.Join(dir, "asked")
	asked, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	putSpecs(t, c, other)
	// As a kill right after the spec leaves it.
	if err := os.WriteFile(path, asked, 0o600); err != nil {
		t.Fatal(err)
	}
	c = open(t, dir, same)
	if diff := cmp.Diff(other, recalled(t, c)["s1"], protocmp.Transform()); diff != "" {
		t.Errorf("another spec took what was asked of the one before (-want +got):\n%s", diff)
	}
	// It is removed, and comes back as it was at first.
	putSpecs(t, c, specNamed("s1", 0))
	putSpecs(t, c, specNamed("s1", 1))
	if err := c.DropSpec("s1"); err != nil {
		t.Fatal(err)
	}
	if got := recalled(t, open(t, dir, same)); len(got) > 0 {
		t.Errorf("a dropped spec is there: %v", got)
	}
	putSpecs(t, c, specNamed("s1", 0))
	if got := recalled(t, open(t, dir, same))["s1"]; got.GetSyncRequest() != 0 || got.GetSpecDigest() != "s1:s1-0" {
		t.Errorf("a spec that came anew has what was asked of it earlier: %v", got)
	}
}

// A damaged file loses requests, but no spec.
func TestADamagedFileOfWhatIsAsked(t *testing.T) {
	dir, same := t.TempDir(), sealed(t)
	c := open(t, dir, same)
	putSpecs(t, c, specNamed("s1", 0))
	putSpecs(t, c, specNamed("s1", 1))
	if err := os.WriteFile(filepath.Join(dir, "asked"), []byte("\x00\x00nonsense\nk1.AAAA\n{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	c = open(t, dir, same)
	if diff := cmp.Diff(specNamed("s1", 0), recalled(t, c)["s1"], protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	putSpecs(t, c, specNamed("s1", 2))
	if got := recalled(t, open(t, dir, same))["s1"].GetSyncRequest(); got != 2 {
		t.Errorf("then sync %d is asked for", got)
	}
}

// The file does not grow with how often people ask.
func TestWhatIsAskedStaysShort(t *testing.T) {
	dir, same := t.TempDir(), sealed(t)
	c := open(t, dir, same)
	longest := 0
	for n := range int64(4000) {
		putSpecs(t, c, specNamed("s1", n))
		if n%100 == 0 {
			text, err := os.ReadFile(filepath.Join(dir, "asked"))
			if err != nil && n > 0 {
				t.Fatal(err)
			}
			longest = max(longest, len(bytes.Fields(text)))
		}
	}
	if longest > 1100 {
		t.Errorf("it has had %d lines for one service", longest)
	}
	if got := recalled(t, open(t, dir, same))["s1"].GetSyncRequest(); got != 3999 {
		t.Errorf("sync %d is asked for", got)
	}
	text, err := os.ReadFile(filepath.Join(dir, "asked"))
	if n := len(bytes.Fields(text)); err != nil || n != 1 {
		t.Errorf("after a restart it has %d lines, %v", n, err)
	}
}

// A disk that takes no line is said of each service that it concerns.
func TestADiskThatTakesNothingAsked(t *testing.T) {
	dir, same := t.TempDir(), sealed(t)
	c := open(t, dir, same)
	putSpecs(t, c, specNamed("s1", 0), specNamed("s2", 0))
	if err := os.Mkdir(filepath.Join(dir, "asked"), 0o700); err != nil {
		t.Fatal(err)
	}
	failed := c.PutSpecs([]*agentv1.ServiceSpec{specNamed("s1", 1), specNamed("s2", 0), {Id: "../s3", SpecDigest: "x"}})
	if len(failed) != 2 || failed["s1"] == nil || failed["../s3"] == nil {
		t.Errorf("failed: %v", failed)
	}
	if err := os.Remove(filepath.Join(dir, "asked")); err != nil {
		t.Fatal(err)
	}
	putSpecs(t, c, specNamed("s1", 1))
	if got := recalled(t, open(t, dir, same))["s1"].GetSyncRequest(); got != 1 {
		t.Errorf("sync %d is asked for", got)
	}
}
