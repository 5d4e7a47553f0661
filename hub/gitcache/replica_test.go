package gitcache_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestDigestSameOnEveryReplica checks that the digest depends only on the
// content: two hub processes with different folders, compression and processors
// agree on 200 of them. Their stored bytes differ, so digests of those would
// differ too.
func TestDigestSameOnEveryReplica(t *testing.T) {
	t.Parallel()
	const folders = 200
	git := newGit(t, gitserver.Config{})
	files := map[string]gitserver.Content{"shared/lib.yaml": "shared"}
	for i := range folders {
		dir := fmt.Sprintf("apps/%03d", i)
		files[dir+"/cm.yaml"] = fmt.Sprintf("kind: ConfigMap\nmetadata: {name: x%d}\ndata: {text: %q}\n", i, fmt.Sprintf("%0*d", 100+i*7, i))
		files[dir+"/run.sh"] = gitserver.Executable("#!/bin/sh\necho hello hello hello\n")
		if i%3 == 0 {
			files[dir+"/lib"] = gitserver.Link("../../shared")
		}
		if i%5 == 0 {
			files[dir+"/ünï.yaml"] = "x"
		}
	}
	if _, err := git.Commit(t.Context(), repoName, "main", "all", files); err != nil {
		t.Fatal(err)
	}
	replicas := []struct {
		config hubConfig
		env    string
		store  *Memory
		hub    *hubProcess
	}{
		{config: hubConfig{Replica: "hub-0", Level: tarball.Fastest}, env: "GOMAXPROCS=1"},
		{config: hubConfig{Replica: "hub-1", Level: tarball.Better}, env: "GOMAXPROCS=4"},
	}
	var sources []gitcache.Source
	for i := range replicas {
		r := &replicas[i]
		r.store = NewMemory(nil)
		repo := createRepository(t, r.store, git.URL(repoName))
		sources = sources[:0]
		for i := range folders {
			s, err := gitcache.NewSource(repo.ID, "main", fmt.Sprintf("apps/%03d", i), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.store.PutSource(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			sources = append(sources, s)
		}
		r.hub = newHub(t, r.store, r.config, r.env)
	}
	seen := map[string]bool{}
	for _, s := range sources {
		var heads [2]gitcache.Head
		for i, r := range replicas {
			eventually.For(t, patience, "head of "+s.Folder, func() (err error) {
				if heads[i], err = r.store.Head(t.Context(), s.ID); err != nil {
					return err
				}
				return good(heads[i])
			})
		}
		if heads[0].Digest != heads[1].Digest {
			t.Errorf("%s: %s and %s", s.Folder, heads[0].Digest, heads[1].Digest)
		}
		seen[string(heads[0].Digest)] = true
	}
	if len(seen) != folders {
		t.Errorf("%d different digests of %d folders", len(seen), folders)
	}
	stored := func(i int) map[string]bool {
		out := map[string]bool{}
		for _, name := range list(t, filepath.Join(replicas[i].hub.dir, "data/tarballs")) {
			out[name] = true
		}
		return out
	}
	same := 0
	other := stored(1)
	for name := range stored(0) {
		if other[name] {
			same++
		}
	}
	if same == folders {
		t.Error("the stored bytes are equal too, so this shows nothing about digests")
	}
}
