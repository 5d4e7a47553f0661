package archtest

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Caps are sizes that a reader can keep in mind. The numbers come from reading
// codebases of this shape: nine in ten of their files, functions and interfaces are
// far below.
var Caps = map[string]int{
	"package":    3000, // lines of hand-written Go that is no test
	"file":       500,  // lines, tests included
	"function":   60,   // lines, tests excluded: a test's story may be long
	"interface":  5,    // methods, those of embedded interfaces of the same package included
	"type":       30,   // methods
	"parameters": 6,
}

// Gates are the kinds whose caps hold. The others are a report: code was moved until the
// counters were silent, and what a change costs is how many packages somebody must open.
var Gates = []string{"file", "function"}

// Size is one measured thing.
type Size struct {
	// Kind is a key of Caps.
	Kind string
	// Name is the folder, the file, or folder.Name of a declaration.
	Name string
	Have int
}

// Sizes returns everything that is above its cap, sorted by kind and name. Generated
// files do not count.
func Sizes(root string) ([]Size, error) {
	m := &meter{root: root, packages: map[string]int{}, methods: map[string]int{}, interfaces: map[string]*ast.InterfaceType{}}
	if err := walk(root, m.file); err != nil {
		return nil, err
	}
	for name, lines := range m.packages {
		m.note("package", name, lines)
	}
	for name, count := range m.methods {
		m.note("type", name, count)
	}
	for name, it := range m.interfaces {
		m.note("interface", name, m.count(name, it))
	}
	slices.SortFunc(m.over, func(a, b Size) int { return strings.Compare(a.Kind+" "+a.Name, b.Kind+" "+b.Name) })
	return m.over, nil
}

// Gated splits sizes into those of Gates, and the others as one text, a line each.
func Gated(over []Size) (gated []Size, report string) {
	var b strings.Builder
	for _, s := range over {
		if slices.Contains(Gates, s.Kind) {
			gated = append(gated, s)
			continue
		}
		fmt.Fprintf(&b, "\n  %-10s %-40s %d of %d", s.Kind, s.Name, s.Have, Caps[s.Kind])
	}
	return gated, b.String()
}

type meter struct {
	root       string
	packages   map[string]int
	methods    map[string]int
	interfaces map[string]*ast.InterfaceType
	over       []Size
}

func (m *meter) note(kind, name string, have int) {
	if have > Caps[kind] {
		m.over = append(m.over, Size{kind, name, have})
	}
}

func (m *meter) file(rel string) error {
	text, err := os.ReadFile(filepath.Join(m.root, rel))
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, rel, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return err
	}
	lines := strings.Count(string(text), "\n")
	m.note("file", rel, lines)
	if strings.HasSuffix(rel, "_test.go") {
		return nil
	}
	folder := filepath.ToSlash(filepath.Dir(rel))
	m.packages[folder] += lines
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			m.function(folder, files, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					if it, ok := t.Type.(*ast.InterfaceType); ok {
						m.interfaces[folder+"."+t.Name.Name] = it
					}
				}
			}
		}
	}
	return nil
}

func (m *meter) function(folder string, files *token.FileSet, d *ast.FuncDecl) {
	name := d.Name.Name
	if d.Recv != nil {
		receiver := receiverName(d.Recv.List[0].Type)
		m.methods[folder+"."+receiver]++
		name = receiver + "." + name
	}
	m.note("function", folder+"."+name, files.Position(d.End()).Line-files.Position(d.Pos()).Line+1)
	count := 0
	for _, p := range d.Type.Params.List {
		count += max(1, len(p.Names))
	}
	m.note("parameters", folder+"."+name, count)
}

func receiverName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverName(t.X)
	case *ast.IndexExpr:
		return receiverName(t.X)
	case *ast.IndexListExpr:
		return receiverName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

// count returns the number of methods of an interface. An interface embedded from
// another package counts as one: it is counted in that package.
func (m *meter) count(name string, it *ast.InterfaceType) int {
	folder := name[:strings.LastIndex(name, ".")]
	n := 0
	for _, f := range it.Methods.List {
		if id, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 {
			if inner := m.interfaces[folder+"."+id.Name]; inner != nil {
				n += m.count(folder+"."+id.Name, inner)
				continue
			}
		}
		n += max(1, len(f.Names))
	}
	return n
}

// Debt is what was above a cap when the caps were introduced, by "kind name", with
// its maximum size and the reason. It may only shrink.
type Debt map[string]Allowance

// Allowance is one line of debt.txt.
type Allowance struct {
	Most int
	Why  string
}

// ParseDebt reads "kind name size reason" lines. Errors name the line.
func ParseDebt(text string) (Debt, error) {
	debt := Debt{}
	scanner := bufio.NewScanner(strings.NewReader(text))
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		if len(words) < 4 || Caps[words[0]] == 0 {
			return nil, fmt.Errorf("debt.txt:%d: want \"KIND NAME SIZE REASON\", such as why it cannot be smaller yet", n)
		}
		most, err := strconv.Atoi(words[2])
		if err != nil {
			return nil, fmt.Errorf("debt.txt:%d: %w", n, err)
		}
		debt[words[0]+" "+words[1]] = Allowance{most, strings.Join(words[3:], " ")}
	}
	return debt, scanner.Err()
}

// Check returns a sentence for each thing that is above its cap without a line in the
// debt, or above that line, and for each line that is larger than needed.
func (d Debt) Check(over []Size) []string {
	var bad []string
	left := maps.Clone(d)
	for _, s := range over {
		key := s.Kind + " " + s.Name
		allowed, listed := d[key]
		delete(left, key)
		switch {
		case !listed:
			bad = append(bad, fmt.Sprintf("%s %s has %d, at most %d: split it, or put the new part elsewhere", s.Kind, s.Name, s.Have, Caps[s.Kind]))
		case s.Have > allowed.Most:
			bad = append(bad, fmt.Sprintf("%s %s has %d and may only shrink from %d", s.Kind, s.Name, s.Have, allowed.Most))
		case s.Have < allowed.Most-allowed.Most/20:
			bad = append(bad, fmt.Sprintf("%s %s has shrunk to %d: lower its line in debt.txt from %d (go test ./internal/archtest -run TestSizes -update)", s.Kind, s.Name, s.Have, allowed.Most))
		}
	}
	for key := range left {
		bad = append(bad, key+" is within its cap: take its line out of debt.txt (go test ./internal/archtest -run TestSizes -update)")
	}
	slices.Sort(bad)
	return bad
}

// Lower rewrites the text of debt.txt: lines are lowered to the present size, and
// lines of things within their caps are removed. No line is added and none grows.
func (d Debt) Lower(text string, over []Size) string {
	have := map[string]int{}
	for _, s := range over {
		have[s.Kind+" "+s.Name] = s.Have
	}
	var out []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] == "#" || Caps[words[0]] == 0 {
			out = append(out, line)
			continue
		}
		n, over := have[words[0]+" "+words[1]]
		if !over {
			continue
		}
		words[2] = strconv.Itoa(min(n, d[words[0]+" "+words[1]].Most))
		out = append(out, strings.Join(words, " ")+"\n")
	}
	return strings.Join(out, "")
}

// Lines counts the lines of Go outside test/ that are in no test: those written by hand,
// and the generated ones.
func Lines(root string) (written, generated int, err error) {
	err = walk(root, func(rel string) error {
		if strings.HasPrefix(filepath.ToSlash(rel), "test/") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, rel))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), rel, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		lines := &written
		if ast.IsGenerated(file) {
			lines = &generated
		}
		*lines += strings.Count(string(text), "\n")
		return nil
	})
	return written, generated, err
}
