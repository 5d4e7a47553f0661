package rendertest

import (
	"fmt"
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
)

// Fixture is the input that a renderer provides for the contract.
type Fixture struct {
	// Type is the type of the step, and what AUTO must find.
	Type string
	// Good renders to the objects named in Objects, in this order, as
	// "Kind name". Its files lie in the folder "app".
	Good    Files
	Objects []string
	// Other renders to something else with all of the renderer's features, so that any
	// state it leaves would show in Good.
	Other Files
	// Invalid breaks one YAML file of Good; File and Line are the position.
	Invalid Files
	File    string
	Line    int32
	// Manifest is the path in Good of a file that the renderer reads.
	Manifest string
	// Twice renders one object twice, which is rejected with the word "twice".
	Twice Files
	// Rare is set for a renderer that only the program with all renderers has.
	Rare bool
	// Step, if set, is what the pass requests besides the type; AUTO cannot find such
	// a renderer.
	Step *renderv1.Step
	// Tool is the command line of the tool.
	Tool []string
}

// start starts the program that has the renderer.
func (f Fixture) start(t *testing.T) *Child {
	t.Helper()
	child := Start
	if f.Rare {
		child = StartRare
	}
	c := child(t)
	c.Tool = f.Tool
	return c
}

// begin returns the pass of a fixture.
func (f Fixture) begin() *renderv1.Begin {
	step := &renderv1.Step{Type: f.Type}
	if f.Step != nil {
		step = proto.CloneOf(f.Step)
		step.Type = f.Type
	}
	return &renderv1.Begin{
		Pass: "1", ServiceId: "s1", Name: "web", Namespace: "shop", Entry: "app", Templated: true,
		Steps:         []*renderv1.Step{step},
		Configuration: map[string]string{"color": "green"},
		Cluster:       `{"name":"one","metadata":{"region":"eu"}}`,
		Capabilities:  &renderv1.Capabilities{KubernetesVersion: "v1.36.3", ApiVersions: []string{"v1", "apps/v1"}},
		Now:           1_790_000_000_000_000,
	}
}

// Contract tests everything that every renderer must satisfy.
func Contract(t *testing.T, f Fixture) {
	t.Run("RendersItsObjectsInOrder", f.rendersInOrder)
	if f.Step == nil {
		t.Run("AutoFindsIt", f.autoFindsIt)
	}
	if f.Twice != nil {
		t.Run("OneObjectTwice", f.twice)
	}
	t.Run("EqualInEveryChild", f.equalInEveryChild)
	t.Run("NothingSurvivesAPass", f.nothingSurvives)
	t.Run("InvalidYAMLHasFileAndLine", f.invalidYAML)
	t.Run("FolderThatIsNotThere", f.missingFolder)
	t.Run("LinkInsideIsFollowed", f.linkInside)
	t.Run("LinkOutsideIsRefused", f.linkOutside)
	t.Run("ManifestOf50MB", f.hugeManifest)
	t.Run("PostrenderChangesIt", f.postrenderChangesIt)
	t.Run("FailureLeavesTheChildUsable", f.failureThenGood)
	t.Run("EndsWithItsInput", f.endsWithInput)
}

func (f Fixture) rendersInOrder(t *testing.T) {
	result := f.start(t).Pass(f.Good, f.begin())
	good(t, result)
	if diff := cmp.Diff(f.Objects, names(t, result)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for _, o := range result.GetObjects() {
		if source := o.GetSource(); !strings.HasPrefix(source, "app/") && !strings.HasPrefix(source, "app (tool ") {
			t.Errorf("an object's source is %q, not a file of the service", source)
		}
	}
}

func (f Fixture) autoFindsIt(t *testing.T) {
	child := f.start(t)
	named := child.Pass(f.Good, f.begin())
	begin := f.begin()
	begin.Steps = nil
	auto := child.Pass(f.Good, begin)
	if diff := cmp.Diff(Bytes(t, named), Bytes(t, auto)); diff != "" {
		t.Errorf("AUTO renders otherwise:\n%s", diff)
	}
}

func (f Fixture) equalInEveryChild(t *testing.T) {
	want := Bytes(t, f.start(t).Pass(f.Good, f.begin()))
	child := f.start(t)
	for range 5 {
		if diff := cmp.Diff(want, Bytes(t, child.Pass(f.Good, f.begin()))); diff != "" {
			t.Fatalf("renders of one input differ:\n%s", diff)
		}
	}
}

// nothingSurvives renders A, B, A: in one child, A's two results are equal, and B's
// equals that of a new child.
func (f Fixture) nothingSurvives(t *testing.T) {
	other := f.begin()
	other.Name, other.Namespace, other.Configuration = "other", "elsewhere", map[string]string{"color": "red", "only": "here"}
	child := f.start(t)
	first := child.Pass(f.Good, f.begin())
	between := child.Pass(f.Other, other)
	again := child.Pass(f.Good, f.begin())
	good(t, first)
	good(t, between)
	if diff := cmp.Diff(Bytes(t, first), Bytes(t, again)); diff != "" {
		t.Errorf("the pass between changed the next:\n%s", diff)
	}
	if diff := cmp.Diff(Bytes(t, f.start(t).Pass(f.Other, other)), Bytes(t, between)); diff != "" {
		t.Errorf("the pass before changed this one:\n%s", diff)
	}
}

func (f Fixture) invalidYAML(t *testing.T) {
	failed := f.start(t).Pass(f.Invalid, f.begin()).GetFailure()
	if failed.GetFile() != f.File || failed.GetLine() != f.Line || failed.GetMessage() == "" {
		t.Errorf("got %v, want a message at %s:%d", failed, f.File, f.Line)
	}
}

func (f Fixture) missingFolder(t *testing.T) {
	begin := f.begin()
	begin.Entry = "nowhere"
	failed := f.start(t).Pass(f.Good, begin).GetFailure()
	if failed.GetFile() != "nowhere" || !strings.Contains(failed.GetMessage(), "does not exist") {
		t.Errorf("got %v, want the missing folder named", failed)
	}
}

func (f Fixture) twice(t *testing.T) {
	failed := f.start(t).Pass(f.Twice, f.begin()).GetFailure()
	if !strings.Contains(failed.GetMessage(), "twice") || !strings.HasPrefix(failed.GetFile(), "app") {
		t.Errorf("got %v, want the object that is there twice", failed)
	}
}

func (f Fixture) linkInside(t *testing.T) {
	files := maps.Clone(f.Good)
	files["elsewhere/real"] = files[f.Manifest]
	files[f.Manifest] = "-> " + strings.Repeat("../", strings.Count(f.Manifest, "/")) + "elsewhere/real"
	result := f.start(t).Pass(files, f.begin())
	good(t, result)
	if diff := cmp.Diff(f.Objects, names(t, result)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func (f Fixture) linkOutside(t *testing.T) {
	targets := map[string]string{
		"absolute": "/etc/passwd",
		"up":       strings.Repeat("../", 9) + "etc/passwd",
		"proc":     "/proc/self/environ",
	}
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(f.Good)
			files[f.Manifest] = "-> " + target
			result := f.start(t).Pass(files, f.begin())
			failed := result.GetFailure()
			named := failed.GetFile() == f.Manifest || strings.Contains(failed.GetMessage(), path.Base(f.Manifest))
			if !named || !strings.Contains(failed.GetMessage(), fmt.Sprintf("link points to %q", target)) {
				t.Errorf("got %v, want the link %s refused", failed, f.Manifest)
			}
			if len(result.GetObjects()) != 0 {
				t.Error("a failed pass returned objects")
			}
		})
	}
}

