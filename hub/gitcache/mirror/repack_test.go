package mirror_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/mirror/repack"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// slowPacks makes git wait at the beginning of a pack of everything until the
// test lets it go on, as for a large mirror. began is there once it waits.
func slowPacks(t *testing.T) (began string, goOn func()) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	began, gate := filepath.Join(dir, "began"), filepath.Join(dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\ncase \" $* \" in *' pack-objects '*' --all '*) : > %s; read -r _ < %s;; esac\nexec %s \"$@\"\n", began, gate, real)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return began, func() {
		if err := os.WriteFile(gate, []byte("\n"), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// TestFetchesGoOnWhileAMirrorIsPackedWhole checks that what is fetched during a
// repack is there afterwards, including a commit that no ref reached when the
// repack began and that is too old to be kept as unreachable.
func TestFetchesGoOnWhileAMirrorIsPackedWhole(t *testing.T) {
	s := newGit(t)
	m := newMirror(t, "sha1")
	var last string
	for i := range 5 {
		last = commit(t, s, "main", fmt.Sprint("change ", i))
		fetch(t, s, m, last)
	}
	lost, err := s.CommitOn(t.Context(), repo, "", "lost", map[string]gitserver.Content{"x": "y"})
	if err != nil {
		t.Fatal(err)
	}
	set := func(ref string) {
		t.Helper()
		if err := s.SetRef(t.Context(), repo, ref, lost); err != nil {
			t.Fatal(err)
		}
		pull(t, s, m)
	}
	set("refs/heads/gone")
	if err := s.DeleteRef(t.Context(), repo, "refs/heads/gone"); err != nil {
		t.Fatal(err)
	}
	pull(t, s, m)
	aged(t, m)

	began, goOn := slowPacks(t)
	var r repack.Repacker
	if err := r.Begin(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	eventually.For(t, time.Minute, "the pack of everything begins", func() error { _, err := os.Stat(began); return err })
	before := packs(t, m)
	if err := r.Tidy(t.Context(), m); err != nil || len(packs(t, m)) != len(before) {
		t.Errorf("while it packs it is tidied: %v, %d packs of %d", err, len(packs(t, m)), len(before))
	}
	meanwhile := commit(t, s, "main", "meanwhile")
	fetch(t, s, m, meanwhile)
	set("refs/heads/again")
	if _, err := m.Object(t.Context(), last, "commit"); err != nil {
		t.Errorf("reading meanwhile: %v", err)
	}
	goOn()
	eventually.For(t, time.Minute, "the new packs are taken over", func() error {
		if err := r.Tidy(t.Context(), m); err != nil {
			return err
		}
		if n := len(packs(t, m)); n > 4 {
			return fmt.Errorf("%d packs", n)
		}
		return nil
	})
	if missing, err := m.Missing(t.Context(), []string{last, lost, meanwhile}); err != nil || len(missing) > 0 {
		t.Errorf("missing %v, %v", missing, err)
	}
	if err := m.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(m.Dir(), "repack")); !os.IsNotExist(err) {
		t.Errorf("its folder stayed: %v", err)
	}
}

// aged makes all packs so old that what no ref reaches may go.
func aged(t *testing.T, m *mirror.Mirror) {
	t.Helper()
	long := time.Now().Add(-60 * 24 * time.Hour)
	for _, p := range packs(t, m) {
		if err := os.Chtimes(p, long, long); err != nil {
			t.Fatal(err)
		}
	}
}

// A repack that was given up leaves the mirror as it was, and the next opening
// removes what it left.
func TestAGivenUpRepackLeavesTheMirrorAlone(t *testing.T) {
	s := newGit(t)
	m := newMirror(t, "sha1")
	id := commit(t, s, "main", "one")
	fetch(t, s, m, id)
	began, _ := slowPacks(t)
	ctx, stop := context.WithCancel(t.Context())
	var r repack.Repacker
	if err := r.Begin(ctx, m); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, time.Minute, "the pack of everything begins", func() error { _, err := os.Stat(began); return err })
	stop()
	r.Close()
	if err := m.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	again, err := mirrors.Open(t.Context(), m.Dir(), "sha1")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := os.Stat(filepath.Join(m.Dir(), "repack")); !os.IsNotExist(err) {
		t.Errorf("its folder stayed: %v", err)
	}
}
