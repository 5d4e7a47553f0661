package telemetry

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// Type is the API of a store.
type Type string

// The types of stores. Prometheus is every API that is compatible with it, such as that of
// VictoriaMetrics, Thanos and Mimir.
const (
	Prometheus   Type = "prometheus"
	Alertmanager Type = "alertmanager"
	VictoriaLogs Type = "victorialogs"
	Loki         Type = "loki"
)

// Title is the name of a type for people.
func (t Type) Title() string {
	return map[Type]string{Prometheus: "Prometheus", Alertmanager: "Alertmanager", VictoriaLogs: "VictoriaLogs", Loki: "Loki"}[t]
}

const (
	// MaxURI bounds path and query of a request: of each selector of a query, the
	// namespaces of its caller are a part.
	MaxURI = 512 << 10
	// MaxAnswer bounds an answer that does not follow.
	MaxAnswer = 64 << 20
	// Within is how long a store may take for an answer, and FollowFor how long a tail
	// goes on.
	Within    = 30 * time.Second
	FollowFor = time.Hour
	// MaxNamespaces is how many namespaces a person's rights are looked up in.
	MaxNamespaces = 2000
)

// Limit is how long an answer may take, one that follows or another.
func Limit(follows bool) time.Duration {
	if follows {
		return FollowFor
	}
	return Within
}

// Service is a store in a cluster.
type Service struct {
	Type            Type
	Namespace, Name string
	// Port is a name or a number.
	Port string
	// Scheme is http or https.
	Scheme string
	// PathPrefix stands before each path of the API; empty or with a slash at the beginning.
	PathPrefix string
}

// String names the service as people do: namespace/name:port.
func (s Service) String() string { return s.Namespace + "/" + s.Name + ":" + s.Port }

// Check returns Invalid for a service that cannot be.
func (s Service) Check() error {
	switch {
	case s.Type.Title() == "":
		return errcode.New(errcode.Invalid, "type: %.40q is no type of a store", s.Type)
	case !rule.Label.Valid(s.Namespace):
		return errcode.New(errcode.Invalid, "namespace: %.80q is not the name of a namespace", s.Namespace)
	case !rule.Label.Valid(s.Name):
		return errcode.New(errcode.Invalid, "service: %.80q is not the name of a Service", s.Name)
	case !portForm.MatchString(s.Port):
		return errcode.New(errcode.Invalid, "port: %.40q is not a port: use its number, or its name in the Service", s.Port)
	case s.Scheme != "http" && s.Scheme != "https":
		return errcode.New(errcode.Invalid, "scheme: %.40q is not http or https", s.Scheme)
	case s.PathPrefix != "" && !CleanPath(s.PathPrefix):
		return errcode.New(errcode.Invalid, "pathPrefix: %.80q is not a path such as /prometheus", s.PathPrefix)
	}
	return nil
}

// ProxyPath is the path of the service's proxy at an API server, for a path of its API.
func (s Service) ProxyPath(path string) string {
	name := s.Name + ":" + s.Port
	if s.Scheme == "https" {
		name = "https:" + name
	}
	return "/api/v1/namespaces/" + s.Namespace + "/services/" + name + "/proxy" + s.PathPrefix + path
}

var (
	portForm = regexp.MustCompile(`^([1-9][0-9]{0,4}|[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?)$`)
	pathForm = lazily(`^(/[A-Za-z0-9_-][A-Za-z0-9._~-]{0,99}){1,10}$`)
)

// lazily compiles an expression when it is used: those of paths have a megabyte together, which
// each start of an agent, a hub and their commands would pay for.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// CleanPath reports whether a path has segments of plain characters only, none of them a
// way back.
func CleanPath(path string) bool { return pathForm().MatchString(path) }

// call is one path of an API.
type call struct {
	path func() *regexp.Regexp
	// parameters are those that it takes.
	parameters []string
	// follows is set for one whose answer goes on until somebody ends it.
	follows bool
}

func at(path string, parameters ...string) call {
	return call{path: lazily("^" + path + "$"), parameters: parameters}
}

func tail(path string, parameters ...string) call {
	c := at(path, parameters...)
	c.follows = true
	return c
}

// calls are the paths that may be asked, by type.
var calls = map[Type][]call{
	Prometheus: {
		at("/api/v1/query", "query", "time", "timeout", "limit", "stats"),
		at("/api/v1/query_range", "query", "start", "end", "step", "timeout", "limit", "stats"),
		at("/api/v1/series", "match[]", "start", "end", "limit"),
		at("/api/v1/labels", "match[]", "start", "end", "limit"),
		at("/api/v1/label/[a-zA-Z_][a-zA-Z0-9_]{0,199}/values", "match[]", "start", "end", "limit"),
		at("/api/v1/metadata", "metric", "limit", "limit_per_metric"),
		at("/api/v1/alerts"),
		at("/api/v1/rules", "type"),
		at("/api/v1/status/buildinfo"),
	},
	Alertmanager: {
		at("/api/v2/alerts", "active", "silenced", "inhibited", "unprocessed", "filter", "receiver"),
		at("/api/v2/silences", "filter"),
		at("/api/v2/status"),
	},
	VictoriaLogs: {
		at("/select/logsql/(query|hits|stats_query|stats_query_range|facets|field_names|field_values|streams|stream_ids)",
			"query", "start", "end", "limit", "offset", "time", "step", "field", "fields_limit", "timeout", "ignore_pipes"),
		// Hubs of versions before followed it.
		tail("/select/logsql/tail", "query", "start_offset", "refresh_interval", "offset"),
	},
	Loki: {
		at("/loki/api/v1/(query|query_range|labels|series|index/volume|index/stats|patterns)", "query", "start", "end", "since", "step", "interval", "time", "limit", "direction", "match[]"),
		at("/loki/api/v1/label/[a-zA-Z_][a-zA-Z0-9_]{0,199}/values", "query", "start", "end", "since"),
	},
}

// Check returns Forbidden for a request of a store's API that may not be made, and Invalid
// for one that is too long. follows is set for an answer that does not end by itself.
func (t Type) Check(path, rawQuery string) (follows bool, err error) {
	if len(path)+len(rawQuery) > MaxURI {
		return false, errcode.New(errcode.Invalid, "the query has %d bytes with the namespaces that it is limited to; at most %d are sent: shorten it, or ask for fewer namespaces", len(path)+len(rawQuery), MaxURI)
	}
	i := slices.IndexFunc(calls[t], func(c call) bool { return c.path().MatchString(path) })
	if i < 0 {
		return false, errcode.New(errcode.Forbidden, "%.100q is no path of %s that may be asked through the hub", path, t.Title())
	}
	values, err := url.ParseQuery(rawQuery)
	if err != nil || strings.ContainsAny(rawQuery, ";#") {
		return false, errcode.New(errcode.Invalid, "the parameters of the request cannot be read")
	}
	for name, all := range values {
		if !slices.Contains(calls[t][i].parameters, name) {
			return false, errcode.New(errcode.Forbidden, "%.60q is no parameter of %s that may be sent through the hub", name, path)
		}
		if len(all) > 1 && !strings.HasSuffix(name, "[]") && name != "filter" && name != "field" {
			return false, errcode.New(errcode.Invalid, "the parameter %s stands twice", name)
		}
	}
	return calls[t][i].follows, nil
}
