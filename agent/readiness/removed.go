package readiness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/removals"
)

// removed is the finding about an object of a version that the target removes, nil for
// another one.
func (a *asked) removed(kind schema.GroupVersionKind, namespace, name string) *agentv1.ReadinessFinding {
	r, known := removals.OfKind(kind)
	if !known || r.Removed > a.to.Minor() {
		return nil
	}
	instead := "there is no replacement: take it out"
	if r.Replacement != "" {
		instead = "write it as " + r.Replacement
	}
	return &agentv1.ReadinessFinding{
		Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: namespace, Name: name, RemovedIn: r.RemovedIn(), Replacement: r.Replacement,
		Message: fmt.Sprintf("Kubernetes %s does not serve %s any more; %s", r.RemovedIn(), r.APIVersion(), instead),
	}
}

// applied looks at the objects of services, as they were applied. It makes no request.
func (a *asked) applied(ctx context.Context, r *result) error {
	for _, service := range a.owned.Services() {
		for _, o := range a.owned.Objects(service) {
			r.examined(1)
			if f := a.removed(schema.GroupVersionKind{Group: o.Kind.Group, Version: o.Kind.Version, Kind: o.Kind.Kind}, o.Ref.Namespace, o.Ref.Name); f != nil {
				f.ServiceId = service
				if err := r.found(ctx, f, ""); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ownerOf is the service that has an object, empty for none.
func (a *asked) ownerOf(group, kind, namespace, name string) string {
	return a.owners[kubeobj.Ref{Group: group, Kind: kind, Namespace: namespace, Name: name}]
}

const (
	// requestedMetric is set by an API server for each deprecated version that was
	// requested since it started.
	requestedMetric = "apiserver_requested_deprecated_apis"
	// maxMetrics bounds the text of an API server's metrics, and maxLine one line of it.
	maxMetrics = 256 << 20
	maxLine    = 1 << 20
)

var label = regexp.MustCompile(`([a-z_]+)="([^"\\]*)"`)

// requested looks at the deprecated versions that clients of the API server request.
func (a *asked) requested(ctx context.Context, r *result) error {
	body, err := a.client.Discovery().RESTClient().Get().AbsPath("/metrics").Stream(ctx)
	if err != nil {
		return errcode.New(errcode.Unavailable, "the agent cannot read the metrics of its API server: %w", err)
	}
	defer body.Close()
	text := &io.LimitedReader{R: body, N: maxMetrics}
	lines := bufio.NewScanner(text)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		labels, is := strings.CutPrefix(lines.Text(), requestedMetric+"{")
		if !is {
			continue
		}
		r.examined(1)
		if f := a.request(labels); f != nil {
			if err := r.found(ctx, f, ""); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return errcode.New(errcode.Unavailable, "the agent cannot read the metrics of its API server to their end: %w", err)
	}
	if text.N == 0 {
		return errcode.New(errcode.Unprocessable, "the metrics of the API server are larger than %d MiB", maxMetrics>>20)
	}
	return nil
}

// request is the finding about one line of the metric, nil if the target serves it.
func (a *asked) request(labels string) *agentv1.ReadinessFinding {
	of := map[string]string{}
	for _, m := range label.FindAllStringSubmatch(labels, -1) {
		of[m[1]] = m[2]
	}
	in, err := removals.Version(of["removed_release"])
	if err != nil || in.Minor() > a.to.Minor() {
		return nil
	}
	f := &agentv1.ReadinessFinding{Group: of["group"], Version: of["version"], Kind: of["resource"], RemovedIn: removals.Minor(in.Minor())}
	if r, known := removals.OfResource(schema.GroupVersionResource{Group: f.GetGroup(), Version: f.GetVersion(), Resource: of["resource"]}); known {
		f.Kind, f.Replacement = r.Kind, r.Replacement
	}
	f.Message = fmt.Sprintf("a client has requested it since the API server started; its audit log names the client (annotation k8s.io/removed-release: %q)", f.GetRemovedIn())
	return f
}
