package liveapi

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/aliases"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// maxObject limits an object to write, in bytes: etcd stores no larger one.
	maxObject = 1 << 20
	// maxTail limits the lines that are asked for of a log.
	maxTail = 50_000
	// fieldManager owns the fields that pages write.
	fieldManager = "axle-console"
)

// write is how a verb is sent.
type write struct {
	method, contentType string
	// named wants the object's name in the path.
	named bool
}

var verbs = map[string]write{
	"create": {http.MethodPost, "application/yaml", false},
	"update": {http.MethodPut, "application/yaml", true},
	"apply":  {http.MethodPatch, "application/apply-patch+yaml", true},
	"patch":  {http.MethodPatch, "application/merge-patch+json", true},
	"delete": {http.MethodDelete, "", true},
}

// WriteObject implements hubv1connect.ClusterAPIHandler.
func (a *API) WriteObject(ctx context.Context, r *connect.Request[hubv1.WriteClusterObjectRequest]) (*connect.Response[hubv1.WriteClusterObjectResponse], error) {
	m := r.Msg
	how, values, body, err := readWrite(m)
	if err != nil {
		return nil, err
	}
	name := m.GetName()
	if !how.named {
		name = ""
	}
	path, err := pathOf(m.GetObjects(), name, values)
	if err != nil {
		return nil, err
	}
	if sub := m.GetSubresource(); sub != "" {
		path += "/" + sub
	}
	q, err := a.query(ctx, r.Peer().Addr, m.GetObjects().GetCluster(), path, values)
	if err != nil {
		return nil, err
	}
	q.Method, q.ContentType, q.Body = how.method, how.contentType, body
	answer, err := a.Clusters.Do(ctx, q)
	if err != nil {
		return nil, err
	}
	text, err := masked(m.GetObjects(), answer.Text, "")
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.WriteClusterObjectResponse{Json: text, Warnings: answer.Warnings}), nil
}

// readWrite checks a request to write, and returns how it is sent.
func readWrite(m *hubv1.WriteClusterObjectRequest) (how write, values url.Values, body []byte, err error) {
	how, known := verbs[m.GetVerb()]
	switch o := m.GetObjects(); {
	case !known:
		err = errcode.New(errcode.Invalid, "verb %.40q is not known; use create, update, apply, patch or delete", m.GetVerb())
	case o.GetLabelSelector() != "" || o.GetFieldSelector() != "":
		err = errcode.New(errcode.Invalid, "a write is about one object by its name, without selectors")
	case how.named && m.GetName() == "":
		err = errcode.New(errcode.Invalid, "name the object to %s", m.GetVerb())
	case !slices.Contains([]string{"", "scale", "status"}, m.GetSubresource()):
		err = errcode.New(errcode.Invalid, "subresource %.40q cannot be written here; use scale, status or none", m.GetSubresource())
	case m.GetSubresource() != "" && (m.GetVerb() == "create" || m.GetVerb() == "delete"):
		err = errcode.New(errcode.Invalid, "%s does not go with a subresource", m.GetVerb())
	case len(m.GetObject()) > maxObject:
		err = errcode.New(errcode.Invalid, "the object has %d bytes, and at most %d can be written", len(m.GetObject()), maxObject)
	case how.contentType == "" && m.GetObject() != "":
		err = errcode.New(errcode.Invalid, "delete takes the name only, without an object")
	case how.contentType != "" && m.GetObject() == "":
		err = errcode.New(errcode.Invalid, "%s needs the object as YAML or JSON", m.GetVerb())
	case m.GetForce() && m.GetVerb() != "apply":
		err = errcode.New(errcode.Invalid, "force goes with apply only")
	}
	if err == nil {
		if wrong := aliases.Check([]byte(m.GetObject())); wrong != nil {
			err = errcode.New(errcode.Invalid, "the object: %w", wrong)
		}
	}
	if err == nil {
		err = checkMasks(m.GetObjects(), m.GetObject())
	}
	if err != nil {
		return how, nil, nil, err
	}
	values, body = url.Values{}, []byte(m.GetObject())
	switch m.GetVerb() {
	case "delete":
		// What the object owns goes with it, as with kubectl, whatever the kind.
		values.Set("propagationPolicy", "Background")
	case "patch":
		if body, err = yaml.YAMLToJSON(body); err != nil {
			return how, nil, nil, errcode.New(errcode.Invalid, "the patch is not YAML or JSON: %w", err)
		}
		fallthrough
	default:
		values.Set("fieldManager", fieldManager)
		// A field that the API server does not know is a mistake and not a warning.
		values.Set("fieldValidation", "Strict")
	}
	if m.GetForce() {
		values.Set("force", "true")
	}
	if m.GetDryRun() {
		values.Set("dryRun", "All")
	}
	return how, values, body, nil
}

// ReadLogs implements hubv1connect.ClusterAPIHandler.
func (a *API) ReadLogs(ctx context.Context, r *connect.Request[hubv1.ReadClusterLogsRequest], out *connect.ServerStream[hubv1.ClusterLogs]) error {
	m, values := r.Msg, url.Values{"timestamps": {"true"}}
	switch {
	case m.GetNamespace() == "" || m.GetPod() == "":
		return errcode.New(errcode.Invalid, "name the namespace and the pod")
	case m.GetTailLines() < 0 || m.GetTailLines() > maxTail:
		return errcode.New(errcode.Invalid, "tail_lines is %d; ask for 1 to %d lines, or 0 for all", m.GetTailLines(), maxTail)
	case m.GetSinceSeconds() < 0:
		return errcode.New(errcode.Invalid, "since_seconds is %d; ask for a positive number, or 0 for all", m.GetSinceSeconds())
	}
	for key, on := range map[string]bool{"follow": m.GetFollow(), "previous": m.GetPrevious()} {
		if on {
			values.Set(key, "true")
		}
	}
	for key, n := range map[string]int64{"tailLines": m.GetTailLines(), "sinceSeconds": m.GetSinceSeconds()} {
		if n > 0 {
			values.Set(key, strconv.FormatInt(n, 10))
		}
	}
	if c := m.GetContainer(); c != "" {
		values.Set("container", c)
	}
	path := "/api/v1/namespaces/" + url.PathEscape(m.GetNamespace()) + "/pods/" + url.PathEscape(m.GetPod()) + "/log"
	q, err := a.query(ctx, r.Peer().Addr, m.GetCluster(), path, values)
	if err != nil {
		return err
	}
	// Send the headers at once: the first line may take long.
	if err := out.Send(nil); err != nil {
		return err
	}
	return a.Clusters.Logs(ctx, q, func(lines []byte) error {
		return out.Send(&hubv1.ClusterLogs{Lines: strings.ToValidUTF8(string(lines), "\uFFFD")})
	})
}
