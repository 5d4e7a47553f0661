package hub

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/errcode"
)

// What a service names is looked up as its repository's kind has it.
func TestSourceOfEachKind(t *testing.T) {
	tests := map[string]struct {
		kind gitcache.Kind
		url  string
		want fleet.SourceWant
		// ref and folder, or "!" and how the error begins
		ref, folder string
	}{
		"git":                   {kind: gitcache.KindGit, want: fleet.SourceWant{At: "git", Ref: " main ", Folder: "/a/"}, ref: "main", folder: "a"},
		"git without ref":       {kind: gitcache.KindGit, want: fleet.SourceWant{At: "git", Folder: "a"}, ref: "!git.ref: "},
		"chart of a git":        {kind: gitcache.KindGit, want: fleet.SourceWant{At: "helm", Chart: "web"}, ref: "!helm.repository: "},
		"chart":                 {kind: gitcache.KindHelm, want: fleet.SourceWant{At: "helm", Chart: "web", Version: "1.x"}, ref: "1.x", folder: "web"},
		"newest chart":          {kind: gitcache.KindHelm, want: fleet.SourceWant{At: "sources[1]", Chart: "web"}, folder: "web"},
		"chart by ref, folder":  {kind: gitcache.KindHelm, want: fleet.SourceWant{At: "git", Ref: "1.x", Folder: "web"}, ref: "1.x", folder: "web"},
		"chart of a registry":   {kind: gitcache.KindOCI, url: "oci://r.test/charts/web", want: fleet.SourceWant{At: "helm", Chart: "web", Version: "1.x"}, ref: "1.x"},
		"newest of a registry":  {kind: gitcache.KindOCI, url: "oci://r.test/charts/web", want: fleet.SourceWant{At: "helm", Chart: "web"}, ref: "*"},
		"another of a registry": {kind: gitcache.KindOCI, url: "oci://r.test/charts/db", want: fleet.SourceWant{At: "helm", Chart: "web"}, ref: "*", folder: "web"},
		"manifests":             {kind: gitcache.KindOCI, want: fleet.SourceWant{At: "sources[0].git", Ref: "v1", Folder: "x"}, ref: "v1", folder: "x"},
		"manifests, no ref":     {kind: gitcache.KindOCI, want: fleet.SourceWant{At: "sources[0].git"}, ref: "!sources[0].git.ref: "},
		"bucket":                {kind: gitcache.KindBucket, want: fleet.SourceWant{At: "sources[0]", Folder: "p"}, folder: "p"},
		"bucket with ref":       {kind: gitcache.KindBucket, want: fleet.SourceWant{At: "git", Ref: "main"}, ref: "!git.ref: "},
		"chart of a bucket":     {kind: gitcache.KindBucket, want: fleet.SourceWant{At: "sources[2]", Chart: "a"}, ref: "!sources[2].repository: "},
		"LFS of a bucket":       {kind: gitcache.KindBucket, want: fleet.SourceWant{At: "git", LFS: true}, ref: "!git.submodules: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := sourceOf(gitcache.Repository{ID: "repo_1", Name: "fleet", Kind: test.kind, URL: test.url}, test.want)
			if begins, ok := strings.CutPrefix(test.ref, "!"); ok {
				if !errcode.Is(err, errcode.Invalid) || !strings.HasPrefix(err.Error(), begins) {
					t.Errorf("err = %v, want one that begins with %s", err, begins)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{test.ref, test.folder}, []string{got.Ref, got.Folder}); diff != "" || got.ID == "" {
				t.Errorf("ref and folder (-want +got):\n%s", diff)
			}
		})
	}
	plain, err := sourceOf(gitcache.Repository{ID: "repo_1", Kind: gitcache.KindGit}, fleet.SourceWant{Ref: "main"})
	if err != nil {
		t.Fatal(err)
	}
	with, err := sourceOf(gitcache.Repository{ID: "repo_1", Kind: gitcache.KindGit}, fleet.SourceWant{Ref: "main", Submodules: true, LFS: true})
	if err != nil || with.ID == plain.ID || !with.Options.Submodules || !with.Options.LFS {
		t.Errorf("with submodules and LFS it is source %+v, %v", with, err)
	}
}

func TestInvalidNamesTheField(t *testing.T) {
	for want, at := range map[string][2]string{
		"repository: x": {"git", "repository"}, "git.url: x": {"git", "url"}, "sources[1].repository: x": {"sources[1].git", "repository"},
		"helm.repository: x": {"helm.git", "repository"}, "helm.url: x": {"helm", "url"}, "helm.git.ref: x": {"helm.git", "ref"},
	} {
		if got := (fleet.SourceWant{At: at[0]}).Invalid(at[1], "x").Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
