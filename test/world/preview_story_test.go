package world_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/world"
)

// differs runs a diff and returns its output; it must end with a code.
func (s *stage) differs(code int, args ...string) string {
	s.t.Helper()
	result, err := s.Axle(s.t.Context(), args...)
	if result.Code != code {
		s.t.Errorf("axle %s: exit %d, want %d: %v", strings.Join(args, " "), result.Code, code, err)
	}
	return result.Out + result.Err
}

// TestPreviews compares services with other content, and checks that nothing of it
// was applied, stored or kept.
func TestPreviews(t *testing.T) {
	t.Parallel()
	s := newStageOf(t, world.Config{Clusters: []string{"edge-1"}, Hub: []string{"--repo-poll-interval", "2s"}})
	files := func(one string) map[string]string {
		return map[string]string{"a/one.yaml": object("one", one), "b/two.yaml": object("two", "same")}
	}
	s.commitFiles("fleet", "first", files("first"))
	for _, name := range []string{"a", "b"} {
		s.axle("services", "create", "edge-1/"+name, "--repo", "fleet", "--ref", "main", "--folder", name)
	}
	s.axle("services", "wait", "edge-1/a", "edge-1/b", "--timeout", "5m")
	if out := s.differs(0, "services", "diff", "edge-1/a"); !strings.Contains(out, "# revision 1 (") {
		t.Errorf("it does not name its revision: %s", out)
	}
	s.commitFiles("fleet", "second", files("second"))
	s.says("edge-1", "a", "second")
	s.axle("services", "wait", "edge-1/a", "edge-1/b", "--timeout", "5m")

	// A branch that no service follows, with one service changed.
	_, err := s.Git.Commit(t.Context(), "fleet", "proposal", "third", files("third"))
	s.must(err)
	before := s.axle("services", "get", "edge-1/a", "-o", "json", "-q")
	out := s.differs(1, "services", "diff", "edge-1/a", "--ref", "proposal")
	if !strings.Contains(out, "-  word: second") || !strings.Contains(out, "+  word: third") || !strings.Contains(out, "# ref proposal (") {
		t.Errorf("a ref: %s", out)
	}
	if out := s.differs(1, "services", "diff", "edge-1/a", "--revision", "1"); !strings.Contains(out, "+  word: first") {
		t.Errorf("a revision: %s", out)
	}
	dir := filepath.Join(s.Dir, "folder")
	s.must(os.MkdirAll(filepath.Join(dir, ".git"), 0o700))
	s.must(os.WriteFile(filepath.Join(dir, "one.yaml"), []byte(object("one", "fourth")), 0o600))
	if out := s.differs(1, "services", "diff", "edge-1/a", "--file", dir); !strings.Contains(out, "+  word: fourth") {
		t.Errorf("files: %s", out)
	}
	s.must(os.WriteFile(filepath.Join(dir, "one.yaml"), []byte("no: [yaml"), 0o600))
	if out := s.differs(2, "services", "diff", "edge-1/a", "--file", dir); !strings.Contains(out, "there is no diff of edge-1/a") {
		t.Errorf("files that do not render: %s", out)
	}
	if out := s.differs(2, "services", "diff", "edge-1/a", "--ref", "nowhere"); !strings.Contains(out, "nowhere") {
		t.Errorf("a ref that is none: %s", out)
	}
	if out := s.differs(2, "services", "diff", "edge-1/a", "--revision", "99"); !strings.Contains(out, "no revision 99") {
		t.Errorf("a revision that is none: %s", out)
	}

	var fleet struct {
		Summary struct {
			Services, Same, Differ, Failed int
			Objects                        map[string]int
		}
		Services []struct {
			Name      string
			SameFiles bool
		}
	}
	result, _ := s.Axle(t.Context(), "diff", "--repo", "fleet", "--ref", "proposal", "--base", "main", "-o", "json", "-q")
	s.must(json.Unmarshal([]byte(result.Out), &fleet))
	if f := fleet.Summary; result.Code != 1 || f.Services != 2 || f.Same != 1 || f.Differ != 1 || f.Failed != 0 || f.Objects["update"] != 1 {
		t.Errorf("exit %d, %+v: %s", result.Code, fleet, result.Err)
	}
	if out := s.differs(0, "diff", "--repo", "fleet", "--ref", "main"); !strings.Contains(out, "0 differ, 2 unchanged") {
		t.Errorf("what is there: %s", out)
	}
	if out := s.differs(2, "diff", "--repo", "fleet", "--ref", "proposal", "--base", "elsewhere"); !strings.Contains(out, "no service that you may read") {
		t.Errorf("nobody: %s", out)
	}
	s.diffsOfManifests("proposal")

	var was, is map[string]any
	s.must(json.Unmarshal([]byte(before), &was))
	s.must(json.Unmarshal([]byte(s.axle("services", "get", "edge-1/a", "-o", "json", "-q")), &is))
	for _, field := range []string{"revision", "desiredRevision", "appliedRevision", "spec"} {
		if fmt.Sprint(was[field]) != fmt.Sprint(is[field]) {
			t.Errorf("%s was %v and is %v", field, was[field], is[field])
		}
	}
	if o, err := s.get("edge-1", "a", "one"); err != nil || o.Data["word"] != "second" {
		t.Errorf("it was applied: %v %v", o, err)
	}

	// A person's addition is reported with its field and its writer, by drift and
	// diff.
	_, err = s.Kubectl(t.Context(), "edge-1", "patch", "configmap", "one", "-n", "a", "--type", "merge", "-p", `{"data":{"more":"x"}}`)
	s.must(err)
	s.eventual("drift names the field", func() error { return s.contains("services get edge-1/a -o json", ".data.more") })
	if out := s.differs(1, "services", "diff", "edge-1/a"); !strings.Contains(out, "# leave ConfigMap a/one: ") || !strings.Contains(out, ".data.more (by kubectl-patch)") {
		t.Errorf("drift: %s", out)
	}

	// Waiting ends early on what does not render, and says what to do.
	s.commitFiles("fleet", "broken", map[string]string{"b/two.yaml": "a: [b"})
	began := time.Now()
	if out := s.differs(3, "services", "wait", "edge-1/b", "--revision", "nowhere", "--timeout", "5m"); !strings.Contains(out, "it cannot be rendered") || time.Since(began) > 2*time.Minute {
		t.Errorf("after %v: %s", time.Since(began), out)
	}
}
