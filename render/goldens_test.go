package render_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/txtar"
	"helm.sh/helm/v4/pkg/chart/common"
	"sigs.k8s.io/yaml"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/render/rendertest"
)

// The cases, the output of the real commands, and each chart's release and cluster.
const (
	goldens           = "../test/goldens"
	goldenRelease     = "demo"
	goldenNamespace   = "demo-space"
	goldenKubernetes  = "v1.36.3"
	withoutValues     = "no values"
	referenceFailed   = "the command failed"
	goldenFileSuffix  = ".txtar.zst"
	chartFolder       = "chart"
	inlineValuesLabel = "inline "
)

// goldenCases is cases.yaml.
type goldenCases struct {
	Modules []goldenModule `json:"modules"`
	Cases   []goldenCase   `json:"cases"`
}

type goldenModule struct {
	Module  string `json:"module"`
	Version string `json:"version"`
	Sum     string `json:"sum"`
}

// goldenCase is one chart or one root of kustomizations, with everything that
// it is rendered with.
type goldenCase struct {
	Name        string                    `json:"name"`
	Module      string                    `json:"module"`
	Helm        string                    `json:"helm"`
	Values      []string                  `json:"values"`
	Inline      map[string]map[string]any `json:"inline"`
	APIVersions []string                  `json:"apiVersions"`
	Files       map[string]string         `json:"files"`
	Root        string                    `json:"root"`
	Kustomize   []string                  `json:"kustomize"`
	EnableHelm  bool                      `json:"enableHelm"`
	Upgrade     bool                      `json:"upgrade"`
	Differences []goldenDifference        `json:"differences"`
}

// goldenDifference is a known difference, and its reason.
type goldenDifference struct {
	In     []string `json:"in"`
	Lines  []string `json:"lines"`
	Reason string   `json:"reason"`
}

// TestGoldens renders the cases of the real helm and kustomize through the render
// child, and expects the same objects except for the differences that the case lists;
// a listed one that no longer exists fails as well.
func TestGoldens(t *testing.T) {
	all := readGoldenCases(t)
	modules := fetchModules(t, all.Modules)
	var command reference
	if *updateGoldens {
		command = buildReference(t)
	}
	for _, c := range all.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			files := c.files(t, modules)
			if *updateGoldens {
				command.write(t, c, files)
			}
			golden, variants := c.golden(t), c.variants(t, files)
			if len(golden) != len(variants) {
				t.Errorf("%d goldens of %d renders; run make goldens", len(golden), len(variants))
			}
			child := rendertest.Start(t)
			for _, v := range variants {
				t.Run(v.name, func(t *testing.T) {
					want, ok := golden[v.name]
					if !ok {
						t.Fatal("no golden for it; run make goldens")
					}
					got := child.Pass(files, c.begin(t, v))
					lines := compareGolden(t, want, got, c.Helm == "")
					if diff := cmp.Diff(c.known(v.name), lines); diff != "" {
						t.Errorf("differences to the real command (-listed +found):\n%s", diff)
					}
				})
			}
		})
	}
}

