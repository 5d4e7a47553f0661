package sizes_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root = "../.."
	// table has the lines; own/NAME in it is a decoder that is no call of a library.
	table = root + "/test/field/decoders.txt"
)

// decoding are functions that make something of a text, by the end of the import path of
// their package.
var decoding = map[string]*regexp.Regexp{
	"encoding/json": regexp.MustCompile(`^(Unmarshal|NewDecoder)$`), "encoding/xml": regexp.MustCompile(`^(Unmarshal|NewDecoder)$`), "encoding/gob": regexp.MustCompile(`^NewDecoder$`),
	"encoding/csv": regexp.MustCompile(`^NewReader$`), "encoding/binary": regexp.MustCompile(`^(Read|Decode)$`), "encoding/asn1": regexp.MustCompile(`^Unmarshal`),
	"protobuf/proto": regexp.MustCompile(`^Unmarshal`), "encoding/protojson": regexp.MustCompile(`^Unmarshal`), "encoding/prototext": regexp.MustCompile(`^Unmarshal`),
	"yaml": regexp.MustCompile(`^(Unmarshal|UnmarshalStrict|NewDecoder|YAMLToJSON|YAMLToJSONStrict)$`), "yaml/v3": regexp.MustCompile(`^(Unmarshal|NewDecoder)$`), "yaml/v2": regexp.MustCompile(`^(Unmarshal|UnmarshalStrict|NewDecoder)$`), "yaml.v3": regexp.MustCompile(`^(Unmarshal|NewDecoder)$`), "yaml.v2": regexp.MustCompile(`^(Unmarshal|UnmarshalStrict|NewDecoder)$`),
	"util/yaml": regexp.MustCompile(`^(New.*|Unmarshal|ToJSON)$`), "pkg/util/json": regexp.MustCompile(`^Unmarshal`), "sigs.k8s.io/json": regexp.MustCompile(`^Unmarshal`),
	"compress/gzip": regexp.MustCompile(`^NewReader$`), "compress/zlib": regexp.MustCompile(`^NewReader`), "compress/flate": regexp.MustCompile(`^NewReader`), "compress/bzip2": regexp.MustCompile(`^NewReader$`), "compress/zstd": regexp.MustCompile(`^NewReader$`), "xz": regexp.MustCompile(`^NewReader$`),
	"archive/tar": regexp.MustCompile(`^NewReader$`), "archive/zip": regexp.MustCompile(`^(NewReader|OpenReader)$`),
	// Whoever lists through client-go has a whole page decoded at once; internal/kubepage does not.
	// A cache of controller-runtime lists and watches all that it is asked for.
	"pkg/apis/meta/v1": regexp.MustCompile(`^ListOptions$`), "pkg/cache": regexp.MustCompile(`^(Options|ByObject)$`),
	"go-jose/v4": regexp.MustCompile(`^Parse`), "jose/v4/jwt": regexp.MustCompile(`^Parse`), "tools/clientcmd": regexp.MustCompile(`^Load`),
	"connect": regexp.MustCompile(`^(WithReadMaxBytes|WithCodec)$`), "api/hub/v1/hubv1connect": regexp.MustCompile(`^New`), "api/agent/v1/agentv1connect": regexp.MustCompile(`^New`), "api/peer/v1/peerv1connect": regexp.MustCompile(`^New`),
	"internal/bounded": regexp.MustCompile(`^(JSON|ReadJSON|XML|Proto|ProtoJSON)$`), "internal/packedlist": regexp.MustCompile(`^(Open|Check)$`), "internal/frame": regexp.MustCompile(`^Read`),
}

// writers are those that the head of the table explains.
var writers = []string{"strangers", "callers", "agents", "hub", "upstream", "issuers", "API server", "charts", "itself", "its user"}

// through are decoders of our own libraries, which do the whole work of decoding: which library a
// package must use for that, and which its fuzz target. Any other decoder needs a target that
// reaches the package itself.
var through = map[string][2]string{
	"internal/bounded": {"internal/bounded", "internal/bounded"}, "internal/packedlist": {"internal/packedlist", "internal/packedlist"}, "internal/frame": {"internal/frame", "internal/frame"},
	"api/hub/v1/hubv1connect": {"internal/boundedcall", "internal/bounded"}, "api/agent/v1/agentv1connect": {"internal/boundedcall", "internal/bounded"},
	"pkg/apis/meta/v1": {"internal/kubepage", "internal/kubepage"},
}

// row is a line of the table: which package decodes what, who wrote it, what bounds it,
// and which test holds that.
type row struct{ by, bound, test string }

// key is a package and a decoder.
func key(folder, decoder string) string { return folder + " " + decoder }

