package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// establishLimit bounds the wait for a CRD before its objects are written.
const establishLimit = 30 * time.Second

// prepareNamespace creates the service's namespace unless it is rendered.
func (r *run) prepareNamespace(ctx context.Context) error {
	ref := kubeobj.Ref{Kind: "Namespace", Name: r.service.Namespace}
	if len(r.plan.Items) == 0 || r.plan.ByRef[ref] != nil || r.namespaceStands() {
		return nil
	}
	err := r.written.MakeNamespace(ctx, r.client, r.service)
	if kubeclient.Away(err) {
		return kubeclient.Unavailable(err)
	}
	if err != nil {
		r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: ref, Message: kubeclient.Explain("make", ref, err)})
	}
	return nil
}

// namespaceStands reports whether the same settings were applied before and an object
// in the namespace still exists, so that the namespace must exist too.
func (r *run) namespaceStands() bool {
	if r.before.SpecDigest != r.service.SpecDigest && !r.before.AsSettled(r.service.Settings) {
		return false
	}
	for _, it := range r.plan.Items {
		if it.Ref.Namespace == r.service.Namespace && r.unchanged(it, r.before.Entries[it.Ref]) && !it.Once {
			return true
		}
	}
	return false
}

// waitDefinitions waits until the CRDs of a group are established, so that
// their objects can be written next. It returns how many are not.
func (r *run) waitDefinitions(ctx context.Context, group []*wave.Item) (failed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, establishLimit)
	defer cancel()
	for _, it := range group {
		if it.Kind.GroupKind() != wave.CRDKind || !r.next.Entries[it.Ref].Fresh {
			continue
		}
		r.writer.NewKinds[it.Ref.Name] = true
		why, err := r.established(ctx, it)
		if err != nil {
			return failed, err
		}
		if why != "" {
			failed++
			r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: it.Ref,
				Message: fmt.Sprintf("%s is not established within %v: %s", it.Ref, establishLimit, why)})
		}
	}
	return failed, nil
}

func (r *run) established(ctx context.Context, it *wave.Item) (why string, err error) {
	backoff := jitter.Backoff{Min: 50 * time.Millisecond, Max: time.Second}
	for {
		var crd struct {
			Status struct {
				Conditions []struct{ Type, Status, Message string }
			}
		}
		err := r.client.Raw(ctx, kubeclient.Path(it.Kind, "", it.Ref.Name), nil, &crd)
		if err != nil && ctx.Err() == nil {
			if kubeclient.Away(err) {
				return "", kubeclient.Unavailable(err)
			}
			return kubeclient.ServerMessage(err), nil
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
