package references_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestKustomization(t *testing.T) {
	t.Parallel()
	const text = `namespace: x
resources:
- ../base
- https://git.example.test/org/repo//app/base?ref=v1.2.3
- git@git.example.test:org/repo.git//other?ref=v2
- git.example.test/org/repo//short?ref=v3&submodules=false
- github.com/org/repo/deep/base
- https://example.test/file.yaml
components: ["ssh://git@git.example.test/org/repo.git/part?version=v4"]
helmCharts:
- name: redis
  repo: https://charts.example.test/stable
  version: ">=1.0.0 <2"
  valuesFile: ../values.yaml
- name: local
- {name: nats, repo: "oci://registry.example.test/charts", version: 1.0.0}
- {name: ../evil, repo: "https://charts.example.test"}
helmGlobals:
  chartHome: ../home
`
	local, external := references.Kustomization([]byte(text))
	if diff := cmp.Diff([]string{"../base", "../values.yaml", "../home"}, local); diff != "" {
		t.Errorf("local (-want +got):\n%s", diff)
	}
	const git = "git.example.test/org/repo"
	want := []references.External{
		{Kind: references.Base, Line: 4, Text: "https://" + git + "//app/base?ref=v1.2.3", URL: "https://" + git, Ref: "v1.2.3", Folder: "app/base", Submodules: true},
		{Kind: references.Base, Line: 5, Text: "git@git.example.test:org/repo.git//other?ref=v2", URL: "ssh://git@" + git + ".git", Ref: "v2", Folder: "other", Submodules: true},
		{Kind: references.Base, Line: 6, Text: git + "//short?ref=v3&submodules=false", URL: "https://" + git, Ref: "v3", Folder: "short"},
		{Kind: references.Base, Line: 7, Text: "github.com/org/repo/deep/base", URL: "https://github.com/org/repo", Folder: "deep/base", Submodules: true,
			Problem: "is not pinned; add ?ref= with a tag or a full commit id, or copy it into the repository"},
		{Kind: references.Base, Line: 8, Text: "https://example.test/file.yaml", Submodules: true, Problem: "names no repository; write https://host/group/repository//folder?ref=TAG"},
		{Kind: references.Base, Line: 9, Text: "ssh://git@git.example.test/org/repo.git/part?version=v4", URL: "ssh://git@" + git + ".git", Ref: "v4", Folder: "part", Submodules: true},
		{Kind: references.Inflated, Line: 11, Text: "redis", Name: "redis", URL: "https://charts.example.test/stable", Version: ">=1.0.0 <2", Home: "../home/redis->=1.0.0 <2/redis"},
		{Kind: references.Inflated, Line: 16, Text: "nats", Name: "nats", URL: "oci://registry.example.test/charts", Version: "1.0.0", Home: "../home/nats-1.0.0/nats"},
		{Kind: references.Inflated, Line: 17, Text: "../evil", Name: "../evil", URL: "https://charts.example.test", Home: "../evil", Problem: "has a name that is not valid for a chart"},
	}
	if diff := cmp.Diff(want, external); diff != "" {
		t.Errorf("external (-want +got):\n%s", diff)
	}
}

func TestKustomizationLocal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"remote beside local": {"resources: [cm.yaml, ../crds, \"https://example.test/remote//x?ref=v1\"]\n", []string{"cm.yaml", "../crds"}},
		"generators":          {"configMapGenerator:\n- files: [a=../x, ../y]\n  envs: [../z]\nsecretGenerator:\n- env: ../e\n", []string{"../x", "../y", "../z", "../e"}},
		"patches":             {"patches:\n- path: ../p\n- patch: |-\n    a: b\npatchesStrategicMerge:\n- ../q\n- |-\n  kind: X\n  spec: ../r\n", []string{"../q", "../p"}},
		"helm":                {"helmCharts:\n- name: x\n  valuesFile: ../v.yaml\n  additionalValuesFiles: [../w.yaml]\nhelmGlobals: {chartHome: ../charts}\n", []string{"../w.yaml", "../v.yaml", "../charts"}},
		"not yaml":            {"{{", nil},
		"wrong types":         {"resources: {a: b}\n", nil},
	} {
		got, _ := references.Kustomization([]byte(tt.text))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRemote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"https://a.test/b/c": true, "git::https://a.test/b": true, "git@a.test:b/c": true, "github.com/a/b": true, "ssh://a/b": true,
		"a.test/b/c?ref=v1": true, "../base": false, "base": false, "a.yaml": false, "host.d/app/cm.yaml": false, "": false,
	} {
		if got := references.Remote(text); got != want {
			t.Errorf("%q: remote %v", text, got)
		}
	}
}

func TestChart(t *testing.T) {
	t.Parallel()
	const text = `name: app
dependencies:
- {name: lib, repository: "file://../lib"}
- {name: inside}
- name: redis
  version: ">=17"
  repository: https://charts.example.test/
- {name: nats, version: 1.0.0, repository: "oci://r.example.test/charts"}
- {name: x, version: 1.0.0, repository: "@stable"}
`
	const lock = "dependencies:\n- {name: redis, version: 17.1.2, repository: https://charts.example.test}\n- {name: other, version: 9.9.9, repository: https://elsewhere.test}\n"
	local, external := references.Chart([]byte(text), []byte(lock))
	if diff := cmp.Diff([]string{"../lib"}, local); diff != "" {
		t.Errorf("local (-want +got):\n%s", diff)
	}
	want := []references.External{
		{Kind: references.Dependency, Line: 5, Text: "redis", Name: "redis", URL: "https://charts.example.test/", Version: "17.1.2"},
		{Kind: references.Dependency, Line: 8, Text: "nats", Name: "nats", URL: "oci://r.example.test/charts", Version: "1.0.0"},
		{Kind: references.Dependency, Line: 9, Text: "x", Name: "x", URL: "@stable", Version: "1.0.0", Problem: "names its repository by an alias of one machine; write the repository's URL"},
	}
	if diff := cmp.Diff(want, external); diff != "" {
		t.Errorf("external (-want +got):\n%s", diff)
	}
}