// decoders finds all calls in the tree, by package and decoder.
func decoders(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, top := range []string{"hub", "agent", "operator", "render", "internal", "sdk", "cli", "terraform", "api", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(root, path)
			switch {
			case d.IsDir() && (d.Name() == "testdata" || rel == "cmd/dev" || rel == "internal/archtest" || strings.HasSuffix(rel, "test") || strings.HasSuffix(rel, "connect")):
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for name := range called(file) {
				found[key(filepath.Dir(rel), name)] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// called are the decoders that a file calls, as PACKAGE.
func called(file *ast.File) map[string]bool {
	at, found := map[string]string{}, map[string]bool{}
	for _, i := range file.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		end := ""
		for e := range decoding { // the longest: .../util/yaml ends with yaml too
			if (path == e || strings.HasSuffix(path, "/"+e)) && len(e) > len(end) {
				end = e
			}
		}
		if end == "" {
			continue
		}
		name := strings.TrimPrefix(filepath.Base(end), "go-")
		if name = strings.TrimSuffix(name, ".v3"); strings.HasPrefix(name, "v") {
			name = strings.TrimPrefix(filepath.Base(filepath.Dir(end)), "go-")
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		at[name] = end
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := s.X.(*ast.Ident); ok && at[of.Name] != "" && decoding[at[of.Name]].MatchString(s.Sel.Name) {
				found[at[of.Name]] = true
			}
		}
		return true
	})
	return found
}

// tests are the names of all tests, fuzz targets and benchmarks of the tree, alone and behind their
// folder, with the file that has them.
func tests(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		folder, _ := filepath.Rel(root, filepath.Dir(path))
		for _, m := range declared.FindAllSubmatch(text, -1) {
			names[string(m[1])], names[folder+"."+string(m[1])] = path, path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// imports are the packages of the module that a file imports.
func imports(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, i := range file.Imports {
		if of, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "github.com/axle-cd/axle/"); ours {
			all[of] = true
		}
	}
	return all
}

// uses reports whether a package is another one, or imports it where it ships.
func uses(t *testing.T, folder, other string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return folder == other || slices.ContainsFunc(files, func(path string) bool {
		return !strings.HasSuffix(path, "_test.go") && imports(t, path)[other]
	})
}

// reaches reports whether a fuzz target, FOLDER.NAME in one of the files, may call a decoder of a
// package: it is in the package, or its file imports it, or the decoder is a library of ours that
// both use.
func reaches(t *testing.T, target, file, folder, decoder string) bool {
	t.Helper()
	of, imported := strings.TrimSuffix(target, filepath.Ext(target)), imports(t, file)
	if of == folder || imported[folder] {
		return true
	}
	by, ok := through[decoder]
	return ok && uses(t, folder, by[0]) && (of == by[1] || imported[by[1]])
}

// TestTargetsReachTheirDecoders refuses a row whose fuzz targets cannot call into its package.
func TestTargetsReachTheirDecoders(t *testing.T) {
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	known, checked := tests(t), 0
	for n, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if strings.HasPrefix(line, "#") || len(cells) != 4 {
			continue
		}
		head, found, may := strings.Fields(cells[0]), false, false
		for _, target := range strings.Fields(cells[3]) {
			if !strings.Contains(target, "Fuzz") {
				continue
			}
			file := known[target]
			if !strings.Contains(target, ".") || file == "" {
				t.Errorf("line %d: %s is not written as FOLDER.NAME: %s", n+1, target, line)
				continue
			}
			found, may = true, may || reaches(t, target, file, head[0], head[1])
		}
		if found {
			checked++
		}
		if by := strings.TrimSpace(cells[1]); found && !may && by != "itself" && by != "its user" {
			t.Errorf("line %d: no fuzz target of it reaches %s: write one there that calls the function which decodes: %s", n+1, head[0], line)
		}
	}
	if checked < 100 {
		t.Errorf("%d rows have a fuzz target: the test looks at the wrong file", checked)
	}
}

// TestDecodersAreListed holds test/field/decoders.txt against the tree: each package that
// decodes something has a line, which names who wrote the text, a bound and a test that
// exists.
func TestDecodersAreListed(t *testing.T) {
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	listed, known, strangers := map[string]row{}, tests(t), 0
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "|")
		head := strings.Fields(cells[0])
		if len(cells) != 4 || len(head) != 2 {
			t.Fatalf("line %d is not PACKAGE DECODER | WRITER | BOUND | TEST: %s", n+1, line)
		}
		r := row{strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])}
		if _, twice := listed[key(head[0], head[1])]; twice {
			t.Errorf("line %d is there twice: %s", n+1, line)
		}
		listed[key(head[0], head[1])] = r
		if r.by != "itself" && r.by != "its user" && (r.bound == "" || r.test == "" || r.test == "-") {
			t.Errorf("line %d: what %s wrote needs a bound and a test: %s", n+1, r.by, line)
		}
		if r.by != "itself" && r.by != "its user" {
			strangers++
			if !strings.Contains(r.test, "Fuzz") {
				t.Errorf("line %d: what %s wrote needs a fuzz target: %s", n+1, r.by, line)
			}
		}
		if !slices.Contains(writers, r.by) {
			t.Errorf("line %d: %q is none of the writers %v", n+1, r.by, writers)
		}
		for _, name := range strings.Fields(r.test) {
			if name != "-" && known[name] == "" {
				t.Errorf("line %d: there is no test %s", n+1, name)
			}
		}
	}
	found := decoders(t)
	for _, k := range slices.Sorted(maps.Keys(found)) {
		if _, ok := listed[k]; !ok {
			t.Errorf("%s: it is not in test/field/decoders.txt; bound what it decodes (internal/bounded) and add: %s | WRITER | BOUND | TEST", k, k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(listed)) {
		if !found[k] && !strings.Contains(k, " own/") {
			t.Errorf("%s: no such call is in the tree; take its line out of test/field/decoders.txt", k)
		}
	}
	if len(found) < 100 || strangers < 50 {
		t.Errorf("%d decoders were found, %d of texts of others: the test looks at the wrong files", len(found), strangers)
	}
}
