package logquery

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/telemetry"
)

const (
	// MaxLimit is how many lines an answer has at most.
	MaxLimit = 50_000
	// Page is how many lines Loki answers at most, unless it is told otherwise.
	Page = 5_000
	// maxText bounds a text of a query, and maxParts the number of its matchers and filters.
	maxText  = 4_000
	maxParts = 30
	// maxContext bounds the lines around a match.
	maxContext = 50
)

// Matcher is a condition on a label: = != =~ !~, as in LogQL. A regular expression
// matches whole values.
type Matcher struct{ Name, Op, Value string }

// Filter is a condition on a line: |= contains, |~ matches, != and !~ do not.
type Filter struct{ Op, Text string }

// Query is a query for lines.
type Query struct {
	// Name is who it is of, for errors: a LogFilter, or "the query".
	Name     string
	Matchers []Matcher
	Filters  []Filter
	// Start and End are included; zero is no bound.
	Start, End time.Time
	// Forward takes the first lines from Start on, and not the last ones up to End.
	Forward bool
	Limit   int
	// Before and After are lines of the same stream around each.
	Before, After int
}

// Store is what is asked.
type Store struct {
	Type telemetry.Type
	// Label is the one of namespaces.
	Label string
	// Everything is set for a person who sees all; otherwise Namespaces are what they see.
	Everything bool
	Namespaces []string
	// Cluster is the label of clusters in a store of several, and Value that of the cluster
	// which is asked about; empty for a store of one.
	Cluster, Value string
}

// labels are those of pods and containers beside the usual ones of namespaces.
var labels = map[string][2]string{
	"namespace":                      {"pod", "container"},
	"kubernetes.pod_namespace":       {"kubernetes.pod_name", "kubernetes.container_name"},
	"kubernetes.namespace_name":      {"kubernetes.pod_name", "kubernetes.container_name"},
	"kubernetes_namespace_name":      {"kubernetes_pod_name", "kubernetes_container_name"},
	"kubernetes_namespace":           {"kubernetes_pod_name", "kubernetes_container_name"},
	"k8s.namespace.name":             {"k8s.pod.name", "k8s.container.name"},
	"k8s_namespace_name":             {"k8s_pod_name", "k8s_container_name"},
	"kubernetes_pod_namespace":       {"kubernetes_pod_name", "kubernetes_container_name"},
	"kubernetes.namespace":           {"kubernetes.pod.name", "kubernetes.container.name"},
	"kubernetes.container.namespace": {"kubernetes.pod.name", "kubernetes.container.name"},
}

// names are the store's labels of pods and containers.
func (s Store) names() (pod, container string) {
	if known, ok := labels[s.Label]; ok {
		return known[0], known[1]
	}
	return "pod", "container"
}

// label is what a label of the model is called in the store.
func (s Store) label(name string) string {
	pod, container := s.names()
	switch name {
	case "namespace":
		return s.Label
	case "pod":
		return pod
	case "container":
		return container
	}
	return name
}

// Sees reports whether a line may be shown.
func (s Store) Sees(f Found) bool {
	return f.Cluster == s.Value && (s.Everything || f.Namespace != "" && slices.Contains(s.Namespaces, f.Namespace))
}

var (
	lokiLabel = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,199}$`)
	// Names that begin with _ have a grammar of their own in LogsQL, also in quotes.
	fieldLabel = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_.:/-]{0,199}$`)
)

