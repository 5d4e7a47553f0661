package logquery

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/telemetry"
)

// nobody is a namespace that no cluster has.
const nobody = "-"

// Call returns path and parameters of the query for a store, limited to the namespaces.
func (q Query) Call(s Store) (path string, values url.Values, err error) {
	if err := q.check(s); err != nil {
		return "", nil, err
	}
	values = url.Values{}
	if s.Type == telemetry.Loki {
		values.Set("query", q.logQL(s))
		values.Set("limit", strconv.Itoa(q.limit()))
		values.Set("direction", map[bool]string{true: "forward", false: "backward"}[q.Forward])
		if !q.Start.IsZero() {
			values.Set("start", strconv.FormatInt(q.Start.UnixNano(), 10))
		}
		if !q.End.IsZero() {
			values.Set("end", strconv.FormatInt(q.End.UnixNano()+1, 10)) // Loki leaves the end out
		}
		return "/loki/api/v1/query_range", values, nil
	}
	text := q.logsQL(s)
	if q.Before+q.After > 0 {
		text += fmt.Sprintf(" | stream_context before %d after %d", q.Before, q.After)
	}
	if q.Forward {
		text += fmt.Sprintf(" | sort by (_time) limit %d", q.limit())
	} else if q.Before+q.After == 0 {
		values.Set("limit", strconv.Itoa(q.limit()))
	}
	values.Set("query", text+q.fields(s))
	if !q.Start.IsZero() {
		values.Set("start", q.Start.UTC().Format(time.RFC3339Nano))
	}
	if !q.End.IsZero() {
		values.Set("end", q.End.UTC().Add(time.Nanosecond).Format(time.RFC3339Nano))
	}
	return "/select/logsql/query", values, nil
}

// Followed returns Invalid for a query that cannot be followed in a store.
func (q Query) Followed(in telemetry.Type) error {
	if q.Before+q.After > 0 {
		return errcode.New(errcode.Invalid, "%s is not followed with lines around a match; leave them out", in.Title())
	}
	return nil
}

func (q Query) limit() int {
	if q.Limit == 0 {
		return 1000
	}
	return q.Limit
}

// fields asks for what is read of a line.
func (q Query) fields(s Store) string {
	pod, container := s.names()
	text := fmt.Sprintf(" | fields _time, _msg, %s, %s, %s", literal(s.Label), literal(pod), literal(container))
	if s.Cluster != "" {
		text += ", " + literal(s.Cluster)
	}
	return text
}

// literal quotes a text for LogsQL and LogQL, which both read Go's strings.
func literal(text string) string { return strconv.Quote(strings.ToValidUTF8(text, "\ufffd")) }

// whole is a regular expression that matches whole values.
func whole(expression string) string { return "^(?:" + expression + ")$" }

// logsQL has the cluster and the namespaces first, and then one condition after the other, each of which
// must hold.
func (q Query) logsQL(s Store) string {
	var parts []string
	if s.Cluster != "" {
		parts = append(parts, literal(s.Cluster)+":="+literal(s.Value))
	}
	if !s.Everything {
		names := make([]string, 0, len(s.Namespaces)+1)
		for _, n := range s.Namespaces {
			names = append(names, literal(n))
		}
		if len(names) == 0 {
			names = append(names, literal(nobody))
		}
		parts = append(parts, literal(s.Label)+":in("+strings.Join(names, ",")+")")
	}
	for _, m := range q.Matchers {
		field := literal(s.label(m.Name))
		switch m.Op {
		case "=":
			parts = append(parts, field+":="+literal(m.Value))
		case "!=":
			parts = append(parts, "!"+field+":="+literal(m.Value))
		case "=~":
			parts = append(parts, field+":~"+literal(whole(m.Value)))
		case "!~":
			parts = append(parts, "!"+field+":~"+literal(whole(m.Value)))
		}
	}
	for _, f := range q.Filters {
		expression := f.Text
		if strings.HasSuffix(f.Op, "=") {
			expression = regexp.QuoteMeta(f.Text)
		}
		not := ""
		if f.Op[0] == '!' {
			not = "!"
		}
		parts = append(parts, not+"_msg:~"+literal(expression))
	}
	if len(parts) == 0 {
		return "*"
	}
	return strings.Join(parts, " ")
}

// logQL has namespaces and cluster as more matchers: Loki takes a stream that all match.
func (q Query) logQL(s Store) string {
	pattern := ".+"
	if !s.Everything {
		pattern = nobody
		if len(s.Namespaces) > 0 {
			quoted := make([]string, len(s.Namespaces))
			for i, n := range s.Namespaces {
				quoted[i] = regexp.QuoteMeta(n)
			}
			pattern = strings.Join(quoted, "|")
		}
	}
	all := []string{s.Label + "=~" + literal(pattern)}
	if s.Cluster != "" {
		all = append(all, s.Cluster+"="+literal(s.Value))
	}
	for _, m := range q.Matchers {
		all = append(all, s.label(m.Name)+m.Op+literal(m.Value))
	}
	text := "{" + strings.Join(all, ", ") + "}"
	for _, f := range q.Filters {
		text += " " + f.Op + " " + literal(f.Text)
	}
	return text
}

// PodsOf is a regular expression of the names of a workload's pods, also of those that are gone.
func PodsOf(kind, name string) string {
	quoted := regexp.QuoteMeta(name)
	const random = "[a-z0-9]{5}"
	switch kind {
	case "Pod":
		return quoted
	case "Deployment":
		quoted += "-[a-z0-9]{1,12}-" + random
	case "StatefulSet":
		quoted += "-[0-9]+"
	case "CronJob":
		quoted += "-[0-9]+-(?:[0-9]+-)?" + random
	case "Job":
		quoted += "-(?:[0-9]+-)?" + random
	default:
		quoted += "-" + random
	}
	return quoted
}

// OneOf is a regular expression for one of some texts; empty for none.
func OneOf(texts []string) string {
	quoted := make([]string, 0, len(texts))
	for _, t := range texts {
		if q := regexp.QuoteMeta(t); !slices.Contains(quoted, q) {
			quoted = append(quoted, q)
		}
	}
	return strings.Join(quoted, "|")
}
