// Package sound has tests that wait for what they assert.
package sound

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

const limit = 30 * time.Second

type bed struct {
	*testing.T
	*world.World
	kube   client.Client
	people *sdk.Client
}

func (b *bed) rest() {}

func (b *bed) project() string {
	b.Helper()
	have, err := b.people.Projects.Get(b.Context(), connect.NewRequest(&hubv1.GetProjectRequest{Name: "shop"}))
	if err != nil {
		b.Fatal(err)
	}
	return have.Msg.GetDescription()
}

func (b *bed) change() {
	b.Helper()
	if err := b.kube.Create(b.Context(), &corev1.Secret{}); err != nil {
		b.Fatal(err)
	}
}

// Who was changed answers with the change.
func TestTheSystemThatAnswered(b *bed) {
	s := &corev1.Secret{}
	b.change()
	if err := b.kube.Get(b.Context(), client.ObjectKeyFromObject(s), s); err != nil || len(s.Data) == 0 {
		b.Error(err)
	}
}

// The condition has what is asserted.
func TestWaitsForWhatItAsserts(b *bed) {
	b.change()
	eventually.For(b, limit, "it is there", func() error {
		if have := b.project(); have != "shop" {
			return fmt.Errorf("it is %s", have)
		}
		return nil
	})
}

// Nothing is under way.
func TestWaitsForRest(b *bed) {
	b.change()
	b.rest()
	if have := b.project(); have != "shop" {
		b.Errorf("it is %s", have)
	}
}

// The hub has the report of the revision, so that the cluster has it.
func TestWaitsForTheReport(b *bed, g *gitserver.Server) {
	if _, err := g.Commit(b.Context(), "fleet", "main", "second", nil); err != nil {
		b.Fatal(err)
	}
	if _, err := b.Axle(b.Context(), "services", "wait", "--all"); err != nil {
		b.Fatal(err)
	}
	out, err := b.Kubectl(b.Context(), "edge", "get", "configmap", "one")
	if err != nil || out.Out == "" {
		b.Error(out, err)
	}
}

// Whether there was an error is no assertion on what was read.
func TestErrorsAreNoReads(b *bed) {
	b.change()
	if _, err := b.people.Projects.List(b.Context(), connect.NewRequest(&hubv1.ListProjectsRequest{})); err != nil {
		b.Fatal(err)
	}
}

// A reason allows a line.
func TestAllowed(b *bed) {
	b.change()
	//rest: nothing runs that would change it
	if have := b.project(); have != "shop" {
		b.Errorf("it is %s", have)
	}
}

// A reason for nothing is reported.
func TestAllowsNothing(b *bed) {
	//rest: here is no change // want
	if errors.Is(nil, errors.ErrUnsupported) {
		b.Error("unsupported")
	}
}