func (f Fixture) hugeManifest(t *testing.T) {
	files := maps.Clone(f.Good)
	files[f.Manifest] += "\n#" + strings.Repeat("x", 50<<20)
	failed := f.start(t).Pass(files, f.begin()).GetFailure()
	if !strings.Contains(failed.GetMessage(), "bytes") {
		t.Errorf("got %v, want the size said", failed)
	}
}

// postrenderChangesIt applies a kustomization to the renderer's output.
func (f Fixture) postrenderChangesIt(t *testing.T) {
	begin := f.begin()
	begin.Steps[0].Postrender = "post"
	files := f.Good.With("app/post/kustomization.yaml", "labels:\n- pairs: {post: rendered}\n")
	child := f.start(t)
	plain := child.Pass(f.Good, f.begin())
	changed := child.Pass(files, begin)
	good(t, changed)
	if diff := cmp.Diff(f.Objects, names(t, changed)); diff != "" {
		t.Fatalf("objects (-want +got):\n%s", diff)
	}
	for i, o := range changed.GetObjects() {
		got := Decode(t, o)
		if got.Metadata.Labels["post"] != "rendered" || len(got.Metadata.Annotations) != 0 {
			t.Errorf("%s has labels %v and annotations %v", got.Metadata.Name, got.Metadata.Labels, got.Metadata.Annotations)
		}
		was := plain.GetObjects()[i]
		if o.GetSource() != was.GetSource() || o.GetCrd() != was.GetCrd() {
			t.Errorf("%s is said to come from %s, want %s", got.Metadata.Name, o.GetSource(), was.GetSource())
		}
	}
	if diff := cmp.Diff(Bytes(t, plain), Bytes(t, child.Pass(f.Good, f.begin()))); diff != "" {
		t.Errorf("the kustomization of a pass before shows:\n%s", diff)
	}
}

func (f Fixture) failureThenGood(t *testing.T) {
	child := f.start(t)
	first := child.Pass(f.Good, f.begin())
	if child.Pass(f.Invalid, f.begin()).GetFailure() == nil {
		t.Fatal("the invalid input rendered")
	}
	if diff := cmp.Diff(Bytes(t, first), Bytes(t, child.Pass(f.Good, f.begin()))); diff != "" {
		t.Errorf("a failed pass changed the next:\n%s", diff)
	}
}

func (f Fixture) endsWithInput(t *testing.T) {
	t.Run("between passes", func(t *testing.T) {
		child := f.start(t)
		good(t, child.Pass(f.Good, f.begin()))
		child.CloseInput()
		if err := child.Wait(); err != nil {
			t.Errorf("the child ended with %v, want a clean end", err)
		}
	})
	t.Run("inside a pass", func(t *testing.T) {
		child := f.start(t)
		child.SendFiles(f.Good)
		child.CloseInput()
		if err := child.Wait(); err == nil {
			t.Error("the child took half a pass for a clean end")
		}
	})
}

// good fails the test if the pass failed.
func good(t *testing.T, r *renderv1.Result) {
	t.Helper()
	if failed := r.GetFailure(); failed != nil {
		t.Fatalf("the pass failed: %s:%d: %s", failed.GetFile(), failed.GetLine(), failed.GetMessage())
	}
}

// names returns the rendered objects as "Kind name".
func names(t *testing.T, r *renderv1.Result) []string {
	t.Helper()
	var out []string
	for _, o := range r.GetObjects() {
		out = append(out, Decode(t, o).Kind+" "+Decode(t, o).Metadata.Name)
	}
	return out
}

// In moves files into a folder.
func (files Files) In(dir string) Files {
	out := Files{}
	for name, content := range files {
		out[path.Join(dir, name)] = content
	}
	return out
}

// With returns a copy with one changed file.
func (files Files) With(name, content string) Files {
	out := maps.Clone(files)
	out[name] = content
	return out
}