// check returns Invalid for what can be no query.
func (q Query) check(s Store) error {
	name := q.Name
	if name == "" {
		name = "the query"
	}
	invalid := func(format string, args ...any) error {
		return errcode.New(errcode.Invalid, "%s, for %s: %s", name, s.Type.Title(), fmt.Sprintf(format, args...))
	}
	form := fieldLabel
	if s.Type == telemetry.Loki {
		form = lokiLabel
	}
	switch {
	case s.Type != telemetry.VictoriaLogs && s.Type != telemetry.Loki:
		return invalid("it keeps no logs")
	case len(q.Matchers)+len(q.Filters) > maxParts:
		return invalid("%d matchers and filters; at most %d are allowed", len(q.Matchers)+len(q.Filters), maxParts)
	case q.Limit < 0 || q.Limit > MaxLimit:
		return invalid("%d lines; ask for 1 to %d", q.Limit, MaxLimit)
	case !q.Start.IsZero() && !q.End.IsZero() && q.End.Before(q.Start):
		return invalid("the range ends before it begins")
	case q.Before < 0 || q.After < 0 || q.Before > maxContext || q.After > maxContext:
		return invalid("ask for 0 to %d lines around a match", maxContext)
	case q.Before+q.After > 0 && s.Type == telemetry.Loki:
		return invalid("lines around a match are not translated; ask for the time of the match without filters")
	}
	for _, m := range q.Matchers {
		switch {
		case !form.MatchString(s.label(m.Name)):
			return invalid("%.80q is not the name of a label", m.Name)
		case len(m.Value) > maxText:
			return invalid("the value of %s has %d bytes; at most %d are allowed", m.Name, len(m.Value), maxText)
		case !slices.Contains([]string{"=", "!=", "=~", "!~"}, m.Op):
			return invalid("%.20q is no operator of a matcher", m.Op)
		}
		if strings.HasSuffix(m.Op, "~") {
			if _, err := cost.Compile(m.Value); err != nil {
				return invalid("the value of %s is no regular expression of RE2: %v", m.Name, err)
			}
		}
	}
	for _, f := range q.Filters {
		switch {
		case len(f.Text) > maxText:
			return invalid("a filter has %d bytes; at most %d are allowed", len(f.Text), maxText)
		case !slices.Contains([]string{"|=", "!=", "|~", "!~"}, f.Op):
			return invalid("%.20q is no filter of lines", f.Op)
		}
		if strings.HasSuffix(f.Op, "~") {
			if _, err := cost.Compile(f.Text); err != nil {
				return invalid("%.80q is no regular expression of RE2: %v", f.Text, err)
			}
		}
	}
	return nil
}

// ParseLogQL reads the part of LogQL that the model has: {label="value", …} and then
// |= "text", |~ "expression", != "text", !~ "expression". All else is Invalid, by the
// name of who wrote it and the store.
func ParseLogQL(name, text string, store telemetry.Type) (matchers []Matcher, filters []Filter, err error) {
	p := parser{rest: text}
	refuse := func() error {
		at := strings.TrimSpace(p.rest)
		if at == "" {
			at = "its end"
		}
		return errcode.New(errcode.Invalid, "%s: %.60q of its LogQL is not translated for %s; matchers such as {app=\"web\"} and the filters |= |~ != !~ are", name, at, store.Title())
	}
	if len(text) > 16<<10 {
		return nil, nil, errcode.New(errcode.Invalid, "%s: its LogQL has %d bytes; at most %d are allowed", name, len(text), 16<<10)
	}
	if !p.take("{") {
		return nil, nil, refuse()
	}
	for !p.take("}") {
		if len(matchers) > 0 && !p.take(",") {
			return nil, nil, refuse()
		}
		var m Matcher
		var ok bool
		if m.Name = p.word(); m.Name == "" {
			return nil, nil, refuse()
		}
		if m.Op = p.one("=~", "!~", "!=", "="); m.Op == "" {
			return nil, nil, refuse()
		}
		if m.Value, ok = p.quoted(); !ok {
			return nil, nil, refuse()
		}
		matchers = append(matchers, m)
	}
	for strings.TrimSpace(p.rest) != "" {
		before := p.rest
		var f Filter
		var ok bool
		if f.Op = p.one("|=", "|~", "!=", "!~"); f.Op == "" {
			return nil, nil, refuse()
		}
		if f.Text, ok = p.quoted(); !ok {
			p.rest = before
			return nil, nil, refuse()
		}
		filters = append(filters, f)
	}
	return matchers, filters, nil
}

type parser struct{ rest string }

func (p *parser) take(token string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(p.rest), token)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *parser) one(tokens ...string) string {
	for _, t := range tokens {
		if p.take(t) {
			return t
		}
	}
	return ""
}

func (p *parser) word() string {
	text := strings.TrimSpace(p.rest)
	end := strings.IndexFunc(text, func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
	if end < 0 {
		end = len(text)
	}
	p.rest = text[end:]
	return text[:end]
}

func (p *parser) quoted() (string, bool) {
	text := strings.TrimSpace(p.rest)
	prefix, err := strconv.QuotedPrefix(text)
	if err != nil || prefix[0] == '\'' {
		return "", false
	}
	value, err := strconv.Unquote(prefix)
	if err != nil {
		return "", false
	}
	p.rest = text[len(prefix):]
	return value, true
}