// TestGoldenReasonsAreExplained holds the page to the cases.
func TestGoldenReasonsAreExplained(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(goldens, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	charts, kustomizations := map[string]bool{}, map[string]bool{}
	for _, c := range readGoldenCases(t).Cases {
		for _, d := range c.Differences {
			if d.Reason == "" || !strings.Contains(string(page), "| "+d.Reason+" |") {
				t.Errorf("%s: the reason %q is not in the table of README.md", c.Name, d.Reason)
			}
		}
		if c.Module != "" && c.Helm != "" {
			charts[c.Module+"/"+c.Helm] = true
		}
		for _, dir := range c.Kustomize {
			if c.Module != "" {
				kustomizations[c.Module+"/"+c.Root+"/"+dir] = true
			}
		}
	}
	if len(charts) < 10 || len(kustomizations) < 10 {
		t.Errorf("%d public charts and %d public kustomizations, want ten of each", len(charts), len(kustomizations))
	}
}

func readGoldenCases(t testing.TB) goldenCases {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goldens, "cases.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all goldenCases
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// files are the tree of a case: a chart is in its own folder.
func (c goldenCase) files(t testing.TB, modules map[string]string) rendertest.Files {
	t.Helper()
	top := ".."
	if c.Module != "" {
		if top = modules[c.Module]; top == "" {
			t.Fatalf("the module %s is not listed", c.Module)
		}
	}
	root := filepath.Join(top, c.Root, c.Helm)
	files := rendertest.Files{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(root, name)
		files[filepath.ToSlash(rest)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(files, c.Files)
	if c.Helm != "" {
		return files.In(chartFolder)
	}
	return files
}

// variant is one render of a case.
type variant struct {
	name string
	// file is a values file in the chart, values are inline, folder is that of
	// a kustomization.
	file, folder string
	values       map[string]any
}

func (c goldenCase) variants(t *testing.T, files rendertest.Files) []variant {
	t.Helper()
	var all []variant
	for _, dir := range c.Kustomize {
		all = append(all, variant{name: dir, folder: dir})
	}
	if c.Helm == "" {
		return all
	}
	all = append(all, variant{name: withoutValues})
	for _, pattern := range c.Values {
		before := len(all)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if ok, _ := path.Match(chartFolder+"/"+pattern, name); ok {
				short := strings.TrimPrefix(name, chartFolder+"/")
				all = append(all, variant{name: short, file: short})
			}
		}
		if len(all) == before {
			t.Fatalf("no values file is like %s", pattern)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Inline)) {
		all = append(all, variant{name: inlineValuesLabel + name, values: c.Inline[name]})
	}
	return all
}

// begin is the pass of a variant.
func (c goldenCase) begin(t testing.TB, v variant) *renderv1.Begin {
	t.Helper()
	begin := &renderv1.Begin{
		Pass: "1", ServiceId: "s1", Name: goldenRelease, Namespace: goldenNamespace, Now: 1_790_000_000_000_000, Tests: true,
		Capabilities: &renderv1.Capabilities{
			KubernetesVersion: goldenKubernetes,
			ApiVersions:       append(slices.Clone(common.DefaultCapabilities.APIVersions), c.APIVersions...),
		},
	}
	if c.Helm == "" {
		begin.Entry = path.Clean(v.folder)
		begin.Steps = []*renderv1.Step{{Type: "KUSTOMIZE", KustomizeEnableHelm: c.EnableHelm}}
		return begin
	}
	begin.Entry = chartFolder
	helm := &renderv1.Helm{Release: goldenRelease, Upgrade: c.Upgrade}
	if v.file != "" {
		helm.ValuesFiles = []string{v.file}
	}
	if v.values != nil {
		text, err := yaml.Marshal(v.values)
		if err != nil {
			t.Fatal(err)
		}
		helm.Values = string(text)
	}
	begin.Steps = []*renderv1.Step{{Type: "HELM", Helm: helm}}
	return begin
}

// golden reads the output of the real command, by variant.
func (c goldenCase) golden(t *testing.T) map[string]string {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join(goldens, "testdata", c.Name+goldenFileSuffix))
	if err != nil {
		t.Fatalf("%v; run make goldens", err)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	text, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range txtar.Parse(text).Files {
		out[f.Name] = string(f.Data)
	}
	return out
}

// known are the lines that a variant's comparison is to find.
func (c goldenCase) known(variant string) []string {
	var lines []string
	for _, d := range c.Differences {
		if len(d.In) == 0 || slices.Contains(d.In, variant) {
			lines = append(lines, d.Lines...)
		}
	}
	slices.Sort(lines)
	return lines
}

// compareGolden returns what differs, sorted.
func compareGolden(t *testing.T, want string, got *renderv1.Result, ordered bool) []string {
	t.Helper()
	failed := strings.HasPrefix(want, referenceFailed)
	if f := got.GetFailure(); f != nil || failed {
		switch {
		case f == nil:
			return []string{"only the command fails: " + want}
		case !failed:
			return []string{fmt.Sprintf("only the child fails: %s:%d: %s", f.GetFile(), f.GetLine(), f.GetMessage())}
		}
		return nil
	}
	reference, order := decodeGolden(t, want)
	ours := map[string]*renderv1.Object{}
	var lines, ourOrder []string
	for _, o := range got.GetObjects() {
		var data any
		if err := json.Unmarshal(o.GetJson(), &data); err != nil {
			t.Fatal(err)
		}
		key := goldenKey(data)
		ours[key], ourOrder = o, append(ourOrder, key)
		theirs, ok := reference[key]
		if !ok {
			lines = append(lines, "only in the child: "+key)
			continue
		}
		for _, pointer := range pointers("", theirs, data) {
			if slices.Contains(o.GetVolatile(), pointer) {
				pointer += " (generated)"
			}
			lines = append(lines, key+" "+pointer)
		}
	}
	for key := range reference {
		if ours[key] == nil {
			lines = append(lines, "only from the command: "+key)
		}
	}
	if ordered && len(lines) == 0 && !slices.Equal(order, ourOrder) {
		lines = append(lines, "the order: "+cmp.Diff(order, ourOrder))
	}
	slices.Sort(lines)
	return lines
}

// decodeGolden decodes documents by the library that the commands' users have,
// not by ours; a List is its items.
func decodeGolden(t *testing.T, text string) (objects map[string]any, order []string) {
	t.Helper()
	objects = map[string]any{}
	take := func(value any) {
		key := goldenKey(value)
		if _, twice := objects[key]; twice {
			key += " (again)"
		}
		objects[key], order = value, append(order, key)
	}
	for _, document := range strings.SplitAfter("\n"+text, "\n---\n") {
		document = strings.TrimSuffix(document, "---\n")
		var value map[string]any
		if err := yaml.Unmarshal([]byte(document), &value); err != nil {
			t.Fatalf("the golden is not YAML: %v\n%s", err, document)
		}
		if len(value) == 0 {
			continue
		}
		if items, ok := value["items"].([]any); ok && strings.HasSuffix(fmt.Sprint(value["kind"]), "List") {
			for _, item := range items {
				take(item)
			}
			continue
		}
		take(value)
	}
	return objects, order
}

// goldenKey names an object as it is written.
func goldenKey(value any) string {
	object, _ := value.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	name := fmt.Sprint(metadata["name"])
	if namespace, ok := metadata["namespace"].(string); ok {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%v %v %s", object["apiVersion"], object["kind"], name)
}

// pointers are the JSON pointers at which two values differ.
func pointers(at string, a, b any) []string {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return []string{at}
		}
		var out []string
		all := maps.Clone(a)
		maps.Copy(all, b)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			inner := at + "/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
			x, inA := a[key]
			y, inB := b[key]
			if inA != inB {
				out = append(out, inner)
				continue
			}
			out = append(out, pointers(inner, x, y)...)
		}
		return out
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return []string{at}
		}
		var out []string
		for i := range a {
			out = append(out, pointers(fmt.Sprintf("%s/%d", at, i), a[i], b[i])...)
		}
		return out
	}
	if !cmp.Equal(a, b) {
		return []string{at}
	}
	return nil
}
