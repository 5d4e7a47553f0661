package archtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Tiers is race.txt: which packages run under the race detector, and when (ADR 123).
type Tiers struct {
	// Light and Heavy are the folders of race.txt in its order.
	Light, Heavy []string
	plain        []string
}

// ParseTiers reads race.txt. Errors name the line.
func ParseTiers(text string) (*Tiers, error) {
	t := &Tiers{}
	scanner := bufio.NewScanner(strings.NewReader(text))
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		switch {
		case words[0] == "light" && len(words) == 2:
			t.Light = append(t.Light, words[1])
		case words[0] == "heavy" && len(words) == 2:
			t.Heavy = append(t.Heavy, words[1])
		case words[0] == "plain" && len(words) > 2:
			t.plain = append(t.plain, words[1])
		default:
			return nil, fmt.Errorf(`race.txt:%d: want "light FOLDER", "heavy FOLDER" or "plain PATTERN REASON"`, n)
		}
	}
	return t, scanner.Err()
}

// Listed returns all folders of both lists, the heavy ones first.
func (t *Tiers) Listed() []string { return slices.Concat(t.Heavy, t.Light) }

// Plain reports whether a package never runs under the race detector.
func (t *Tiers) Plain(folder string) bool {
	return !slices.Contains(t.Listed(), folder) && t.exception(folder) != ""
}

func (t *Tiers) exception(folder string) string {
	if i := slices.IndexFunc(t.plain, func(pattern string) bool { return matches(pattern, folder) }); i >= 0 {
		return t.plain[i]
	}
	return ""
}

// Check returns a sentence for each package with tests that is in the wrong list of
// race.txt, or wrongly in none. Links are what TestsLink returns for the listed ones.
func (t *Tiers) Check(packages map[string]*Package, links map[string][]string) []string {
	var bad []string
	listed, used := t.Listed(), map[string]bool{}
	for name, p := range packages {
		if !p.Tested || p.Concurrent == "" || slices.Contains(listed, name) {
			continue
		}
		exception := t.exception(name)
		used[exception] = true
		if exception == "" {
			bad = append(bad, fmt.Sprintf("%s: concurrent at %s, and no line of race.txt has it: add \"light %s\", or \"heavy %s\" if its tests link %s", name, p.Concurrent, name, name, strings.Join(weights, ", ")))
		}
	}
	for _, pattern := range t.plain {
		if !used[pattern] {
			bad = append(bad, fmt.Sprintf("plain %s: matches no concurrent package any more: take its line out of race.txt", pattern))
		}
	}
	for i, name := range listed {
		weight := weight(links[name])
		switch p := packages[name]; {
		case slices.Contains(listed[:i], name):
			bad = append(bad, name+": is in race.txt twice")
		case p == nil || !p.Tested || p.Concurrent == "":
			bad = append(bad, name+": has no concurrency with tests any more: take its line out of race.txt")
		case i < len(t.Heavy) && weight == "":
			bad = append(bad, name+": links nothing heavy: make its line of race.txt \"light\"")
		case i >= len(t.Heavy) && weight != "":
			bad = append(bad, fmt.Sprintf("%s: its tests link %s: make its line of race.txt \"heavy\", or cut the import", name, weight))
		}
	}
	slices.Sort(bad)
	return bad
}

// weights are what makes a test binary heavy: SQLite, whose C was translated to Go, and
// the typed clients of Kubernetes, alone or below controller-runtime.
var weights = []string{"modernc.org/sqlite", "k8s.io/client-go/kubernetes/typed", "sigs.k8s.io/controller-runtime"}

// weight returns the first heavy package among those that a binary links.
func weight(links []string) string {
	for _, path := range links {
		for _, w := range weights {
			if path == w || strings.HasPrefix(path, w+"/") {
				return path
			}
		}
	}
	return ""
}

// concurrency notes the place of the first sign that a package runs something beside
// something else.
func (p *Package) concurrency(path string, file *ast.File, files *token.FileSet) {
	if p.Concurrent != "" {
		return
	}
	imports := map[string]string{}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		name := imported[strings.LastIndex(imported, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = imported
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if n != nil && p.Concurrent == "" && sign(n, imports) {
			p.Concurrent = fmt.Sprintf("%s:%d", path, files.Position(n.Pos()).Line)
		}
		return p.Concurrent == ""
	})
}

// sign reports whether a node starts, waits for or guards against something concurrent.
func sign(n ast.Node, imports map[string]string) bool {
	switch n := n.(type) {
	case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
		return true
	case *ast.UnaryExpr:
		return n.Op == token.ARROW
	case *ast.SelectorExpr:
		x, ok := n.X.(*ast.Ident)
		if !ok {
			return false
		}
		switch path := imports[x.Name]; path {
		case "sync": // a value made once needs no second goroutine to be useful
			return !slices.Contains([]string{"OnceFunc", "OnceValue", "OnceValues"}, n.Sel.Name)
		case "time", "context":
			return n.Sel.Name == "AfterFunc"
		default:
			return path == "sync/atomic" || strings.HasPrefix(path, "golang.org/x/sync/")
		}
	}
	return false
}

// TestsLink asks the go command for all packages that the test binaries of folders link:
// first-party ones as folders, and others as import paths.
func TestsLink(ctx context.Context, root string, folders []string) (map[string][]string, error) {
	args := []string{"list", "-e", "-test", "-json=ImportPath,Deps"}
	for _, folder := range folders {
		args = append(args, "./"+folder)
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.Bytes())
	}
	links := map[string][]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Deps       []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return links, nil
		} else if err != nil {
			return nil, err
		}
		folder, ok := strings.CutSuffix(strings.TrimPrefix(p.ImportPath, module), ".test")
		if !ok {
			continue
		}
		for _, linked := range p.Deps {
			linked, _, _ = strings.Cut(linked, " [") // as compiled for this test
			links[folder] = append(links[folder], strings.TrimPrefix(linked, module))
		}
	}
}
