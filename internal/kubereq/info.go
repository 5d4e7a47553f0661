package kubereq

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Info is what a request wants.
type Info struct {
	// Verb is RBAC's: get, list, watch, create, update, patch, delete or
	// deletecollection. For paths that are not resources it is the method in lower
	// case.
	Verb string
	// Resource is empty for such paths, such as /version and /openapi/v3.
	Resource    string
	Subresource string
	// Group is the API group, empty for the core group.
	Group     string
	Version   string
	Namespace string
	Name      string
	// Path is the path without the query.
	Path string
	// Upgrade is the protocol that the connection is to change to, empty for none.
	Upgrade string
}

// connecting are the subresources that lead to something other than the API server:
// whatever the method, they do more than read.
var connecting = []string{"exec", "attach", "portforward", "proxy"}

// Connect is the action of every other upgrade: a virtual machine's console, a program
// behind an aggregated API, and what nobody has thought of yet.
const Connect = "connect"

// Methods are the methods that a request to an API server may have.
var Methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// Actions returns all that Info.Action can be of a resource, for policies and for tests
// that have to know each.
func Actions() []string {
	return slices.Concat([]string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}, connecting, []string{Connect})
}

// Parse reads a method, a request URI that CheckPath let through, and the protocol of
// an upgrade, empty for none.
func Parse(method, uri, upgrade string) Info {
	path, rawQuery, _ := strings.Cut(uri, "?")
	info := Info{Verb: strings.ToLower(method), Path: path, Upgrade: upgrade}
	segments := unescaped(path)
	switch {
	case len(segments) >= 3 && segments[0] == "api":
		info.Version, segments = segments[1], segments[2:]
	case len(segments) >= 4 && segments[0] == "apis":
		info.Group, info.Version, segments = segments[1], segments[2], segments[3:]
	default:
		if info.Verb == "head" {
			info.Verb = "get"
		}
		return info
	}
	info.Verb = verbs[method]
	// The old form /api/v1/watch/…; /api/v1/proxy/… was removed long ago, and a
	// request for it counts as connecting.
	old := segments[0]
	if old == "watch" || old == "proxy" {
		segments = segments[1:]
	}
	info.place(segments)
	switch {
	case old == "proxy":
		info.Subresource = "proxy"
	case old == "watch" && info.Verb == "get":
		info.Verb = "watch"
	}
	info.refine(rawQuery)
	return info
}

var verbs = map[string]string{
	http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "create", http.MethodPut: "update",
	http.MethodPatch: "patch", http.MethodDelete: "delete",
}

func unescaped(path string) []string {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for i, s := range segments {
		if plain, err := url.PathUnescape(s); err == nil {
			segments[i] = plain
		}
	}
	return segments
}

// place sets namespace, resource, name and subresource.
func (i *Info) place(segments []string) {
	if len(segments) > 1 && segments[0] == "namespaces" {
		i.Namespace = segments[1]
		if len(segments) > 2 && segments[2] != "status" && segments[2] != "finalize" {
			segments = segments[2:]
		}
	}
	for n, field := range []*string{&i.Resource, &i.Name, &i.Subresource} {
		if n < len(segments) && segments[n] != "" {
			*field = segments[n]
		}
	}
}

// refine distinguishes a request for one object from one for many.
func (i *Info) refine(rawQuery string) {
	if i.Name != "" && i.Verb != "watch" {
		return
	}
	switch i.Verb {
	case "get":
		i.Verb = "list"
		// A pair that cannot be parsed is left out, as the API server does.
		query, _ := url.ParseQuery(rawQuery)
		if w := query["watch"]; len(w) > 0 && w[0] != "0" && !strings.EqualFold(w[0], "false") {
			i.Verb = "watch"
		}
	case "delete":
		i.Verb = "deletecollection"
	}
}

// Connects reports whether the request connects to a container, a port or a program
// of the cluster. Every upgrade does, but for a watch and for the log of a pod: what
// else goes over a raw connection in both directions, nobody but its ends knows.
func (i Info) Connects() bool {
	return slices.Contains(connecting, i.Subresource) || i.Upgrade != "" && !i.follows()
}

// follows reports whether the API server itself answers for as long as something
// happens: a watch, or the log of a pod.
func (i Info) follows() bool {
	watch := i.Verb == "watch" && i.Subresource == ""
	return watch || i.Verb == "get" && i.Group == "" && i.Resource == "pods" && i.Subresource == "log"
}

// Reads reports whether the request changes nothing: get, list and watch of the API
// server's own objects.
func (i Info) Reads() bool {
	return !i.Connects() && (i.Verb == "get" || i.Verb == "list" || i.Verb == "watch")
}

// Short reports whether the API server itself answers, with one object or little
// else, and ends the answer by itself. Logs may continue, and other subresources
// answer in their own way.
func (i Info) Short() bool {
	return i.Verb == "get" && slices.Contains(ofItself, i.Subresource)
}

// ofItself are subresources that are a part of their object, and the empty one.
var ofItself = []string{"", "status", "scale"}

// IsResource reports whether the request is for a resource at all.
func (i Info) IsResource() bool { return i.Resource != "" }

// Kind is the resource with its group and subresource, such as
// "deployments.apps/scale"; for other paths it is the path.
func (i Info) Kind() string {
	if !i.IsResource() {
		return i.Path
	}
	kind := i.Resource
	if i.Group != "" {
		kind += "." + i.Group
	}
	if i.Subresource != "" {
		kind += "/" + i.Subresource
	}
	return kind
}

// Action is the verb for people: connecting requests are named by their subresource, or
// Connect.
func (i Info) Action() string {
	switch {
	case !i.Connects():
		return i.Verb
	case slices.Contains(connecting, i.Subresource):
		return i.Subresource
	}
	return Connect
}
