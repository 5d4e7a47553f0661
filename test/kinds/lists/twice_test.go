package lists_test

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
	"strconv"
	"strings"
	"testing"
)

const (
	root = "../../.."
	// home is where rules are; ours is their copy for the console, which is generated.
	home, ours = "internal/rule/rule.go", "web/src/api/rules.ts"
)

// notTheSame are lists that have the same words and do not mean the same, with the reason.
var notTheSame = map[string]string{
	"clusters fleet services":     "the hints of the stream about the moment, and those that one page asks for",
	"env expandenv getHostByName": "functions that two renderers leave out, each in a program of its own",
}

// copies are where patterns, and where lists of words, stand in Go and TypeScript; markers
// are the lists in definitions of kinds.
type copies struct{ patterns, lists, markers map[string][]string }

func (c copies) list(at string, words []string) {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	slices.Sort(words)
	if words = slices.Compact(words); len(words) > 2 && !slices.ContainsFunc(words, func(w string) bool { return !word.MatchString(w) }) {
		key := strings.Join(words, " ")
		c.lists[key] = append(c.lists[key], at)
	}
}

var (
	word = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	// set is a set of characters in a pattern, and member a part of one.
	set    = regexp.MustCompile(`\[[^\]]*\]`)
	member = regexp.MustCompile(`[^-]-[^-\]]|[^-]|-`)
	// literal is a whole text's pattern in TypeScript, and array a list of texts.
	literal = regexp.MustCompile(`/(\^(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])*\$)/`)
	array   = regexp.MustCompile(`\['[^'\n]*'(?:, '[^'\n]*'){2,}\]`)
)

// normal is a pattern as another would write it.
func normal(pattern string) string {
	pattern = strings.NewReplacer(`\d`, "[0-9]", `(?:`, "(", `\-`, "-").Replace(pattern)
	pattern = strings.ReplaceAll(pattern, `\w`, "A-Za-z0-9_")
	return set.ReplaceAllStringFunc(pattern, func(s string) string {
		parts := member.FindAllString(strings.Trim(s, "[]"), -1)
		slices.Sort(parts)
		return "[" + strings.Join(parts, "") + "]"
	})
}

// texts are the literals of a list, nil if something else is in it.
func texts(list []ast.Expr) (out []string) {
	for _, e := range list {
		one, ok := e.(*ast.BasicLit)
		if !ok || one.Kind != token.STRING {
			return nil
		}
		text, _ := strconv.Unquote(one.Value)
		out = append(out, text)
	}
	return out
}

func (c copies) golang(name string) error {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ParseComments)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CompositeLit:
			if kind, ok := x.Type.(*ast.ArrayType); ok {
				if of, ok := kind.Elt.(*ast.Ident); ok && of.Name == "string" {
					c.list(name, texts(x.Elts))
				}
			}
		case *ast.CallExpr:
			called := ""
			switch f := x.Fun.(type) {
			case *ast.SelectorExpr:
				called = f.Sel.Name
			case *ast.Ident:
				called = f.Name
			}
			if len(x.Args) > 0 && (called == "MustCompile" || called == "text" && name == home) {
				if text := texts(x.Args[:1]); text != nil && strings.HasPrefix(text[0], "^") {
					c.patterns[normal(text[0])] = append(c.patterns[normal(text[0])], name)
				}
			}
			if len(x.Args) > 2 && called == "Complete" {
				c.list(name, texts(x.Args[2:]))
			}
		}
		return true
	})
	for _, group := range file.Comments {
		for _, line := range group.List {
			if _, values, ok := strings.Cut(line.Text, "validation:Enum="); ok {
				c.markers[values] = append(c.markers[values], name)
			}
		}
	}
	return nil
}

func (c copies) typescript(name string) error {
	source, err := os.ReadFile(filepath.Join(root, name))
	for _, found := range literal.FindAllStringSubmatch(string(source), -1) {
		c.patterns[normal(found[1])] = append(c.patterns[normal(found[1])], name)
	}
	for _, found := range array.FindAllString(string(source), -1) {
		c.list(name, strings.Split(strings.Trim(found, "[']"), "', '"))
	}
	return err
}

// everywhere reads the sources that are no tests and not generated.
func everywhere(t *testing.T) copies {
	t.Helper()
	c := copies{map[string][]string{}, map[string][]string{}, map[string][]string{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if slices.Contains([]string{"test", "web/node_modules", "web/src/api/gen", "web/test", "web/dist", "docs", ".git", "dist", "bin", ".tmp"}, name) {
				return filepath.SkipDir
			}
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, ".pb.go") && !strings.Contains(name, "zz_generated"):
			return c.golang(name)
		case strings.HasPrefix(name, "web/src/") && name != ours && !strings.Contains(name, ".test.") && (strings.HasSuffix(name, ".ts") || strings.HasSuffix(name, ".tsx")):
			return c.typescript(name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNothingStandsTwice fails for a pattern or a list of words of which there is another:
// the two would be changed one at a time.
func TestNothingStandsTwice(t *testing.T) {
	c := everywhere(t)
	if len(c.patterns) < 30 || len(c.lists) < 30 || len(c.markers) < 20 {
		t.Fatalf("%d patterns, %d lists and %d markers were found", len(c.patterns), len(c.lists), len(c.markers))
	}
	for _, pattern := range sorted(c.patterns) {
		// Two lines of one file, such as two keys of a table, are seen together.
		if files := slices.Compact(slices.Sorted(slices.Values(c.patterns[pattern]))); len(files) > 1 && len(pattern) > len("^[0-9]+$") {
			t.Errorf("the pattern %s is in %s: put it into internal/rule", pattern, strings.Join(files, ", "))
		}
	}
	unused := maps.Clone(notTheSame)
	for _, list := range sorted(c.lists) {
		files := slices.Compact(slices.Sorted(slices.Values(c.lists[list])))
		if _, known := notTheSame[list]; known && len(files) > 1 {
			delete(unused, list)
		} else if len(files) > 1 {
			t.Errorf("the words %s are in %s: put them into internal/rule", list, strings.Join(files, ", "))
		}
	}
	for list := range unused {
		t.Errorf("the words %s do not stand twice: they need no reason", list)
	}
}

// TestMarkersAreTheRules fails for a list of a definition that has most of the words of
// internal/rule, and not the same: the API server would refuse what the hub takes, or the
// other way round.
func TestMarkersAreTheRules(t *testing.T) {
	same := 0
	for _, marker := range sorted(everywhere(t).markers) {
		have := strings.Split(marker, ";")
		for _, name := range sorted(words) {
			both := 0
			for _, w := range words[name] {
				if slices.Contains(have, w) {
					both++
				}
			}
			all := len(have) + len(words[name]) - both
			switch {
			case both == all:
				same++
			case both*4 >= all*3:
				t.Errorf("a marker has the words %s, the list %s of internal/rule has %s", marker, name, strings.Join(words[name], ";"))
			}
		}
	}
	if same < 7 {
		t.Errorf("only %d lists of definitions are those of internal/rule", same)
	}
}
