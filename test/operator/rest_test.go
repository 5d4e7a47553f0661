package operator_test

import (
	"errors"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

// counted waits until calls of a name were made so many times, and until the operator has
// ended what it did with their answers: a status that is read after this shows them.
func (b *bed) counted(want int, call string) {
	b.Helper()
	eventually.For(b, limit, fmt.Sprintf("%d calls of %s", want, call), func() error {
		if n := b.gate.count(call); n < want {
			return fmt.Errorf("%d calls", n)
		}
		return nil
	})
	b.rest()
}

// rest waits until the operator has handled everything that it was notified of. A test
// that waited for one effect of a change, such as a call, may then read the others once.
// What the API server has not notified the operator of yet is not waited for.
func (b *bed) rest() {
	b.Helper()
	eventually.For(b, limit, "the operator is at rest", b.atRest)
}

func (b *bed) atRest() error {
	if n := b.queued() - b.dropped; n > 0 {
		return fmt.Errorf("%v objects are handled or wait for it", n)
	}
	return nil
}

// queued is how many objects were added to the queues of this process and not handled to
// the end. What was handled is read first: what is added meanwhile counts as not handled.
func (b *bed) queued() float64 {
	b.Helper()
	handled := b.metric("workqueue_work_duration_seconds", "")
	return b.metric("workqueue_adds_total", "") - handled
}

// reconciles is how many reconciles of a kind have ended in this process.
func (b *bed) reconciles(kind string) float64 {
	b.Helper()
	return b.metric("controller_runtime_reconcile_total", kind)
}

// metric adds up a counter, or the number of observations, of the controller of a kind, or
// of all.
func (b *bed) metric(name, kind string) float64 {
	b.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		b.Fatal(err)
	}
	total := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			of := kind == ""
			for _, label := range m.GetLabel() {
				of = of || label.GetName() == "controller" && label.GetValue() == kind
			}
			if of {
				total += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return total
}

// The operator is not at rest while the hub's answer is on its way, and when it is, the
// status shows the answer. A second operator begins anew.
func TestRestComesAfterTheStatus(t *testing.T) {
	b := newBed(t)
	asked, answered := make(chan struct{}), make(chan struct{})
	b.gate.setAfter("Projects/Create", func() {
		b.gate.setAfter("Projects/Create", nil)
		close(asked)
		<-answered
	})
	stop := b.operate()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: shop}")
	<-asked
	if err := b.atRest(); err == nil {
		t.Error("it is at rest while it waits for the hub")
	}
	close(answered)
	b.rest()
	p := &v1alpha1.Project{ObjectMeta: meta1("shop", "")}
	// What the operator wrote comes back to it, so it may be busy again already.
	if err := b.Get(t.Context(), key(p), p); err != nil {
		t.Fatal(err)
	}
	if p.Status.ID == nil {
		t.Errorf("the operator is at rest, and the status is %+v", p.Status)
	}
	stop()
	handled := b.reconciles("Project")
	b.operate()
	eventually.For(t, limit, "the new operator looked at it", func() error {
		if b.reconciles("Project") == handled {
			return errors.New("not yet")
		}
		return nil
	})
	b.rest()
}
