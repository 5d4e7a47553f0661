// Package flakes has tests as they were when they failed now and then. Each line that is
// found ends with the word want.
package flakes

import (
	"context"
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/operator"
	"github.com/axle-cd/axle/sdk"
)

const limit = 30 * time.Second

type bed struct {
	*testing.T
	client.Client
	gate      *gate
	people    *sdk.Client
	namespace string
}

type gate struct{ calls []string }

func (g *gate) count(...string) int { return len(g.calls) }

func (b *bed) operate() {
	b.Helper()
	go func() { _ = operator.Run(b.Context(), operator.Config{}) }()
}

func ask[Q, A any](b *bed, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q) *A {
	b.Helper()
	answer, err := call(b.Context(), connect.NewRequest(q))
	if err != nil {
		b.Fatal(err)
	}
	return answer.Msg
}

func (b *bed) secret(name string, data map[string]string) {
	b.Helper()
	s := &corev1.Secret{StringData: data}
	s.Name, s.Namespace = name, b.namespace
	if err := b.Create(b.Context(), s); err != nil {
		b.Fatal(err)
	}
}

func (b *bed) touch(object client.Object) {
	b.Helper()
	if err := b.Update(b.Context(), object); err != nil {
		b.Fatal(err)
	}
}

// counted is the helper of before: it ended when the call had begun.
func (b *bed) counted(want int, call string) {
	b.Helper()
	eventually.For(b, limit, call, func() error {
		if n := b.gate.count(call); n < want {
			return fmt.Errorf("%d calls", n)
		}
		return nil
	})
}

func (b *bed) synchronized(object client.Object) {
	b.Helper()
	eventually.For(b, limit, "synchronized", func() error {
		if err := b.Get(b.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if object.GetGeneration() == 0 {
			return fmt.Errorf("not yet")
		}
		return nil
	})
}

func (b *bed) reconciles(string) int { return 1 }