func TestGitmodules(t *testing.T) {
	t.Parallel()
	const text = "# c\n[submodule \"a\"]\n\tpath = libs/a\n\turl = ../a.git ; here\n[core]\n\tpath = no\n[SubModule \"b c\"]\n path=\"b c\"\n url = https://x.test/b\n branch = main\n[submodule \"c\"]\n\turl = x\n"
	if diff := cmp.Diff(map[string]string{"libs/a": "../a.git", "b c": "https://x.test/b"}, references.Gitmodules([]byte(text))); diff != "" {
		t.Errorf("urls (-want +got):\n%s", diff)
	}
	for name, tt := range map[string]struct{ parent, url, want string }{
		"absolute": {"https://h.test/a/b.git", "https://x.test/c", "https://x.test/c"},
		"sibling":  {"https://h.test/a/b.git", "../c.git", "https://h.test/a/c.git"},
		"ssh":      {"ssh://git@h.test:2222/a/b.git", "../../c/d.git", "ssh://git@h.test:2222/c/d.git"},
		"below":    {"https://h.test/a/b", "./c", "https://h.test/a/b/c"},
		"too far":  {"https://h.test/a", "../../../c", ""},
		"option":   {"https://h.test/a", "--upload-pack=id", ""},
		"sneaky":   {"https://h.test/a/b", "../c/../../../d", ""},
	} {
		got, err := references.SubmoduleURL(tt.parent, tt.url)
		if got != tt.want || err != nil != (tt.want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	a, err := references.ParseAttributes([]byte("*.bin filter=lfs diff=lfs merge=lfs -text\n/top.dat filter=lfs\ndata/** filter=lfs\n*.txt text\ndata/plain/* -filter\n" +
		"[attr]big filter=lfs\nmodels/*.pt big\n\"with space.x\" filter=lfs\n*.[ab]z filter=lfs\nany/**/end.x filter=lfs\n**/all.y filter=lfs\nwit\\h*back filter=lfs\n"))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][2]bool{
		"a.bin": {true, true}, "deep/er/a.bin": {true, true}, "top.dat": {true, true}, "deep/top.dat": {false, false}, "data/x/y": {true, true},
		"data/plain/z": {false, true}, "a.txt": {false, false}, "models/a.pt": {true, true}, "models/x/a.pt": {false, false}, "with space.x": {true, true},
		"q.az": {true, true}, "q.cz": {false, false},
		"any/end.x": {true, true}, "any/a/b/end.x": {true, true}, "many/end.x": {false, false}, "all.y": {true, true}, "a/b/all.y": {true, true}, "a/ball.y": {false, false},
		"with-its-back": {true, true}, "with-its-black": {false, false},
	} {
		if lfs, said, _, err := a.LFS(file, cost.Budget); lfs != want[0] || said != want[1] || err != nil {
			t.Errorf("%s: lfs %v said %v, want %v; %v", file, lfs, said, want, err)
		}
	}
}

// Patterns that are too large are refused before they are compiled, and those that would
// take too long on a name before they are tried.
func TestDearAttributesAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a long pattern": strings.Repeat("*a", 9000) + " filter=lfs\n",
		"many patterns":  strings.Repeat(strings.Repeat("*a", 100)+" filter=lfs\n", 1000),
	} {
		if _, err := references.ParseAttributes([]byte(text)); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, err := references.ParseAttributes([]byte(strings.Repeat("*a*a*a*a*a*a*a*a*a*a*b*c filter=lfs\n", 500)))
	if err != nil {
		t.Fatal(err)
	}
	_, _, steps, err := a.LFS(strings.Repeat("a", 250)+"c", cost.Budget)
	if err == nil || !strings.Contains(err.Error(), "are left") || steps > cost.Budget {
		t.Errorf("after %d steps: %v", steps, err)
	}
}

// Aliases repeat what their anchors have: a text of a megabyte would become gigabytes.
func TestAliasesMakeNothingLarge(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	if local, external := references.Kustomization([]byte("resources:\n- &a " + long + "\n" + strings.Repeat("- *a\n", 1000))); local != nil || external != nil {
		t.Errorf("a kustomization has %d references", len(local)+len(external))
	}
	entry := "name: x, repository: https://charts.example.test, more: {" + strings.Repeat("k: v, ", 1000) + "}"
	chart := []byte("dependencies:\n- &a {" + entry + "}\n" + strings.Repeat("- *a\n", 1000))
	if _, external := references.Chart(chart, nil); external != nil {
		t.Errorf("a chart has %d dependencies", len(external))
	}
	lock := []byte("digest: sha256:x\ndependencies:\n" + "- &a {name: x, version: 1.0.0, repository: https://charts.example.test, alias: " + long + "}\n" + strings.Repeat("- *a\n", 1000))
	if _, external := references.Chart([]byte("dependencies: [{name: x, repository: https://charts.example.test}]"), lock); external != nil {
		t.Errorf("a chart with such a lock has %d dependencies", len(external))
	}
}
