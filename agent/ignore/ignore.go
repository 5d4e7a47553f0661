package ignore

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// ignoreAnnotations mark objects with fields that are left to others: a list of
// paths, separated by commas or line breaks.
var ignoreAnnotations = []string{"axle-cd.github.io/ignore-fields", "deployments.plural.sh/ignore-fields", "deployments.plural.sh/backfill-fields"}

// Rule names fields of some objects that are left to others. The live
// value of such a field is applied again, until another manager owns it too.
type Rule struct {
	// Name, Kind and Namespace select objects; empty selects any. They may contain
	// the wildcards * ? [a-z].
	Name, Kind, Namespace string
	// Paths are JSON pointers (/spec/replicas), jq paths
	// (.spec.template.spec.containers[] | select(.name == "app") | .image), or
	// manager:NAME for everything that a field manager has set.
	Paths []string
}

// FromSpec converts the rules of a service.
func FromSpec(all []specv1.DiffNormalizer) []Rule {
	var rules []Rule
	for _, n := range all {
		rules = append(rules, Rule{Name: n.Name, Kind: n.Kind, Namespace: n.Namespace, Paths: n.JSONPointers})
	}
	return rules
}

func (r Rule) matches(ref kubeobj.Ref) bool {
	return like(r.Name, ref.Name) && like(r.Kind, ref.Kind) && like(r.Namespace, ref.Namespace)
}

func like(pattern, text string) bool {
	ok, err := filepath.Match(pattern, text)
	return pattern == "" || ok && err == nil
}

// Paths returns the paths of one object that are left to others, by rules and by its
// own annotations.
func Paths(rules []Rule, ref kubeobj.Ref, annotations map[string]string) []string {
	var all []string
	for _, r := range rules {
		if r.matches(ref) {
			all = append(all, r.Paths...)
		}
	}
	for _, key := range ignoreAnnotations {
		for one := range strings.FieldsFuncSeq(annotations[key], func(c rune) bool { return c == ',' || c == '\n' }) {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, one)
			}
		}
	}
	return all
}

// step is one part of a path: a key, an index, all elements, or the elements in which
// a field has a value.
type step struct {
	key   string
	all   bool
	where []string
	value string
}

// managerPrefix begins a path that names a manager.
const managerPrefix = "manager:"

// Check returns an Invalid error for an invalid path.
func Check(text string) error {
	if strings.HasPrefix(text, managerPrefix) {
		return nil
	}
	_, err := parsePath(text)
	return err
}

// parsePath parses a JSON pointer or the part of jq that names fields.
func parsePath(text string) ([]step, error) {
	switch {
	case strings.HasPrefix(text, "/"):
		return parsePointer(text), nil
	case strings.HasPrefix(text, "."):
		return parseJQ(text)
	}
	return nil, errcode.New(errcode.Invalid, "ignored field %q is neither a JSON pointer (/spec/replicas), nor a jq path (.spec.replicas), nor %sNAME", text, managerPrefix)
}

func parsePointer(text string) []step {
	var steps []step
	for part := range strings.SplitSeq(text[1:], "/") {
		steps = append(steps, step{key: strings.NewReplacer("~1", "/", "~0", "~").Replace(part)})
	}
	return steps
}

var (
	jqKey    = regexp.MustCompile(`^\.?([A-Za-z_][A-Za-z0-9_-]*)\??`)
	jqQuoted = regexp.MustCompile(`^\.?\[?("(?:[^"\\]|\\.)*")\]?\??`)
	jqAll    = regexp.MustCompile(`^\.?\[\]\??`)
	jqIndex  = regexp.MustCompile(`^\.?\[(\d+)\]\??`)
	jqSelect = regexp.MustCompile(`^select\(\s*((?:\.[A-Za-z_][A-Za-z0-9_-]*)+)\s*==\s*("(?:[^"\\]|\\.)*"|-?\d+|true|false)\s*\)$`)
)

func parseJQ(text string) ([]step, error) {
	bad := errcode.New(errcode.Invalid, "ignored field %q: only jq paths are understood, such as .spec.replicas, .metadata.annotations[\"a/b\"] or .spec.containers[] | select(.name == \"app\") | .image", text)
	var steps []step
	for term := range strings.SplitSeq(text, "|") {
		term = strings.TrimSpace(term)
		if m := jqSelect.FindStringSubmatch(term); m != nil {
			if len(steps) == 0 || !steps[len(steps)-1].all {
				return nil, bad
			}
			last := &steps[len(steps)-1]
			last.where, last.value = strings.Split(m[1], ".")[1:], m[2]
			continue
		}
		parsed, ok := parseTerm(term)
		if !ok {
			return nil, bad
		}
		steps = append(steps, parsed...)
	}
	return steps, nil
}

func parseTerm(term string) (steps []step, ok bool) {
	for term != "" {
		switch {
		case jqAll.MatchString(term):
			steps = append(steps, step{all: true})
			term = term[len(jqAll.FindString(term)):]
		case jqIndex.MatchString(term):
			m := jqIndex.FindStringSubmatch(term)
			steps, term = append(steps, step{key: m[1]}), term[len(m[0]):]
		case jqKey.MatchString(term):
			m := jqKey.FindStringSubmatch(term)
			steps, term = append(steps, step{key: m[1]}), term[len(m[0]):]
		case jqQuoted.MatchString(term):
			m := jqQuoted.FindStringSubmatch(term)
			key, err := strconv.Unquote(m[1])
			if err != nil {
				return nil, false
			}
			steps, term = append(steps, step{key: key}), term[len(m[0]):]
		default:
			return nil, false
		}
	}
	return steps, len(steps) > 0
}

// chooses reports whether a step selects an element of a list.
func (s step) chooses(element any, index int) bool {
	if !s.all {
		return s.key == strconv.Itoa(index)
	}
	if len(s.where) == 0 {
		return true
	}
	for _, key := range s.where {
		m, _ := element.(map[string]any)
		element = m[key]
	}
	if text, ok := element.(string); ok {
		return strconv.Quote(text) == s.value
	}
	return fmt.Sprint(element) == s.value
}

// keysIn are the fields of a map that a step leads to.
func (s step) keysIn(m map[string]any) []string {
	if s.all {
		return slices.Sorted(maps.Keys(m))
	}
	return []string{s.key}
}

// mayChoose reports whether a step can choose elements of a list.
func (s step) mayChoose() bool {
	_, err := strconv.Atoi(s.key)
	return s.all || err == nil
}

// everything reports whether a step chooses all elements.
func (s step) everything() bool { return s.all && len(s.where) == 0 }
