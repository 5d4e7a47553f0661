package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// establishLimit bounds the wait for a CRD before its objects are written.
const establishLimit = 30 * time.Second

// prepareNamespace creates the service's namespace unless it is rendered.
func (r *run) prepareNamespace(ctx context.Context) error {
	ref := kubeobj.Ref{Kind: "Namespace", Name: r.service.Namespace}
	if len(r.plan.items) == 0 || r.plan.byRef[ref] != nil || r.namespaceStands() {
		return nil
	}
	err := r.written.makeNamespace(ctx, r.client, r.service)
	if away(err) {
		return unavailable(err)
	}
	if err != nil {
		r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: ref, Message: explain("make", ref, err)})
	}
	return nil
}

// namespaceStands reports whether the same settings were applied before and an object
// in the namespace still exists, so that the namespace must exist too.
func (r *run) namespaceStands() bool {
	if r.before.specDigest != r.service.SpecDigest && !r.before.asSettled(r.service.Settings) {
		return false
	}
	for _, it := range r.plan.items {
		if it.ref.Namespace == r.service.Namespace && r.unchanged(it, r.before.entries[it.ref]) && !it.once {
			return true
		}
	}
	return false
}

// waitDefinitions waits until the CRDs of a group are established, so that
// their objects can be written next. It returns how many are not.
func (r *run) waitDefinitions(ctx context.Context, group []*item) (failed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, establishLimit)
	defer cancel()
	for _, it := range group {
		if it.kind.GroupKind() != crdKind || !r.next.entries[it.ref].fresh {
			continue
		}
		r.writer.newKinds[it.ref.Name] = true
		why, err := r.established(ctx, it)
		if err != nil {
			return failed, err
		}
		if why != "" {
			failed++
			r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: it.ref,
				Message: fmt.Sprintf("%s is not established within %v: %s", it.ref, establishLimit, why)})
		}
	}
	return failed, nil
}

func (r *run) established(ctx context.Context, it *item) (why string, err error) {
	backoff := jitter.Backoff{Min: 50 * time.Millisecond, Max: time.Second}
	for {
		var crd struct {
			Status struct {
				Conditions []struct{ Type, Status, Message string }
			}
		}
		err := r.client.raw(ctx, path(it.kind, "", it.ref.Name), nil, &crd)
		if err != nil && ctx.Err() == nil {
			if away(err) {
				return "", unavailable(err)
			}
			return serverMessage(err), nil
		}
		why = "the API server has not processed it yet"
		for _, c := range crd.Status.Conditions {
			if c.Type == "Established" && c.Status == "True" {
				return "", nil
			}
			if c.Status == "False" && c.Message != "" {
				why = c.Message
			}
		}
		if jitter.Wait(ctx, 10*time.Millisecond+backoff.Next()) != nil {
			return why, nil
		}
	}
}
